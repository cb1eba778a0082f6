//! Transactions that know what time it is, and objects that become visible with their row.

use std::path::Path;

use futures_util::future::BoxFuture;
use plinth_db::{DbError, Tx, accounts, garbage};
use plinth_spec::id::AccountId;
use plinth_spec::limits;
use plinth_store::ObjectKey;

use crate::error::{Result, ServiceError};
use crate::service::Service;

/// A stored object that no row names after this long is removed.
pub(crate) const UNNAMED_MS: i64 = limits::STAGING_LIFETIME_SECS * 1000;

/// What an insertion made of stored objects.
pub(crate) enum Inserted<T> {
    /// A row names them now.
    Named(T),
    /// They are not needed: somebody else was faster. They keep their mark and are removed.
    Unneeded(T),
}

impl Service {
    /// Runs `work` in one transaction, with its time in milliseconds since 1970.
    /// Errors: what `work` returns, or what the database says.
    pub(crate) async fn write_at<T, E, F>(&self, work: F) -> std::result::Result<T, E>
    where
        F: for<'t> FnOnce(&'t mut Tx, i64) -> BoxFuture<'t, std::result::Result<T, E>> + Send + 'static,
        T: Send + 'static,
        E: From<DbError> + Send + 'static,
    {
        let clock = self.options.clock.clone();
        let written = self.db.write(move |tx| {
            Box::pin(async move {
                let now = clock.now_ms(tx).await?;
                work(tx, now).await
            })
        });
        written.await
    }

    /// Runs `work` in one transaction that has locked an account, with the time at which it got the lock.
    /// Errors: what `work` returns, or what the database says.
    pub(crate) async fn write_locked<T, F>(&self, account: AccountId, work: F) -> Result<T>
    where
        F: for<'t> FnOnce(&'t mut Tx, i64) -> BoxFuture<'t, Result<T>> + Send + 'static,
        T: Send + 'static,
    {
        let clock = self.options.clock.clone();
        let written = self.db.write(move |tx| {
            Box::pin(async move {
                accounts::lock(tx, &account).await?;
                let now = clock.now_ms(tx).await?;
                work(tx, now).await
            })
        });
        written.await
    }

    /// Stores files, all of whose keys begin with `prefix`, and lets `insert` name them by a row. The prefix is marked for
    /// removal first and the mark is deleted with the insertion, so that a crash at any point leaves nothing for ever.
    /// `insert` has the lock of the account: it looks once more at what was checked before the files were stored.
    pub(crate) async fn store_named<T, F>(
        &self,
        account: &AccountId,
        prefix: String,
        files: &[(ObjectKey<'_>, &Path)],
        insert: F,
    ) -> Result<T>
    where
        F: for<'t> FnOnce(&'t mut Tx, i64) -> BoxFuture<'t, Result<Inserted<T>>> + Send + 'static,
        T: Send + 'static,
    {
        let marked = prefix.clone();
        let marking = self.write_at(move |tx, now| {
            Box::pin(async move { Ok::<_, ServiceError>(garbage::insert(tx, &marked, now + UNNAMED_MS).await?) })
        });
        marking.await?;
        for (key, file) in files {
            self.store.put_file(key, file).await?;
        }
        let inserting = self.write_locked(account.clone(), move |tx, now| {
            Box::pin(async move {
                match insert(tx, now).await? {
                    Inserted::Named(made) => {
                        garbage::delete(tx, &prefix).await?;
                        Ok(made)
                    }
                    Inserted::Unneeded(made) => Ok(made),
                }
            })
        });
        inserting.await
    }
}
