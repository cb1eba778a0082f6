//! Team management by the members of a team.

use plinth_db::invitations::{self, Invitation};
use plinth_db::workspaces::{self, Member, Workspace};
use plinth_db::{Conn, Tx, accounts, renders};
use plinth_spec::id::{AccountId, WorkspaceId};
use plinth_spec::role::Role;
use plinth_spec::{ErrorCode, limits};

use super::Caller;
use super::workspace::team_name;
use crate::error::{Result, ServiceError};
use crate::ids::New as _;
use crate::service::Service;

/// A team, as its members see it.
#[derive(Clone, Debug)]
pub struct Team {
    pub workspace: Workspace,
    /// The caller's role in the team.
    pub role: Role,
    /// All members, the owner first.
    pub members: Vec<Member>,
    /// Invitations that can be accepted. Empty if the caller may not invite.
    pub invitations: Vec<Invitation>,
}

impl Service {
    /// Returns a team of which the caller is a member.
    pub async fn team(&self, caller: &Caller, id: &str) -> Result<Team> {
        let mut conn = self.db.read().await?;
        let (workspace, role) = find(&mut conn, &caller.account_id, id).await?;
        let members = workspaces::list_members(&mut conn, &workspace.id).await?;
        let now = self.options.clock.now_ms(&mut conn).await?;
        let invitations =
            if role.can_manage() { invitations::list_open(&mut conn, &workspace.id, now).await? } else { Vec::new() };
        Ok(Team { workspace, role, members, invitations })
    }

    /// Creates a team that the caller owns.
    /// Errors: the name is malformed, or the caller owns too many teams.
    pub async fn create_team(&self, caller: &Caller, name: &str) -> Result<WorkspaceId> {
        let (name, owner) = (team_name(name)?, caller.account_id.clone());
        let created = self.write_as(caller, owner.clone(), move |tx, now| {
            Box::pin(async move {
                check_may_own(tx, &owner).await?;
                let workspace = Workspace {
                    id: WorkspaceId::new_random(),
                    name,
                    owner_id: owner,
                    is_personal: false,
                    created_at: now,
                    deleted_at: None,
                };
                workspaces::insert(tx, &workspace).await?;
                Ok(workspace.id)
            })
        });
        created.await
    }

    /// Changes the name of a team.
    pub async fn rename_team(&self, caller: &Caller, id: &str, name: &str) -> Result<()> {
        let (name, account, id) = (team_name(name)?, caller.account_id.clone(), id.to_owned());
        let renamed = self.write_as(caller, account.clone(), move |tx, _now| {
            Box::pin(async move {
                let (workspace, role) = find(tx, &account, &id).await?;
                require(role.can_manage(), "only the owner and the administrators of a team can rename it")?;
                Ok(workspaces::set_name(tx, &workspace.id, &name).await?)
            })
        });
        renamed.await
    }

    /// Changes the role of a member.
    /// Errors: the caller's role does not allow the change; `not_found` if the team has no such member, or if another request
    /// changes the member's role at the same time.
    pub async fn set_team_role(&self, caller: &Caller, id: &str, member: &str, role: Role) -> Result<()> {
        let (account, id, member) = (caller.account_id.clone(), id.to_owned(), member.to_owned());
        let changed = self.write_as(caller, account.clone(), move |tx, _now| {
            Box::pin(async move {
                let (workspace, own) = find(tx, &account, &id).await?;
                let (member, present) = find_member(tx, &workspace.id, &member).await?;
                require(own.can_assign(present) && own.can_assign(role), "your role does not allow this change")?;
                // The right to change the role was checked for the role that was read.
                let is_changed = workspaces::set_role(tx, &workspace.id, &member, present, role).await?;
                if is_changed { Ok(()) } else { Err(no_such_member()) }
            })
        });
        changed.await
    }

    /// Removes a member. The member's keys for the team stop working immediately.
    /// Errors: the caller's role does not allow the removal.
    pub async fn remove_from_team(&self, caller: &Caller, id: &str, member: &str) -> Result<()> {
        let (account, id, member) = (caller.account_id.clone(), id.to_owned(), member.to_owned());
        let removed = self.write_as(caller, account.clone(), move |tx, _now| {
            Box::pin(async move {
                let (workspace, own) = find(tx, &account, &id).await?;
                let (member, present) = find_member(tx, &workspace.id, &member).await?;
                require(own.can_assign(present), "your role does not allow you to remove this member")?;
                workspaces::remove_member(tx, &workspace.id, &member).await?;
                Ok(())
            })
        });
        removed.await
    }

    /// Ends the caller's membership.
    /// Errors: the caller is the owner.
    pub async fn leave_team(&self, caller: &Caller, id: &str) -> Result<()> {
        let (account, id) = (caller.account_id.clone(), id.to_owned());
        let left = self.write_as(caller, account.clone(), move |tx, _now| {
            Box::pin(async move {
                let (workspace, role) = find(tx, &account, &id).await?;
                if role == Role::Owner {
                    let message = "the owner cannot leave a team; hand it over or delete it first";
                    return Err(ServiceError::bad_request(message));
                }
                workspaces::remove_member(tx, &workspace.id, &account).await?;
                Ok(())
            })
        });
        left.await
    }

    /// Deletes a team. The keys of the team stop working immediately.
    /// Errors: the caller is not the owner, or renders of the team are queued or running.
    pub async fn delete_team(&self, caller: &Caller, id: &str) -> Result<()> {
        let (account, id) = (caller.account_id.clone(), id.to_owned());
        // The owner's account is locked, so that no render is created meanwhile.
        let deleted = self.write_as(caller, account.clone(), move |tx, now| {
            Box::pin(async move {
                let (workspace, role) = find(tx, &account, &id).await?;
                require(role == Role::Owner, "only the owner can delete a team")?;
                let unfinished = renders::count_unfinished_in(tx, &workspace.id).await?;
                if unfinished > 0 {
                    let message = format!(
                        "{unfinished} renders of this team are queued or running; wait until they are done, or cancel them"
                    );
                    return Err(ServiceError::new(ErrorCode::RenderInFlight, message));
                }
                workspaces::set_deleted(tx, &workspace.id, now).await?;
                Ok(())
            })
        });
        deleted.await
    }
}

/// Finds a team and the role of one of its members.
/// Errors: there is no such team, the account is no member, or the owner is suspended. All of these return the same error.
pub(super) async fn find(conn: &mut Conn, account: &AccountId, id: &str) -> Result<(Workspace, Role)> {
    let missing = || ServiceError::new(ErrorCode::NotFound, "there is no such team");
    let id = WorkspaceId::parse(id).ok_or_else(missing)?;
    let workspace = workspaces::find(conn, &id).await?.filter(|w| !w.is_personal && w.deleted_at.is_none());
    let workspace = workspace.ok_or_else(missing)?;
    let role = workspaces::role_of(conn, &id, account).await?.ok_or_else(missing)?;
    let owner = accounts::find(conn, &workspace.owner_id).await?;
    if owner.is_none_or(|owner| owner.suspended_at.is_some()) { Err(missing()) } else { Ok((workspace, role)) }
}

/// Finds a member of a team and the member's role.
pub(super) async fn find_member(conn: &mut Conn, team: &WorkspaceId, member: &str) -> Result<(AccountId, Role)> {
    let id = AccountId::parse(member).ok_or_else(no_such_member)?;
    let role = workspaces::role_of(conn, team, &id).await?;
    Ok((id, role.ok_or_else(no_such_member)?))
}

fn no_such_member() -> ServiceError {
    ServiceError::new(ErrorCode::NotFound, "the team has no such member")
}

/// Returns an error if an account owns so many teams that it may not own another team.
pub(super) async fn check_may_own(tx: &mut Tx, account: &AccountId) -> Result<()> {
    if workspaces::count_teams(tx, account).await? < limits::TEAMS {
        return Ok(());
    }
    let message = format!("an account can own at most {} teams", limits::TEAMS);
    Err(ServiceError::new(ErrorCode::LimitReached, message))
}

pub(super) fn require(is_allowed: bool, message: &str) -> Result<()> {
    if is_allowed { Ok(()) } else { Err(ServiceError::new(ErrorCode::Forbidden, message)) }
}
