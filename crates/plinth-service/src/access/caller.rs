//! Letting a request in.

use plinth_db::tokens::{self, Bearer};
use plinth_spec::ErrorCode;
use plinth_spec::id::{AccountId, TokenId, WorkspaceId};
use plinth_spec::role::Role;
use plinth_spec::wire::{BoundWorkspace, Scope};

use super::token;
use crate::error::{Result, ServiceError};
use crate::service::Service;

/// The use of a key or a session is remembered to this many milliseconds.
pub(super) const TOUCH_MS: i64 = 60_000;

/// Whom a key or a browser's session let in, and where they work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The key; none: a browser's session.
    pub token_id: Option<TokenId>,
    /// Their account.
    pub account_id: AccountId,
    /// Its address.
    pub email: String,
    /// Whether it administers the installation.
    pub is_admin: bool,
    /// Whose models and renders they see.
    pub workspace_id: WorkspaceId,
    /// The team workspace, when the key is bound to one.
    pub bound: Option<BoundWorkspace>,
    /// Who pays: the workspace's owner.
    pub payer_id: AccountId,
    /// What the key may do. A session may do everything.
    pub scopes: Vec<Scope>,
    /// What they may do in the workspace.
    pub role: Role,
}

impl Caller {
    /// Refuses a key without a scope, and a member who may not change anything.
    pub fn require(&self, scope: Scope) -> Result<()> {
        if !self.scopes.contains(&scope) {
            let words = format!("this key lacks the scope '{}'", scope.as_str());
            return Err(ServiceError::new(ErrorCode::InsufficientScope, words));
        }
        if scope == Scope::Render && !self.role.can_edit() {
            return Err(ServiceError::new(ErrorCode::Forbidden, "viewers of a workspace cannot change it"));
        }
        Ok(())
    }
}

impl Service {
    /// Lets a bearer in. Everything is read anew at each request, so a removed member is out at the next one.
    // Spec, Authentication, 5 to 8.
    pub async fn authenticate(&self, token: Option<&str>) -> Result<Caller> {
        let prefixes = [self.options.token_prefix.as_str(), self.options.legacy_token_prefix.as_str()];
        let text = token.ok_or_else(|| unauthorized("send the header Authorization: Bearer <API key>"))?;
        let sha256 = token::lookup(text, prefixes).ok_or_else(|| unauthorized("this is not an API key"))?;
        let mut conn = self.db.read().await?;
        let bearer = tokens::find_bearer(&mut conn, &sha256).await?;
        let bearer = bearer.ok_or_else(|| unauthorized("this API key is not known"))?;
        let now = self.options.clock.now_ms(&mut conn).await?;
        drop(conn);
        let role = check(&bearer, now)?;
        if bearer.token.last_used_at.is_none_or(|at| now - at >= TOUCH_MS) {
            let id = bearer.token.id.clone();
            self.db.write(move |tx| Box::pin(async move { tokens::touch(tx, &id, now).await })).await?;
        }
        let bound = BoundWorkspace { id: bearer.token.workspace_id.clone(), name: bearer.workspace_name };
        Ok(Caller {
            token_id: Some(bearer.token.id),
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

fn check(bearer: &Bearer, now: i64) -> Result<Role> {
    if bearer.token.revoked_at.is_some() {
        return Err(unauthorized("this API key was revoked"));
    }
    if bearer.token.expires_at.is_some_and(|end| end <= now) {
        return Err(ServiceError::new(ErrorCode::TokenExpired, "this API key has expired"));
    }
    let forbidden = |words: &str| Err(ServiceError::new(ErrorCode::Forbidden, words));
    if bearer.is_suspended {
        return forbidden("this account is suspended");
    }
    if bearer.workspace_is_deleted {
        return forbidden("the workspace of this key is gone");
    }
    bearer.role.map_or_else(|| forbidden("you are no longer a member of the workspace of this key"), Ok)
}

pub(super) fn unauthorized(words: &str) -> ServiceError {
    ServiceError::new(ErrorCode::Unauthorized, words)
}
