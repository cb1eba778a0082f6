//! API keys.

use plinth_db::tokens::{self, NewToken, Token};
use plinth_db::{Tx, workspaces};
use plinth_spec::id::{AccountId, TokenId, WorkspaceId};
use plinth_spec::role::Role;
use plinth_spec::wire::Scope;
use plinth_spec::{ErrorCode, limits};

use super::sign_in::check_open;
use super::{Caller, token};
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

/// A key that is to be inserted.
struct KeyRow {
    id: TokenId,
    account_id: AccountId,
    new: NewKey,
    sha256: String,
    prefix: String,
    last4: String,
}

impl KeyRow {
    /// Inserts the key. The transaction must have locked the account.
    async fn insert(self, tx: &mut Tx, now: i64) -> Result<()> {
        let Self { id, account_id, new, sha256, prefix, last4 } = self;
        check_open(tx, &account_id).await?;
        if tokens::count_active(tx, &account_id, now).await? >= limits::KEYS {
            let message = format!("an account can have at most {} active keys; revoke some first", limits::KEYS);
            return Err(ServiceError::new(ErrorCode::LimitReached, message));
        }
        let workspace = match &new.workspace_id {
            Some(id) => workspaces::find(tx, id).await?.filter(|w| w.deleted_at.is_none()),
            None => workspaces::find_personal(tx, &account_id).await?,
        };
        let workspace =
            workspace.ok_or_else(|| ServiceError::new(ErrorCode::NotFound, "there is no such workspace"))?;
        let role = workspaces::role_of(tx, &workspace.id, &account_id).await?;
        if !role.is_some_and(Role::can_edit) {
            let message = "a key for a workspace needs the role of an editor in it";
            return Err(ServiceError::new(ErrorCode::Forbidden, message));
        }
        let token = NewToken {
            id,
            account_id,
            workspace_id: workspace.id,
            name: new.name,
            sha256,
            prefix,
            last4,
            scopes: new.scopes,
            created_at: now,
            expires_at: new.expires_in_secs.map(|secs| now.saturating_add(secs.saturating_mul(1000))),
        };
        Ok(tokens::insert(tx, &token).await?)
    }
}

impl Service {
    /// Creates a key, for somebody who may run commands on the server.
    /// Errors: the account is suspended or has too many keys, the workspace does not exist, or the account is not an editor of
    /// the workspace.
    // Source: Spec, Authentication, 6.
    pub async fn create_key(&self, new: NewKey) -> Result<NewKeyMade> {
        let (made, row) = self.new_key(new)?;
        let inserted = self.write_locked(row.account_id.clone(), move |tx, now| Box::pin(row.insert(tx, now)));
        inserted.await?;
        Ok(made)
    }

    /// Creates a key of the caller's account.
    /// Errors: those of [`create_key`](Self::create_key), or the caller's session has ended.
    pub async fn create_own_key(&self, caller: &Caller, new: NewKey) -> Result<NewKeyMade> {
        let (made, row) = self.new_key(NewKey { account_id: caller.account_id.clone(), ..new })?;
        let inserted = self.write_as(caller, row.account_id.clone(), move |tx, now| Box::pin(row.insert(tx, now)));
        inserted.await?;
        Ok(made)
    }

    /// Checks the name of a key and makes its secret.
    fn new_key(&self, new: NewKey) -> Result<(NewKeyMade, KeyRow)> {
        if new.name.chars().count() > limits::KEY_NAME_CHARS || new.name.contains(char::is_control) {
            let message =
                format!("a key's name has at most {} characters, without line breaks", limits::KEY_NAME_CHARS);
            return Err(ServiceError::bad_request(message));
        }
        let options = &self.options;
        let prefix = if new.has_legacy_prefix { &options.legacy_token_prefix } else { &options.token_prefix };
        let (secret, prefix) = (token::make(prefix), prefix.clone());
        let made = NewKeyMade { id: TokenId::new_random(), token: secret.text };
        let (sha256, last4) = (secret.sha256, secret.last4);
        let row = KeyRow { id: made.id.clone(), account_id: new.account_id.clone(), new, sha256, prefix, last4 };
        Ok((made, row))
    }

    /// Revokes a key, for somebody who may run commands on the server.
    /// Errors: there is no such key, or it was revoked before.
    pub async fn revoke_key(&self, id: &TokenId) -> Result<()> {
        let id = id.clone();
        let revoked = self.write_at(move |tx, now| {
            Box::pin(async move { Ok::<_, ServiceError>(tokens::revoke(tx, &id, now).await?) })
        });
        if revoked.await? { Ok(()) } else { Err(no_such_key()) }
    }

    /// Revokes a key of the caller's account.
    /// Errors: those of [`revoke_key`](Self::revoke_key), or the caller's session has ended.
    pub async fn revoke_own_key(&self, caller: &Caller, id: &TokenId) -> Result<()> {
        let (account, id) = (caller.account_id.clone(), id.clone());
        let revoked = self.write_as(caller, account.clone(), move |tx, now| {
            Box::pin(async move {
                let is_own = tokens::list(tx, &account).await?.iter().any(|key| key.id == id);
                if is_own && tokens::revoke(tx, &id, now).await? { Ok(()) } else { Err(no_such_key()) }
            })
        });
        revoked.await
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

fn no_such_key() -> ServiceError {
    ServiceError::new(ErrorCode::NotFound, "there is no active key with this identifier")
}
