//! Management of team workspaces by somebody who may run commands on the server.

use plinth_db::Conn;
use plinth_db::workspaces::{self, Workspace};
use plinth_spec::id::WorkspaceId;
use plinth_spec::role::Role;
use plinth_spec::{ErrorCode, limits};

use super::account::{find, normalized};
use crate::error::{Result, ServiceError};
use crate::ids::New as _;
use crate::service::Service;

impl Service {
    /// Creates a team workspace. The owner pays for the renders of the workspace.
    pub async fn create_workspace(&self, name: &str, owner_email: &str) -> Result<Workspace> {
        let (name, owner) = (team_name(name)?, normalized(owner_email)?);
        let created = self.write_at(move |tx, now| {
            Box::pin(async move {
                let workspace = Workspace {
                    id: WorkspaceId::new_random(),
                    name,
                    owner_id: find(tx, &owner).await?.id,
                    is_personal: false,
                    created_at: now,
                    deleted_at: None,
                };
                workspaces::insert(tx, &workspace).await?;
                Ok(workspace)
            })
        });
        created.await
    }

    /// Adds a member, or changes the role of a member.
    pub async fn set_member(&self, id: &WorkspaceId, email: &str, role: Role) -> Result<()> {
        let (id, email) = (id.clone(), normalized(email)?);
        let changed = self.write_at(move |tx, now| {
            Box::pin(async move {
                let workspace = team(tx, &id).await?;
                let account = find(tx, &email).await?;
                if account.id == workspace.owner_id || role == Role::Owner {
                    return Err(ServiceError::bad_request("the role of a workspace's owner cannot be changed"));
                }
                Ok(workspaces::set_member(tx, &id, &account.id, role, now).await?)
            })
        });
        changed.await
    }

    /// Removes a member. The member's keys for this workspace stop working immediately.
    pub async fn remove_member(&self, id: &WorkspaceId, email: &str) -> Result<()> {
        let (id, email) = (id.clone(), normalized(email)?);
        let removed = self.db.write(move |tx| {
            Box::pin(async move {
                let workspace = team(tx, &id).await?;
                let account = find(tx, &email).await?;
                if account.id == workspace.owner_id {
                    return Err(ServiceError::bad_request("the owner of a workspace cannot be removed from it"));
                }
                if workspaces::remove_member(tx, &id, &account.id).await? {
                    return Ok(());
                }
                Err(ServiceError::new(ErrorCode::NotFound, format!("{email} is not a member")))
            })
        });
        removed.await
    }

    /// Deletes a team workspace. The keys of the workspace stop working immediately.
    pub async fn delete_workspace(&self, id: &WorkspaceId) -> Result<()> {
        let id = id.clone();
        let owner = team(&mut self.db.read().await?, &id).await?.owner_id;
        // The lock of the owner's account waits for transactions that are charging the owner.
        let deleted = self.write_locked(owner, move |tx, now| {
            Box::pin(async move {
                team(tx, &id).await?;
                workspaces::set_deleted(tx, &id, now).await?;
                Ok(())
            })
        });
        deleted.await
    }
}

/// Checks the name of a team.
/// Errors: the name is empty or too long, or has control characters.
pub(super) fn team_name(name: &str) -> Result<String> {
    let name = name.trim();
    let (length, most) = (name.chars().count(), limits::TEAM_NAME_CHARS);
    if length == 0 || length > most || name.chars().any(char::is_control) {
        return Err(ServiceError::bad_request(format!(
            "a team's name has 1 to {most} characters, without line breaks"
        )));
    }
    Ok(name.to_owned())
}

async fn team(conn: &mut Conn, id: &WorkspaceId) -> Result<Workspace> {
    let workspace = workspaces::find(conn, id).await?.filter(|w| !w.is_personal && w.deleted_at.is_none());
    workspace.ok_or_else(|| ServiceError::new(ErrorCode::NotFound, "there is no such team workspace"))
}
