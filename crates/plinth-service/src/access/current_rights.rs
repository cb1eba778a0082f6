//! Repeats the checks of a caller's rights in the transaction that changes data for the caller.

use plinth_db::sessions::{self, Session};
use plinth_db::{Tx, tokens, workspaces};
use plinth_spec::ErrorCode;
use plinth_spec::id::{AccountId, TokenId};
use plinth_spec::role::Role;
use plinth_spec::wire::Scope;

use super::Caller;
use super::caller::{check_bearer, unauthorized};
use super::session::IDLE_MS;
use crate::error::{Result, ServiceError};

/// Returns an error if the caller may no longer change anything in its workspace. A request is authenticated before its body
/// is received, which can take hours. Meanwhile the caller's key or session may have ended, its account may have been
/// suspended, or its membership or workspace may have changed.
pub(crate) async fn check_current_rights(tx: &mut Tx, caller: &Caller, now: i64) -> Result<()> {
    let (payer, role) = match (&caller.token_id, &caller.session_sha256) {
        (Some(id), _) => find_bearer(tx, id, now).await?,
        (None, Some(sha256)) => check_session(tx, caller, sha256, now).await?,
        (None, None) => return Err(ServiceError::internal("a caller has neither a key nor a session")),
    };
    Caller { role, ..caller.clone() }.require(Scope::Render)?;
    check_owner(&payer, &caller.payer_id)
}

/// Returns an error if the `owner` of a workspace is not the account `expected`, which was its owner before the transaction.
pub(super) fn check_owner(owner: &AccountId, expected: &AccountId) -> Result<()> {
    if owner == expected { Ok(()) } else { Err(forbidden("the workspace was handed over to another owner; try again")) }
}

/// Returns an error if the caller's key or session is no longer valid, or if its account was suspended.
pub(crate) async fn check_is_signed_in(tx: &mut Tx, caller: &Caller, now: i64) -> Result<()> {
    match (&caller.token_id, &caller.session_sha256) {
        (Some(id), _) => find_bearer(tx, id, now).await.map(drop),
        (None, Some(sha256)) => find_session(tx, sha256, now).await.map(drop),
        (None, None) => Err(ServiceError::internal("a caller has neither a key nor a session")),
    }
}

/// Finds a session by the hash of its secret.
/// Errors: the session has ended.
pub(crate) async fn find_session(tx: &mut Tx, sha256: &str, now: i64) -> Result<Session> {
    let session = sessions::find(tx, sha256, now, now - IDLE_MS).await?;
    session.ok_or_else(|| unauthorized("this session has ended; sign in again"))
}

/// Checks the key of a caller. Returns the owner of the key's workspace, and the caller's role in it.
async fn find_bearer(tx: &mut Tx, id: &TokenId, now: i64) -> Result<(AccountId, Role)> {
    let bearer = tokens::find_bearer_by_id(tx, id).await?;
    let bearer = bearer.ok_or_else(|| unauthorized("this API key was deleted"))?;
    let role = check_bearer(&bearer, now)?;
    Ok((bearer.payer_id, role))
}

/// Checks the browser session of a caller. Returns the owner of the caller's workspace, and the caller's role in it.
async fn check_session(tx: &mut Tx, caller: &Caller, sha256: &str, now: i64) -> Result<(AccountId, Role)> {
    find_session(tx, sha256, now).await?;
    let memberships = workspaces::list_of_member(tx, &caller.account_id).await?;
    let membership = memberships.into_iter().find(|membership| membership.workspace.id == caller.workspace_id);
    let membership = membership.ok_or_else(|| forbidden("you are no longer a member of this workspace"))?;
    Ok((membership.workspace.owner_id, membership.role))
}

fn forbidden(message: &str) -> ServiceError {
    ServiceError::new(ErrorCode::Forbidden, message)
}
