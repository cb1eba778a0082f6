//! Management of team workspaces by somebody who may run commands on the server.

use futures_util::future::BoxFuture;
use plinth_db::workspaces::{self, Workspace};
use plinth_db::{Conn, Tx};
use plinth_spec::id::WorkspaceId;
use plinth_spec::role::Role;
use plinth_spec::{ErrorCode, limits};

use super::account::{find, normalized};
use super::current_rights::check_owner;
use super::team::remove;
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
        let email = normalized(email)?;
        let changed = self.write_in_team_as_command(id, move |tx, workspace, now| {
            Box::pin(async move {
                let account = find(tx, &email).await?;
                if account.id == workspace.owner_id || role == Role::Owner {
                    return Err(ServiceError::bad_request("the role of a workspace's owner cannot be changed"));
                }
                Ok(workspaces::set_member(tx, &workspace.id, &account.id, role, now).await?)
            })
        });
        changed.await
    }

    /// Removes a member. The member's keys for this workspace stop working immediately, and invitations to the member's address end.
    pub async fn remove_member(&self, id: &WorkspaceId, email: &str) -> Result<()> {
        let email = normalized(email)?;
        let removed = self.write_in_team_as_command(id, move |tx, workspace, now| {
            Box::pin(async move {
                let account = find(tx, &email).await?;
                if account.id == workspace.owner_id {
                    return Err(ServiceError::bad_request("the owner of a workspace cannot be removed from it"));
                }
                let role = workspaces::role_of(tx, &workspace.id, &account.id).await?;
                let no_member = || ServiceError::new(ErrorCode::NotFound, format!("{email} is not a member"));
                remove(tx, &workspace.id, &account.id, role.ok_or_else(no_member)?, now).await
            })
        });
        removed.await
    }

    /// Deletes a team workspace. The keys of the workspace stop working immediately. Renders that no worker has claimed are cancelled
    /// and refunded.
    pub async fn delete_workspace(&self, id: &WorkspaceId) -> Result<()> {
        let deleted = self.write_in_team_as_command(id, move |tx, workspace, now| {
            Box::pin(async move {
                workspaces::set_deleted(tx, &workspace.id, now).await?;
                Ok(())
            })
        });
        deleted.await?;
        // No render can be ordered any more.
        if let Err(error) = self.cancel_queued_in(id).await {
            tracing::warn!(
                workspace.id = %id, error = %error, cause = ?error.cause,
                "queued renders of a deleted workspace could not be cancelled; the next cleanup cancels them"
            );
        }
        Ok(())
    }

    /// Runs `work` in a transaction that holds the lock of the owner of a team workspace, and passes it the workspace and the current
    /// time. The lock waits for transactions that charge the owner or change the members.
    /// Errors: there is no such team workspace, or its owner changes at the same time.
    async fn write_in_team_as_command<T, F>(&self, id: &WorkspaceId, work: F) -> Result<T>
    where
        F: for<'t> FnOnce(&'t mut Tx, Workspace, i64) -> BoxFuture<'t, Result<T>> + Send + 'static,
        T: Send + 'static,
    {
        let id = id.clone();
        let owner = team(&mut self.db.read().await?, &id).await?.owner_id;
        let written = self.write_locked(owner.clone(), move |tx, now| {
            Box::pin(async move {
                let workspace = team(tx, &id).await?;
                check_owner(&workspace.owner_id, &owner)?;
                work(tx, workspace, now).await
            })
        });
        written.await
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
