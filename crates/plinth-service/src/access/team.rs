//! Team management by the members of a team.

use futures_util::future::BoxFuture;
use plinth_db::invitations::{self, Invitation};
use plinth_db::workspaces::{self, Member, Workspace};
use plinth_db::{Conn, Tx, accounts, renders};
use plinth_spec::id::{AccountId, WorkspaceId};
use plinth_spec::role::Role;
use plinth_spec::{ErrorCode, limits};

use super::Caller;
use super::current_rights::check_owner;
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
        let name = team_name(name)?;
        let renamed = self.write_in_team(caller, id, move |tx, workspace, role, _now| {
            Box::pin(async move {
                require(role.can_manage(), "only the owner and the administrators of a team can rename it")?;
                Ok(workspaces::set_name(tx, &workspace.id, &name).await?)
            })
        });
        renamed.await
    }

    /// Changes the role of a member.
    /// Errors: the caller's role does not allow the change, or the team has no such member.
    pub async fn set_team_role(&self, caller: &Caller, id: &str, member: &str, role: Role) -> Result<()> {
        let member = member.to_owned();
        let changed = self.write_in_team(caller, id, move |tx, workspace, own, _now| {
            Box::pin(async move {
                let (member, present) = find_member(tx, &workspace.id, &member).await?;
                require(own.can_assign(present) && own.can_assign(role), "your role does not allow this change")?;
                // The right to change the role was checked for the role that was read.
                let is_changed = workspaces::set_role(tx, &workspace.id, &member, present, role).await?;
                if is_changed { Ok(()) } else { Err(no_such_member()) }
            })
        });
        changed.await
    }

    /// Removes a member. The member's keys for the team stop working immediately, and invitations to the member's address end.
    /// Errors: the caller's role does not allow the removal, or the team has no such member.
    pub async fn remove_from_team(&self, caller: &Caller, id: &str, member: &str) -> Result<()> {
        let member = member.to_owned();
        let removed = self.write_in_team(caller, id, move |tx, workspace, own, now| {
            Box::pin(async move {
                let (member, present) = find_member(tx, &workspace.id, &member).await?;
                require(own.can_assign(present), "your role does not allow you to remove this member")?;
                remove(tx, &workspace.id, &member, present, now).await
            })
        });
        removed.await
    }

    /// Ends the caller's membership, and the invitations to the caller's address.
    /// Errors: the caller is the owner.
    pub async fn leave_team(&self, caller: &Caller, id: &str) -> Result<()> {
        let account = caller.account_id.clone();
        let left = self.write_in_team(caller, id, move |tx, workspace, role, now| {
            Box::pin(async move {
                if role == Role::Owner {
                    let message = "the owner cannot leave a team; hand it over or delete it first";
                    return Err(ServiceError::bad_request(message));
                }
                remove(tx, &workspace.id, &account, role, now).await
            })
        });
        left.await
    }

    /// Deletes a team. The keys of the team stop working immediately.
    /// Errors: the caller is not the owner, or renders of the team are queued or running.
    pub async fn delete_team(&self, caller: &Caller, id: &str) -> Result<()> {
        let deleted = self.write_in_team(caller, id, move |tx, workspace, role, now| {
            Box::pin(async move {
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

    /// Runs `work` in a transaction on behalf of a member of a team, and passes it the team, the member's role and the current time. The
    /// transaction locks the owner's account, as orders and uploads of members do, because the owner pays for them. Therefore neither a
    /// role changes nor a render is created while `work` runs.
    /// Errors: those of [`find`]; the caller's key or session has ended; the owner changes at the same time.
    pub(super) async fn write_in_team<T, F>(&self, caller: &Caller, id: &str, work: F) -> Result<T>
    where
        F: for<'t> FnOnce(&'t mut Tx, Workspace, Role, i64) -> BoxFuture<'t, Result<T>> + Send + 'static,
        T: Send + 'static,
    {
        let (account, id) = (caller.account_id.clone(), id.to_owned());
        let owner = find(&mut self.db.read().await?, &account, &id).await?.0.owner_id;
        let written = self.write_as(caller, owner.clone(), move |tx, now| {
            Box::pin(async move {
                let (workspace, role) = find(tx, &account, &id).await?;
                check_owner(&workspace.owner_id, &owner)?;
                work(tx, workspace, role, now).await
            })
        });
        written.await
    }
}

/// Removes a member, whose role `from` was read. Ends the invitations and offers to the member's address, by which a removed member
/// could otherwise come back.
/// Errors: the team has no such member.
pub(super) async fn remove(tx: &mut Tx, team: &WorkspaceId, member: &AccountId, from: Role, now: i64) -> Result<()> {
    if !workspaces::remove_member(tx, team, member, from).await? {
        return Err(no_such_member());
    }
    if let Some(account) = accounts::find(tx, member).await? {
        invitations::end_for(tx, team, &account.email, now).await?;
    }
    Ok(())
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
