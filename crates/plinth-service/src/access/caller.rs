//! Authentication of API requests.

use plinth_db::DbError;
use plinth_db::tokens::{self, Bearer};
use plinth_spec::ErrorCode;
use plinth_spec::id::{AccountId, TokenId, WorkspaceId};
use plinth_spec::role::Role;
use plinth_spec::wire::{BoundWorkspace, Scope};

use super::token;
use crate::error::{Result, ServiceError};
use crate::service::Service;

/// Minimum time in milliseconds between two updates of the stored "last used" time of a key or session.
pub(super) const TOUCH_MS: i64 = 60_000;

/// The authenticated caller of a request, with its workspace and its permissions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// Identifier of the API key; `None` for a browser session.
    pub token_id: Option<TokenId>,
    /// Hash of the secret of the browser session; `None` for an API key.
    pub session_sha256: Option<String>,
    /// The caller's account.
    pub account_id: AccountId,
    /// E-mail address of the account.
    pub email: String,
    /// Whether the account is an administrator of the installation.
    pub is_admin: bool,
    /// Workspace whose models and renders the caller can access.
    pub workspace_id: WorkspaceId,
    /// The team workspace to which the key belongs; `None` for a key of a personal workspace.
    pub bound: Option<BoundWorkspace>,
    /// Account that pays for renders, which is the owner of the workspace.
    pub payer_id: AccountId,
    /// Permissions of the key. A browser session has all permissions.
    pub scopes: Vec<Scope>,
    /// The caller's role in the workspace.
    pub role: Role,
}

impl Caller {
    /// Returns an error if the key lacks the scope, or if the scope needs write access and the caller is a viewer.
    pub fn require(&self, scope: Scope) -> Result<()> {
        if !self.scopes.contains(&scope) {
            let message = format!("this key lacks the scope '{}'", scope.as_str());
            return Err(ServiceError::new(ErrorCode::InsufficientScope, message));
        }
        if scope == Scope::Render && !self.role.can_edit() {
            return Err(ServiceError::new(ErrorCode::Forbidden, "viewers of a workspace cannot change it"));
        }
        Ok(())
    }
}

impl Service {
    /// Authenticates a bearer token. Each request reads the key and the membership from the database, so that a removed
    /// member has no access from the next request on.
    // Source: Spec, Authentication, 5 to 8.
    pub async fn authenticate(&self, token: Option<&str>) -> Result<Caller> {
        let prefixes = [self.options.token_prefix.as_str(), self.options.legacy_token_prefix.as_str()];
        let text = token.ok_or_else(|| unauthorized("send the header Authorization: Bearer <API key>"))?;
        let sha256 = token::lookup(text, prefixes).ok_or_else(|| unauthorized("this is not an API key"))?;
        let mut conn = self.db.read().await?;
        let bearer = tokens::find_bearer(&mut conn, &sha256).await?;
        let bearer = bearer.ok_or_else(|| unauthorized("this API key is not known"))?;
        drop(conn);
        let now = self.options.clock.set_ms().unwrap_or(bearer.read_at);
        let role = check_bearer(&bearer, now)?;
        if bearer.token.last_used_at.is_none_or(|at| now - at >= TOUCH_MS) {
            let id = bearer.token.id.clone();
            let touched = self.db.write(move |tx| Box::pin(async move { tokens::touch(tx, &id, now).await })).await;
            log_failed_touch(touched);
        }
        let bound = BoundWorkspace { id: bearer.token.workspace_id.clone(), name: bearer.workspace_name };
        Ok(Caller {
            token_id: Some(bearer.token.id),
            session_sha256: None,
            account_id: bearer.account_id,
            email: bearer.email,
            is_admin: bearer.is_admin,
            workspace_id: bearer.token.workspace_id,
            bound: (!bearer.workspace_is_personal).then_some(bound),
            payer_id: bearer.payer_id,
            scopes: bearer.token.scopes,
            role,
        })
    }
}

/// Logs that the time of the last use of a key or session could not be stored. The request needs no write, so that it succeeds
/// nevertheless.
pub(super) fn log_failed_touch(touched: std::result::Result<(), DbError>) {
    if let Err(error) = touched {
        tracing::warn!(cause = ?error, "the time of the last use of a key or session could not be stored");
    }
}

pub(super) fn check_bearer(bearer: &Bearer, now: i64) -> Result<Role> {
    if bearer.token.revoked_at.is_some() {
        return Err(unauthorized("this API key was revoked"));
    }
    if bearer.token.expires_at.is_some_and(|end| end <= now) {
        return Err(ServiceError::new(ErrorCode::TokenExpired, "this API key has expired"));
    }
    let forbidden = |message: &str| Err(ServiceError::new(ErrorCode::Forbidden, message));
    if bearer.is_suspended {
        return forbidden("this account is suspended");
    }
    if bearer.workspace_is_deleted {
        return forbidden("the workspace of this key was deleted");
    }
    let Some(role) = bearer.role else {
        return forbidden("you are no longer a member of the workspace of this key");
    };
    // Only members learn that the owner is suspended.
    if bearer.is_owner_suspended {
        return forbidden("the owner of the workspace of this key is suspended");
    }
    Ok(role)
}

pub(super) fn unauthorized(message: &str) -> ServiceError {
    ServiceError::new(ErrorCode::Unauthorized, message)
}
