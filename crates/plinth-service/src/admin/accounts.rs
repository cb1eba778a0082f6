//! Administration of accounts: lists and suspends accounts, and appoints administrators.

use plinth_db::accounts::{self, Account, AccountFilter, ListedAccount};
use plinth_db::{Conn, Tx, sessions};
use plinth_spec::id::AccountId;
use plinth_spec::{AdminAction, ErrorCode};

use super::actor::{Actor, Done, reason};
use crate::error::{Result, ServiceError};
use crate::service::Service;

/// Filter and offset of a page of accounts.
#[derive(Clone, Debug, Default)]
pub struct AccountQuery {
    /// Only accounts whose address contains this text; empty for all.
    pub search: String,
    /// Whether only administrators are listed.
    pub admins: bool,
    /// Whether only suspended accounts are listed.
    pub suspended: bool,
    /// Number of accounts to skip.
    pub offset: u64,
}

impl Service {
    /// Returns a page of all accounts, the newest first.
    /// Errors: the search has control characters.
    pub async fn list_accounts(&self, query: &AccountQuery, limit: u32) -> Result<Vec<ListedAccount>> {
        let search = query.search.trim().to_lowercase();
        if search.contains(char::is_control) {
            return Err(ServiceError::bad_request("the search must be a text on one line"));
        }
        let filter = AccountFilter {
            search: Some(search).filter(|text| !text.is_empty()),
            admins: query.admins,
            suspended: query.suspended,
        };
        Ok(accounts::list(&mut self.db.read().await?, &filter, limit, query.offset).await?)
    }

    /// Suspends an account. At once, its keys and sign-in links become invalid, and its browsers are signed out. Renders that
    /// the account has ordered are not cancelled. Does nothing if the account is suspended already.
    /// Errors: the actor suspends itself or the last administrator.
    pub async fn suspend_account(&self, actor: &Actor, account: &AccountId, why: &str) -> Result<()> {
        let (actor, id, why) = (actor.clone(), account.clone(), reason(why)?);
        let changed = self.write_at(move |tx, now| {
            Box::pin(async move {
                let admins = accounts::lock_admins(tx).await?;
                actor.check(tx, now).await?;
                let account = find(tx, &id).await?;
                if actor.is(&id) {
                    return Err(ServiceError::bad_request("you cannot suspend your own account"));
                }
                if account.suspended_at.is_some() {
                    return Ok(());
                }
                if account.is_admin {
                    check_not_last(admins)?;
                }
                accounts::set_suspended(tx, &id, Some(now)).await?;
                sessions::delete_all(tx, &id).await?;
                let done =
                    Done { action: AdminAction::Suspend, account: Some(&id), subject: account.email, reason: &why };
                actor.log(tx, done, now).await
            })
        });
        changed.await
    }

    /// Ends the suspension of an account. The keys of the account work again; its owner must sign in again. Does nothing if the
    /// account is not suspended.
    pub async fn reactivate_account(&self, actor: &Actor, account: &AccountId, why: &str) -> Result<()> {
        let (actor, id, why) = (actor.clone(), account.clone(), reason(why)?);
        let changed = self.write_at(move |tx, now| {
            Box::pin(async move {
                lock(tx, &id).await?;
                actor.check(tx, now).await?;
                let account = find(tx, &id).await?;
                if account.suspended_at.is_none() {
                    return Ok(());
                }
                accounts::set_suspended(tx, &id, None).await?;
                let done =
                    Done { action: AdminAction::Reactivate, account: Some(&id), subject: account.email, reason: &why };
                actor.log(tx, done, now).await
            })
        });
        changed.await
    }

    /// Makes an account an administrator of the installation, or removes this right. Does nothing if nothing would change.
    /// Errors: the last administrator would lose the right, or a suspended account would get the right.
    pub async fn set_admin(&self, actor: &Actor, account: &AccountId, is_admin: bool, why: &str) -> Result<()> {
        let (actor, id, why) = (actor.clone(), account.clone(), reason(why)?);
        let changed = self.write_at(move |tx, now| {
            Box::pin(async move {
                let admins = accounts::lock_admins(tx).await?;
                lock(tx, &id).await?;
                actor.check(tx, now).await?;
                let account = find(tx, &id).await?;
                if account.is_admin == is_admin {
                    return Ok(());
                }
                if is_admin && account.suspended_at.is_some() {
                    let message = format!("{} is suspended; end the suspension first", account.email);
                    return Err(ServiceError::bad_request(message));
                }
                if !is_admin && account.suspended_at.is_none() {
                    check_not_last(admins)?;
                }
                accounts::set_admin(tx, &id, is_admin).await?;
                let action = if is_admin { AdminAction::MakeAdmin } else { AdminAction::RemoveAdmin };
                let done = Done { action, account: Some(&id), subject: account.email, reason: &why };
                actor.log(tx, done, now).await
            })
        });
        changed.await
    }
}

/// Finds an account by its identifier.
pub(super) async fn find(conn: &mut Conn, id: &AccountId) -> Result<Account> {
    accounts::find(conn, id).await?.ok_or_else(no_account)
}

pub(super) fn no_account() -> ServiceError {
    ServiceError::new(ErrorCode::NotFound, "there is no such account")
}

/// Locks an account, so that no other administrator changes it meanwhile.
async fn lock(tx: &mut Tx, id: &AccountId) -> Result<()> {
    accounts::lock(tx, id).await?.map(drop).ok_or_else(no_account)
}

/// Returns an error if there is only one administrator who is not suspended.
fn check_not_last(admins: usize) -> Result<()> {
    if admins > 1 {
        return Ok(());
    }
    let message = "this is the last administrator; make another account an administrator first";
    Err(ServiceError::bad_request(message))
}
