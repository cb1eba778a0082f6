//! Browser sessions.

use plinth_db::sessions::{self, ListedSession};
use plinth_db::workspaces::{self, Membership};
use plinth_spec::id::WorkspaceId;
use plinth_spec::wire::{BoundWorkspace, Scope};
use plinth_spec::{ErrorCode, limits};

use super::Caller;
use super::caller::{TOUCH_MS, log_failed_touch};
use crate::error::{Result, ServiceError};
use crate::hash::sha256_hex;
use crate::service::Service;

/// Idle timeout of a session, in milliseconds.
pub(crate) const IDLE_MS: i64 = limits::SESSION_IDLE_SECS * 1000;

/// A valid session, with the data that the web UI needs.
#[derive(Clone, Debug)]
pub struct SignedIn {
    /// The authenticated caller, in the selected workspace.
    pub caller: Caller,
    /// Workspaces of the account, its personal one first.
    pub workspaces: Vec<Membership>,
    /// CSRF token, which every form of this session must contain.
    pub form_token: String,
}

/// A session, as shown to its account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionView {
    /// Identifier, from which the secret cannot be derived.
    pub id: String,
    /// Whether this is the session of the caller.
    pub is_current: bool,
    /// The header `User-Agent` of the browser that signed in; empty for older sessions.
    pub browser: String,
    /// Time of the sign-in.
    pub created_at: i64,
    /// Time of the last use, accurate to about a minute.
    pub seen_at: i64,
}

/// Derives the identifier of a session that pages show ([`SessionView::id`]) from the hash of its secret.
fn public_id(sha256: &str) -> String {
    sha256_hex(format!("session {sha256}")).chars().take(24).collect()
}

impl SignedIn {
    /// Returns whether `token`, which a form sent, is the CSRF token of this session.
    pub fn made_form(&self, token: &str) -> bool {
        // Comparing hashes prevents timing attacks: the duration of the comparison reveals nothing about the token.
        sha256_hex(token) == sha256_hex(&self.form_token)
    }
}

impl Service {
    /// Authenticates a session by its secret. Each request reads the session and the memberships from the database, so
    /// that a suspension or the removal of a member takes effect on the next request.
    pub async fn session(&self, secret: &str) -> Result<Option<SignedIn>> {
        if !super::sign_in::is_secret(secret) {
            return Ok(None);
        }
        let sha256 = sha256_hex(secret);
        let mut conn = self.db.read().await?;
        let now = self.options.clock.now_ms(&mut conn).await?;
        let Some(session) = sessions::find(&mut conn, &sha256, now, now - IDLE_MS).await? else { return Ok(None) };
        let workspaces = workspaces::list_of_member(&mut conn, &session.account_id).await?;
        drop(conn);
        let session_sha256 = sha256.clone();
        if now - session.seen_at >= TOUCH_MS {
            let touched =
                self.db.write(move |tx| Box::pin(async move { sessions::touch(tx, &sha256, now).await })).await;
            log_failed_touch(touched);
        }
        let chosen = workspaces.iter().find(|m| Some(&m.workspace.id) == session.workspace_id.as_ref());
        let own = || workspaces.iter().find(|m| m.workspace.is_personal);
        let Membership { workspace, role } =
            chosen.or_else(own).ok_or_else(|| ServiceError::internal("an account has no personal workspace"))?.clone();
        let bound = BoundWorkspace { id: workspace.id.clone(), name: workspace.name };
        let caller = Caller {
            token_id: None,
            session_sha256: Some(session_sha256),
            account_id: session.account_id,
            email: session.email,
            is_admin: session.is_admin,
            workspace_id: workspace.id,
            bound: (!workspace.is_personal).then_some(bound),
            payer_id: workspace.owner_id,
            scopes: Scope::ALL.to_vec(),
            role,
        };
        Ok(Some(SignedIn { caller, workspaces, form_token: sha256_hex(format!("forms of {secret}")) }))
    }

    /// Selects the workspace of a session.
    /// Errors: the account is not a member of the workspace.
    pub async fn choose_workspace(&self, secret: &str, signed_in: &SignedIn, workspace: &str) -> Result<()> {
        let known = WorkspaceId::parse(workspace)
            .and_then(|id| signed_in.workspaces.iter().find(|m| m.workspace.id == id))
            .ok_or_else(|| ServiceError::new(ErrorCode::NotFound, "there is no such workspace"))?;
        let sha256 = sha256_hex(secret);
        let chosen = (!known.workspace.is_personal).then(|| known.workspace.id.clone());
        let change = self
            .db
            .write(move |tx| Box::pin(async move { Ok(sessions::set_workspace(tx, &sha256, chosen.as_ref()).await?) }));
        change.await
    }

    /// Lists the valid sessions of the caller's account. `secret` is the secret of the caller's session.
    pub async fn list_sessions(&self, caller: &Caller, secret: &str) -> Result<Vec<SessionView>> {
        let mut conn = self.db.read().await?;
        let now = self.options.clock.now_ms(&mut conn).await?;
        let own = sha256_hex(secret);
        let listed = sessions::list(&mut conn, &caller.account_id, now, now - IDLE_MS).await?;
        let view = |session: ListedSession| SessionView {
            id: public_id(&session.sha256),
            is_current: session.sha256 == own,
            browser: session.browser,
            created_at: session.created_at,
            seen_at: session.seen_at,
        };
        Ok(listed.into_iter().map(view).collect())
    }

    /// Ends one of the sessions of the caller's account.
    /// Errors: the account has no such session.
    pub async fn end_session(&self, caller: &Caller, id: &str) -> Result<()> {
        let (account, id) = (caller.account_id.clone(), id.to_owned());
        let ended = self.write_as(caller, account.clone(), move |tx, now| {
            Box::pin(async move {
                let sessions = sessions::list(tx, &account, now, now - IDLE_MS).await?;
                let found = sessions.iter().find(|session| public_id(&session.sha256) == id);
                let found =
                    found.ok_or_else(|| ServiceError::new(ErrorCode::NotFound, "this session has ended already"))?;
                Ok(sessions::delete(tx, &found.sha256).await?)
            })
        });
        ended.await
    }

    /// Deletes the session with the secret `secret`. If a request of this session is changing the account at the same time, the
    /// change is either committed before this method returns, or rejected.
    pub async fn sign_out(&self, caller: &Caller, secret: &str) -> Result<()> {
        let sha256 = sha256_hex(secret);
        self.write_locked(caller.account_id.clone(), move |tx, _now| {
            Box::pin(async move { Ok(sessions::delete(tx, &sha256).await?) })
        })
        .await
    }

    /// Deletes all sessions and unused sign-in links of the caller's account. A change of the account by a concurrent request of
    /// these sessions is either committed before this method returns, or rejected.
    pub async fn sign_out_everywhere(&self, caller: &Caller) -> Result<()> {
        let account = caller.account_id.clone();
        self.write_locked(account.clone(), move |tx, _now| {
            Box::pin(async move { Ok(sessions::delete_all(tx, &account).await?) })
        })
        .await
    }
}
