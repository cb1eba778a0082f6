//! The actor of an administrative action: an administrator, or somebody who may run commands on the server.

use plinth_db::admin_log::{self, NewLogEntry};
use plinth_db::{Tx, accounts};
use plinth_spec::id::{AccountId, LogEntryId};
use plinth_spec::{AdminAction, ErrorCode, limits};

use crate::access::{Caller, check_is_signed_in};
use crate::error::{Result, ServiceError};
use crate::ids::New as _;

/// The actor of an administrative action. The log entry of the action contains the actor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Actor {
    /// An administrator who is signed in.
    Account(Box<Caller>),
    /// Somebody who may run commands on the server.
    Command,
}

/// An administrative action, as the log describes it.
pub(super) struct Done<'a> {
    pub(super) action: AdminAction,
    /// Account on which the administrator acted, if any.
    pub(super) account: Option<&'a AccountId>,
    /// What was changed, as text for the log.
    pub(super) subject: String,
    pub(super) reason: &'a str,
}

impl Actor {
    /// Returns the caller as an administrator.
    /// Errors: the caller is not an administrator.
    pub fn of(caller: &Caller) -> Result<Self> {
        if caller.is_admin { Ok(Self::Account(Box::new(caller.clone()))) } else { Err(no_admin()) }
    }

    const fn account(&self) -> Option<&AccountId> {
        match self {
            Self::Account(caller) => Some(&caller.account_id),
            Self::Command => None,
        }
    }

    /// Returns whether the actor is the account with the identifier `account`.
    pub(super) fn is(&self, account: &AccountId) -> bool {
        self.account() == Some(account)
    }

    /// Checks again, in the transaction of an action, that the account is an administrator and is signed in.
    /// Errors: the account is no longer an administrator, was suspended, or its session has ended.
    pub(super) async fn check(&self, tx: &mut Tx, now: i64) -> Result<()> {
        let Self::Account(caller) = self else { return Ok(()) };
        let account = accounts::find(tx, &caller.account_id).await?;
        if !account.is_some_and(|account| account.is_admin && account.suspended_at.is_none()) {
            return Err(no_admin());
        }
        check_is_signed_in(tx, caller, now).await
    }

    /// Adds an entry to the log, for an account that is created as an administrator.
    pub(crate) async fn log_new_admin(&self, tx: &mut Tx, id: &AccountId, email: String, now: i64) -> Result<()> {
        let (action, reason) = (AdminAction::MakeAdmin, "a new account");
        self.log(tx, Done { action, account: Some(id), subject: email, reason }, now).await
    }

    /// Adds an entry to the log.
    pub(super) async fn log(&self, tx: &mut Tx, done: Done<'_>, now: i64) -> Result<()> {
        let entry = NewLogEntry {
            id: LogEntryId::new_random(),
            admin_id: self.account().cloned(),
            action: done.action,
            account_id: done.account.cloned(),
            subject: done.subject,
            reason: done.reason.to_owned(),
            created_at: now,
        };
        Ok(admin_log::insert(tx, &entry).await?)
    }
}

fn no_admin() -> ServiceError {
    ServiceError::new(ErrorCode::NotFound, "this needs an administrator of the installation")
}

/// Trims and checks the reason of an action.
/// Errors: the reason is too long or has control characters.
pub(super) fn reason(text: &str) -> Result<String> {
    let (text, most) = (text.trim(), limits::ADMIN_REASON_CHARS);
    if text.chars().count() > most || text.chars().any(char::is_control) {
        return Err(ServiceError::bad_request(format!("a reason has at most {most} characters, without line breaks")));
    }
    Ok(text.to_owned())
}
