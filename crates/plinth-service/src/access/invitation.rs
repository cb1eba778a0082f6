//! Invitations to teams, and offers to hand a team over. Each invitation or offer is a link that works once.

use plinth_db::invitations::{self, Invitation};
use plinth_db::workspaces::{self, Workspace};
use plinth_db::{Conn, Tx, accounts, storage};
use plinth_spec::id::{AccountId, InvitationId, WorkspaceId};
use plinth_spec::role::Role;
use plinth_spec::{ErrorCode, limits};

use super::account::{insert, normalized};
use super::current_rights::check_owner;
use super::sign_in::{SECRET_CHARS, check_open, is_secret, open};
use super::team::{check_may_own, find, find_member, require};
use super::{Caller, ClientAddress, NewAccount};
use crate::error::{Result, ServiceError};
use crate::hash::sha256_hex;
use crate::ids::{New as _, random_text};
use crate::mail::Mail;
use crate::models::check_model_storage;
use crate::service::Service;

/// Window in which invitations are counted, in milliseconds.
const HOUR_MS: i64 = 3_600_000;

/// A new invitation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewInvitation {
    /// The link. It cannot be shown again later, because only the hash of its secret is stored.
    pub link: String,
    /// Whether the link was mailed; `None` if there was no address, or if no mail server is configured.
    pub is_mailed: Option<bool>,
}

/// An invitation, as the invited person sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvitationView {
    /// Name of the team.
    pub team: String,
    /// E-mail address of the account that invites.
    pub inviter: String,
    /// Role that the invited person gets.
    pub role: Role,
    /// Address for which the invitation is meant; `None` if the inviter entered no address.
    pub email: Option<String>,
}

impl Service {
    /// Invites somebody to a team. If `email` is not empty, mails the link to this address. `link_base` is the beginning of
    /// the link; the secret is appended to it.
    /// Errors: the caller's role does not allow the invitation, the address is malformed or belongs to a member, or there are too many
    /// invitations.
    pub async fn invite(
        &self,
        caller: &Caller,
        id: &str,
        role: Role,
        email: &str,
        link_base: &str,
    ) -> Result<NewInvitation> {
        let email = if email.trim().is_empty() { None } else { Some(normalized(email)?) };
        self.count_for(&caller.account_id, "invitations", limits::INVITATIONS_PER_HOUR, HOUR_MS).await?;
        let (account, secret) = (caller.account_id.clone(), random_text(SECRET_CHARS));
        let (sha256, to) = (sha256_hex(&secret), email.clone());
        let invited = self.write_in_team(caller, id, move |tx, workspace, own, now| {
            Box::pin(async move {
                require(own.can_assign(role), "your role does not allow you to invite somebody with this role")?;
                check_room(tx, &workspace.id, now).await?;
                if let Some(email) = &email {
                    check_is_no_member(tx, &workspace.id, email).await?;
                }
                invitations::insert(tx, &invitation(&workspace, role, email, account, now), &sha256).await?;
                Ok(workspace.name)
            })
        });
        let team = invited.await?;
        let link = format!("{link_base}{secret}");
        let text = format!(
            "{} invites you to the team \"{team}\" at Plinth.\n\nOpen this link to join. It works once, for a week:\n\n{link}\n",
            caller.email
        );
        let mail = to.map(|to| Mail { to, subject: format!("Invitation to {team}"), text });
        Ok(NewInvitation { is_mailed: self.mail_invitation(mail).await, link })
    }

    /// Offers a member the ownership of a team. The member must accept, because the owner pays for the renders of the team.
    /// Ends earlier offers of the team.
    /// Errors: the caller is not the owner, or the account is no member.
    pub async fn offer_team(&self, caller: &Caller, id: &str, member: &str, link_base: &str) -> Result<NewInvitation> {
        self.count_for(&caller.account_id, "invitations", limits::INVITATIONS_PER_HOUR, HOUR_MS).await?;
        let (account, secret) = (caller.account_id.clone(), random_text(SECRET_CHARS));
        let (sha256, member) = (sha256_hex(&secret), member.to_owned());
        let offered = self.write_in_team(caller, id, move |tx, workspace, own, now| {
            Box::pin(async move {
                require(own == Role::Owner, "only the owner can hand a team over")?;
                let (member, _role) = find_member(tx, &workspace.id, &member).await?;
                if member == account {
                    return Err(ServiceError::bad_request("you own this team already"));
                }
                let to = accounts::find(tx, &member).await?.map(|account| account.email);
                invitations::end_all(tx, &workspace.id, Role::Owner, now).await?;
                invitations::insert(tx, &invitation(&workspace, Role::Owner, to.clone(), account, now), &sha256)
                    .await?;
                Ok((workspace.name, to))
            })
        });
        let (team, to) = offered.await?;
        let link = format!("{link_base}{secret}");
        let text = format!(
            "{} offers you the team \"{team}\" at Plinth. Its owner pays for its renders.\n\n\
             Open this link to accept. It works once, for a week:\n\n{link}\n",
            caller.email
        );
        let mail = to.map(|to| Mail { to, subject: format!("{team} is offered to you"), text });
        Ok(NewInvitation { is_mailed: self.mail_invitation(mail).await, link })
    }

    /// Mails an invitation. Returns whether the mail was sent; `None` if `mail` is `None`, or if no mail server is configured.
    async fn mail_invitation(&self, mail: Option<Mail>) -> Option<bool> {
        let sent = self.send_mail(&mail?).await;
        if let Err(error) = &sent {
            tracing::error!(cause = ?error.cause, "an invitation could not be mailed");
        }
        self.options.mail.is_some().then_some(sent.is_ok())
    }

    /// Revokes an invitation.
    /// Errors: the caller's role does not allow this, or the invitation has ended.
    pub async fn revoke_invitation(&self, caller: &Caller, id: &str, invitation: &str) -> Result<()> {
        let missing = || ServiceError::new(ErrorCode::NotFound, "this invitation has ended already");
        let invitation = InvitationId::parse(invitation).ok_or_else(missing)?;
        let revoked = self.write_in_team(caller, id, move |tx, workspace, own, now| {
            Box::pin(async move {
                require(own.can_manage(), "only the owner and the administrators can revoke invitations")?;
                if invitations::end(tx, &workspace.id, &invitation, now).await? { Ok(()) } else { Err(missing()) }
            })
        });
        revoked.await
    }

    /// Returns the content of an invitation, for the invited person.
    /// Errors: the invitation is unknown, was accepted or revoked, or has expired.
    pub async fn invitation(&self, secret: &str) -> Result<InvitationView> {
        let mut conn = self.db.read().await?;
        let now = self.options.clock.now_ms(&mut conn).await?;
        let (invitation, workspace) = find_open(&mut conn, secret, now).await?;
        let inviter = accounts::find(&mut conn, &invitation.inviter_id).await?;
        Ok(InvitationView {
            team: workspace.name,
            inviter: inviter.map(|account| account.email).unwrap_or_default(),
            role: invitation.role,
            email: invitation.email,
        })
    }

    /// Accepts an invitation: the caller's account becomes a member of the team. If the invitation is an offer, the account
    /// becomes the owner. Returns the identifier of the team. It is no error if the invitation has ended and the account is a member
    /// already (for an offer: the owner), because a browser repeats a request whose response was lost.
    /// Errors: the invitation cannot be accepted any more, the account is a member already, or the offer is meant for
    /// another account.
    pub async fn accept_invitation(&self, caller: &Caller, secret: &str) -> Result<WorkspaceId> {
        match self.accept_open_invitation(caller, secret).await {
            Err(error) if error.code == ErrorCode::NotFound => {
                let mut conn = self.db.read().await?;
                find_joined_with_ended(&mut conn, secret, &caller.account_id).await?.ok_or(error)
            }
            accepted => accepted,
        }
    }

    async fn accept_open_invitation(&self, caller: &Caller, secret: &str) -> Result<WorkspaceId> {
        let account = caller.account_id.clone();
        let (_invitation, acceptance) = self.acceptance(secret).await?;
        let accepted = self.write_as(caller, acceptance.owner.clone(), move |tx, now| {
            Box::pin(async move { accept(tx, &acceptance, &account, now).await })
        });
        accepted.await
    }

    /// Finds an invitation that can be accepted, and builds the request that accepts it.
    async fn acceptance(&self, secret: &str) -> Result<(Invitation, Acceptance)> {
        let mut conn = self.db.read().await?;
        let now = self.options.clock.now_ms(&mut conn).await?;
        let (invitation, workspace) = find_open(&mut conn, secret, now).await?;
        let most_bytes = self.options.account_storage_bytes;
        Ok((invitation, Acceptance { secret: secret.to_owned(), owner: workspace.owner_id, most_bytes }))
    }

    /// Creates an account for an invited person, who becomes a member. The account has no signup bonus, so that invitations
    /// create no credits. Returns the secret of a new session and the identifier of the team.
    /// Errors: the invitation cannot be accepted any more, the address is in use, or the password is too short. If the invitation
    /// has ended and an account with this address is a member already, the message says so.
    pub async fn sign_up(
        &self,
        client: &ClientAddress,
        secret: &str,
        email: &str,
        password: String,
        browser: &str,
    ) -> Result<(String, WorkspaceId)> {
        let email = normalized(email)?;
        self.count_attempt(client, &email).await?;
        let (invitation, acceptance) = match self.acceptance(secret).await {
            Ok(found) => found,
            Err(error) if error.code == ErrorCode::NotFound => {
                return Err(self.already_joined(secret, &email).await?.unwrap_or(error));
            }
            Err(error) => return Err(error),
        };
        if invitation.role == Role::Owner {
            return Err(of_somebody_else());
        }
        let hash = self.hash_new_password(client, password).await?;
        let browser = browser.to_owned();
        let signed_up = self.write_locked(acceptance.owner.clone(), move |tx, now| {
            Box::pin(async move {
                let exists = "an account with this address exists already; sign in with it";
                if accounts::find_by_email(tx, &email).await?.is_some() {
                    return Err(ServiceError::bad_request(exists));
                }
                let new = NewAccount { email, is_admin: false, password_hash: Some(hash) };
                let account = insert(tx, new, 0, now).await.map_err(|error| error.into_service_error(exists))?;
                let team = accept(tx, &acceptance, &account, now).await?;
                Ok((open(tx, &account, &browser, now).await?, team))
            })
        });
        signed_up.await
    }

    /// Returns the error of a sign-up with an invitation that has ended, if an account with this address is a member of the team.
    async fn already_joined(&self, secret: &str, email: &str) -> Result<Option<ServiceError>> {
        let mut conn = self.db.read().await?;
        let Some(account) = accounts::find_by_email(&mut conn, email).await? else { return Ok(None) };
        let team = find_joined_with_ended(&mut conn, secret, &account.id).await?;
        let message = "an account with this address has joined the team already; sign in with it";
        Ok(team.map(|_joined| ServiceError::bad_request(message)))
    }
}

/// A request that accepts an invitation.
struct Acceptance {
    /// Secret of the invitation's link.
    secret: String,
    /// Owner of the team, whose account the transaction locks, so that neither a role changes nor a render is charged meanwhile.
    owner: AccountId,
    /// Maximum size of the models of an account, in bytes.
    most_bytes: u64,
}

fn invitation(workspace: &Workspace, role: Role, email: Option<String>, inviter: AccountId, now: i64) -> Invitation {
    Invitation {
        id: InvitationId::new_random(),
        workspace_id: workspace.id.clone(),
        role,
        email,
        inviter_id: inviter,
        created_at: now,
        expires_at: now + limits::INVITATION_SECS * 1000,
    }
}

/// Finds an invitation that can be accepted, and its team. If the inviter has lost the right to invite, the invitation can
/// no longer be accepted.
async fn find_open(conn: &mut Conn, secret: &str, now: i64) -> Result<(Invitation, Workspace)> {
    let missing = || {
        ServiceError::new(ErrorCode::NotFound, "this invitation was used or revoked, or has expired; ask for a new one")
    };
    let found = if is_secret(secret) { invitations::find_open(conn, &sha256_hex(secret), now).await? } else { None };
    let invitation = found.ok_or_else(missing)?;
    let team = find(conn, &invitation.inviter_id, invitation.workspace_id.as_str()).await;
    let (workspace, inviter) = team.map_err(|error| if error.status < 500 { missing() } else { error })?;
    let may_invite = inviter == Role::Owner || inviter.can_assign(invitation.role);
    // Otherwise a suspended person could create a new account with an invitation from the suspended account.
    let is_open = accounts::find(conn, &invitation.inviter_id).await?.is_some_and(|one| one.suspended_at.is_none());
    if may_invite && is_open { Ok((invitation, workspace)) } else { Err(missing()) }
}

/// Finds the team of an invitation that was accepted by anybody or revoked, if the account is a member of the team; for an offer, if
/// it is the owner.
async fn find_joined_with_ended(conn: &mut Conn, secret: &str, account: &AccountId) -> Result<Option<WorkspaceId>> {
    let found = if is_secret(secret) { invitations::find_ended(conn, &sha256_hex(secret)).await? } else { None };
    let Some(invitation) = found else { return Ok(None) };
    match find(conn, account, invitation.workspace_id.as_str()).await {
        Ok((workspace, role)) => {
            let is_accepted = invitation.role != Role::Owner || role == Role::Owner;
            Ok(is_accepted.then_some(workspace.id))
        }
        Err(error) if error.status < 500 => Ok(None),
        Err(error) => Err(error),
    }
}

fn busy() -> ServiceError {
    let message = "another request of your account is being processed; accept the offer again";
    ServiceError { retry_after_secs: Some(1), ..ServiceError::new(ErrorCode::RateLimited, message) }
}

async fn check_room(tx: &mut Tx, workspace: &WorkspaceId, now: i64) -> Result<()> {
    let open = invitations::list_open(tx, workspace, now).await?.len();
    if open >= limits::INVITATIONS {
        let message = format!("a team can have at most {} open invitations; revoke some first", limits::INVITATIONS);
        return Err(ServiceError::new(ErrorCode::LimitReached, message));
    }
    Ok(())
}

/// Returns an error if a member of a team has this address. The member could not accept an invitation.
async fn check_is_no_member(tx: &mut Tx, workspace: &WorkspaceId, email: &str) -> Result<()> {
    let members = workspaces::list_members(tx, workspace).await?;
    if members.iter().any(|member| member.email == email) {
        let message = format!("{email} is a member of this team already; change the member's role instead");
        return Err(ServiceError::bad_request(message));
    }
    Ok(())
}

/// Accepts an invitation. A new owner pays for the models of the team, so with them the account may have at most `most_bytes` of models.
/// Otherwise one account could fill teams with models again and again, and hand them over to another one.
async fn accept(tx: &mut Tx, acceptance: &Acceptance, account: &AccountId, now: i64) -> Result<WorkspaceId> {
    let (invitation, workspace) = find_open(tx, &acceptance.secret, now).await?;
    check_owner(&workspace.owner_id, &acceptance.owner)?;
    check_open(tx, account).await?;
    let role = workspaces::role_of(tx, &workspace.id, account).await?;
    if invitation.role == Role::Owner {
        let email = accounts::find(tx, account).await?.map(|account| account.email);
        if role.is_none() || email != invitation.email {
            return Err(of_somebody_else());
        }
        // Otherwise uploads and other offers that the account accepts at the same time could exceed its limits.
        if accounts::try_lock(tx, account).await?.is_none() {
            return Err(busy());
        }
        check_may_own(tx, account).await?;
        let bytes = storage::models_of_workspace(tx, &workspace.id).await?;
        if bytes > 0 {
            check_model_storage(tx, account, bytes, acceptance.most_bytes).await?;
        }
    } else if role.is_some() {
        return Err(ServiceError::bad_request("you are a member of this team already"));
    } else if workspaces::list_members(tx, &workspace.id).await?.len() >= limits::TEAM_MEMBERS {
        let message = format!("a team can have at most {} members", limits::TEAM_MEMBERS);
        return Err(ServiceError::new(ErrorCode::LimitReached, message));
    }
    // Only one of two requests that arrive at the same time ends the invitation.
    if !invitations::end(tx, &workspace.id, &invitation.id, now).await? {
        return Err(ServiceError::new(ErrorCode::NotFound, "this invitation was used or revoked"));
    }
    if invitation.role == Role::Owner {
        if !workspaces::set_owner(tx, &workspace.id, &workspace.owner_id, account).await? {
            return Err(of_somebody_else());
        }
    } else {
        workspaces::set_member(tx, &workspace.id, account, invitation.role, now).await?;
    }
    Ok(workspace.id)
}

fn of_somebody_else() -> ServiceError {
    ServiceError::new(ErrorCode::Forbidden, "this offer is meant for another account; sign in with that account")
}
