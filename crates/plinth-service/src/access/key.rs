//! API keys.

use plinth_db::tokens::{self, NewToken, Token};
use plinth_db::workspaces;
use plinth_spec::id::{AccountId, TokenId, WorkspaceId};
use plinth_spec::role::Role;
use plinth_spec::wire::Scope;
use plinth_spec::{ErrorCode, limits};

use super::token;
use crate::error::{Result, ServiceError};
use crate::ids::New as _;
use crate::service::Service;

/// A key to create.
#[derive(Clone, Debug)]
pub struct NewKey {
    /// Account that will own the key.
    pub account_id: AccountId,
    /// Team workspace to which the key gives access; `None` for the account's personal workspace.
    pub workspace_id: Option<WorkspaceId>,
    /// Display name.
    pub name: String,
    /// Permissions of the key.
    pub scopes: Vec<Scope>,
    /// Lifetime in seconds; `None` if the key never expires.
    pub expires_in_secs: Option<i64>,
    /// Whether to use the legacy prefix.
    pub has_legacy_prefix: bool,
}

/// A newly created key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewKeyMade {
    pub id: TokenId,
    /// The secret. It cannot be shown again later, because only its hash is stored.
    pub token: String,
}

/// A key, as shown to its owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// Stored data of the key.
    pub token: Token,
    /// Whether the key is neither revoked nor expired.
    pub is_valid: bool,
}

impl Service {
    /// Creates a key.
    /// Errors: the account has too many keys, the workspace does not exist, or the account is not an editor of the
    /// workspace.
    // Spec, Authentication, 6.
    pub async fn create_key(&self, new: NewKey) -> Result<NewKeyMade> {
        if new.name.chars().count() > limits::KEY_NAME_CHARS {
            let message = format!("a key's name has at most {} characters", limits::KEY_NAME_CHARS);
            return Err(ServiceError::bad_request(message));
        }
        let options = &self.options;
        let prefix = if new.has_legacy_prefix { &options.legacy_token_prefix } else { &options.token_prefix };
        let (secret, prefix) = (token::make(prefix), prefix.clone());
        let made = NewKeyMade { id: TokenId::new_random(), token: secret.text };
        let id = made.id.clone();
        let inserted = self.write_locked(new.account_id.clone(), move |tx, now| {
            Box::pin(async move {
                if tokens::count_active(tx, &new.account_id, now).await? >= limits::KEYS {
                    let message =
                        format!("an account can have at most {} active keys; revoke some first", limits::KEYS);
                    return Err(ServiceError::new(ErrorCode::LimitReached, message));
                }
                let workspace = match &new.workspace_id {
                    Some(id) => workspaces::find(tx, id).await?.filter(|w| w.deleted_at.is_none()),
                    None => workspaces::find_personal(tx, &new.account_id).await?,
                };
                let workspace =
                    workspace.ok_or_else(|| ServiceError::new(ErrorCode::NotFound, "there is no such workspace"))?;
                let role = workspaces::role_of(tx, &workspace.id, &new.account_id).await?;
                if !role.is_some_and(Role::can_edit) {
                    let message = "a key for a workspace needs the role of an editor in it";
                    return Err(ServiceError::new(ErrorCode::Forbidden, message));
                }
                let token = NewToken {
                    id,
                    account_id: new.account_id,
                    workspace_id: workspace.id,
                    name: new.name,
                    sha256: secret.sha256,
                    prefix,
                    last4: secret.last4,
                    scopes: new.scopes,
                    created_at: now,
                    expires_at: new.expires_in_secs.map(|secs| now.saturating_add(secs.saturating_mul(1000))),
                };
                tokens::insert(tx, &token).await?;
                Ok(())
            })
        });
        inserted.await?;
        Ok(made)
    }

    /// Revokes a key. With `owner`, returns an error if the key does not belong to this account.
    pub async fn revoke_key(&self, id: &TokenId, owner: Option<&AccountId>) -> Result<()> {
        let missing = || ServiceError::new(ErrorCode::NotFound, "there is no active key with this identifier");
        if let Some(owner) = owner {
            let keys = self.keys(owner).await?;
            keys.iter().find(|key| key.token.id == *id).ok_or_else(missing)?;
        }
        let id = id.clone();
        let revoked = self.write_at(move |tx, now| {
            Box::pin(async move { Ok::<_, ServiceError>(tokens::revoke(tx, &id, now).await?) })
        });
        if revoked.await? { Ok(()) } else { Err(missing()) }
    }

    /// Lists the keys of an account, newest first.
    pub async fn keys(&self, account: &AccountId) -> Result<Vec<Key>> {
        let mut conn = self.db.read().await?;
        let now = self.options.clock.now_ms(&mut conn).await?;
        let tokens = tokens::list(&mut conn, account).await?;
        let is_valid = |token: &Token| token.revoked_at.is_none() && token.expires_at.is_none_or(|end| end > now);
        Ok(tokens.into_iter().map(|token| Key { is_valid: is_valid(&token), token }).collect())
    }
}
