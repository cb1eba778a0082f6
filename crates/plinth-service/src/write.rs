//! Runs transactions with the current time, and stores files together with the row that references them.

use std::path::Path;
use std::time::Duration;

use futures_util::future::BoxFuture;
use plinth_db::{Db, DbError, Tx, accounts, unreferenced_objects};
use plinth_spec::ErrorCode;
use plinth_spec::id::AccountId;
use plinth_spec::limits;
use plinth_store::{ObjectKey, StoreError};
use tracing::Instrument as _;

use crate::access::{Caller, check_current_rights, check_is_signed_in};
use crate::clock::Clock;
use crate::error::{Result, ServiceError};
use crate::fair_semaphore::FairPermit;
use crate::service::Service;

/// Time in milliseconds after which a stored object is deleted if no row references it.
pub(crate) const UNREFERENCED_MS: i64 = limits::STAGING_LIFETIME_SECS * 1000;

/// Maximum time in seconds that a request waits for other requests of this process that need the lock of the same account.
const TURN_SECS: u64 = 30;

/// Result of inserting the row for stored objects.
pub(crate) enum Inserted<T> {
    /// The row was inserted and references the objects.
    Referenced(T),
    /// No row references the objects, because another request stored the same file first.
    Unneeded(T),
}

/// Rights that a caller must have when its transaction runs.
#[derive(Clone, Copy)]
enum Rights {
    /// The caller's key or session is valid.
    SignedIn,
    /// The caller's key or session is valid, and the caller is an editor of its workspace.
    Editor,
}

impl Service {
    /// Runs `work` in a transaction and passes it the current Unix time in milliseconds.
    /// Errors: the errors of `work` and of the database.
    pub(crate) async fn write_at<T, E, F>(&self, work: F) -> std::result::Result<T, E>
    where
        F: for<'t> FnOnce(&'t mut Tx, i64) -> BoxFuture<'t, std::result::Result<T, E>> + Send + 'static,
        T: Send + 'static,
        E: From<DbError> + Send + 'static,
    {
        self.write_on(&self.db, work).await
    }

    /// Runs `work` in a transaction as [`write_at`](Self::write_at) does, on the connections that are reserved for workers.
    pub(crate) async fn write_lease<T, E, F>(&self, work: F) -> std::result::Result<T, E>
    where
        F: for<'t> FnOnce(&'t mut Tx, i64) -> BoxFuture<'t, std::result::Result<T, E>> + Send + 'static,
        T: Send + 'static,
        E: From<DbError> + Send + 'static,
    {
        self.write_on(&self.leases, work).await
    }

    /// Runs `work` in a transaction as [`write_lease`](Self::write_lease) does, but passes it the clock. `work` must read the time after
    /// it has locked the rows that it changes. It may wait for a lock for seconds, and clients that list the latest changes meanwhile would
    /// miss a change with an earlier time.
    pub(crate) async fn write_lease_with_clock<T, E, F>(&self, work: F) -> std::result::Result<T, E>
    where
        F: for<'t> FnOnce(&'t mut Tx, Clock) -> BoxFuture<'t, std::result::Result<T, E>> + Send + 'static,
        T: Send + 'static,
        E: From<DbError> + Send + 'static,
    {
        let clock = self.options.clock.clone();
        self.leases.write(move |tx| work(tx, clock)).await
    }

    async fn write_on<T, E, F>(&self, db: &Db, work: F) -> std::result::Result<T, E>
    where
        F: for<'t> FnOnce(&'t mut Tx, i64) -> BoxFuture<'t, std::result::Result<T, E>> + Send + 'static,
        T: Send + 'static,
        E: From<DbError> + Send + 'static,
    {
        let clock = self.options.clock.clone();
        let written = db.write(move |tx| {
            Box::pin(async move {
                let now = clock.next_ms(tx).await?;
                work(tx, now).await
            })
        });
        written.await
    }

    /// Runs `work` in a transaction that holds the lock of an account. Reads the Unix time in milliseconds after the
    /// lock was obtained, and passes it to `work`. Requests of this process that wait for the same lock hold no
    /// database connection, so many requests of one account cannot use up the connections.
    /// Errors: the errors of `work` and of the database; `rate_limited` if the request waited 30 s for other requests.
    pub(crate) async fn write_locked<T, F>(&self, account: AccountId, work: F) -> Result<T>
    where
        F: for<'t> FnOnce(&'t mut Tx, i64) -> BoxFuture<'t, Result<T>> + Send + 'static,
        T: Send + 'static,
    {
        let clock = self.options.clock.clone();
        let turn = self.writer_turn(&account).await?;
        let written = self.db.write(move |tx| {
            // The permit is released after the commit or the rollback.
            tx.after_commit(move || drop(turn));
            Box::pin(async move {
                accounts::lock(tx, &account).await?;
                let now = clock.next_ms(tx).await?;
                work(tx, now).await
            })
        });
        written.await
    }

    /// Runs `work` as [`write_locked`](Self::write_locked) does, on behalf of a caller, whose key or session must still be
    /// valid. A request is authenticated before its body is received; meanwhile its key can be revoked, or its session ended.
    /// Every use case that changes data for a caller uses this method, [`write_in_workspace`](Self::write_in_workspace) or
    /// [`store_referenced`](Self::store_referenced), or checks the caller as an `Actor`.
    pub(crate) async fn write_as<T, F>(&self, caller: &Caller, locked: AccountId, work: F) -> Result<T>
    where
        F: for<'t> FnOnce(&'t mut Tx, i64) -> BoxFuture<'t, Result<T>> + Send + 'static,
        T: Send + 'static,
    {
        Box::pin(self.write_checked(caller, Rights::SignedIn, locked, work)).await
    }

    /// Runs `work` as [`write_as`](Self::write_as) does. The caller must also still be an editor of its workspace.
    pub(crate) async fn write_in_workspace<T, F>(&self, caller: &Caller, locked: AccountId, work: F) -> Result<T>
    where
        F: for<'t> FnOnce(&'t mut Tx, i64) -> BoxFuture<'t, Result<T>> + Send + 'static,
        T: Send + 'static,
    {
        Box::pin(self.write_checked(caller, Rights::Editor, locked, work)).await
    }

    async fn write_checked<T, F>(&self, caller: &Caller, needed: Rights, locked: AccountId, work: F) -> Result<T>
    where
        F: for<'t> FnOnce(&'t mut Tx, i64) -> BoxFuture<'t, Result<T>> + Send + 'static,
        T: Send + 'static,
    {
        let caller = caller.clone();
        let written = self.write_locked(locked, move |tx, now| {
            Box::pin(async move {
                match needed {
                    Rights::SignedIn => check_is_signed_in(tx, &caller, now).await?,
                    Rights::Editor => check_current_rights(tx, &caller, now).await?,
                }
                work(tx, now).await
            })
        });
        written.await
    }

    /// Waits until no other request of this process holds the lock of the account.
    async fn writer_turn(&self, account: &AccountId) -> Result<FairPermit> {
        let waiting = self.writers.acquire(account, 1);
        let granted = tokio::time::timeout(Duration::from_secs(TURN_SECS), waiting).await;
        granted.unwrap_or_else(|_late| {
            let message = "too many requests of this account at the same time; send fewer";
            let error = ServiceError::new(ErrorCode::RateLimited, message);
            Err(ServiceError { retry_after_secs: Some(TURN_SECS), ..error })
        })
    }

    /// Stores files and then calls `insert`, which inserts the row that references them. All keys must begin with
    /// `prefix`. The prefix is scheduled for deletion before the files are stored. The transaction of the row removes
    /// the prefix from the schedule. Therefore a crash leaves no unreferenced files behind. `insert` runs with the
    /// paying account locked, after the rights of the caller were checked again, and must repeat the other checks that
    /// were made before the files were stored. Nothing is stored if a disk would then be almost full. If the result is
    /// `Unneeded`, or an error with a status below 500, the files are deleted at once.
    pub(crate) async fn store_referenced<T, F>(
        &self,
        caller: &Caller,
        prefix: String,
        files: &[(ObjectKey<'_>, &Path)],
        insert: F,
    ) -> Result<T>
    where
        F: for<'t> FnOnce(&'t mut Tx, i64) -> BoxFuture<'t, Result<Inserted<T>>> + Send + 'static,
        T: Send + 'static,
    {
        let space = self.space_for_files(files.iter().map(|(_key, file)| *file))?;
        let marked = prefix.clone();
        let marking = self.write_at(move |tx, now| {
            Box::pin(async move {
                Ok::<_, ServiceError>(unreferenced_objects::insert(tx, &marked, now + UNREFERENCED_MS).await?)
            })
        });
        marking.await?;
        for (key, file) in files {
            let storing = tracing::info_span!(target: plinth_trace::TARGET, "store file");
            self.store_file(key, file).instrument(storing).await?;
        }
        drop(space);
        let scheduled = prefix.clone();
        let inserting = self.write_in_workspace(caller, caller.payer_id.clone(), move |tx, now| {
            Box::pin(async move {
                let inserted = insert(tx, now).await?;
                if matches!(inserted, Inserted::Referenced(_)) {
                    unreferenced_objects::delete(tx, &scheduled).await?;
                }
                Ok(inserted)
            })
        });
        let inserted = inserting.await;
        let is_unreferenced = match &inserted {
            Ok(Inserted::Referenced(_)) => false,
            Ok(Inserted::Unneeded(_)) => true,
            // After an internal error, the files are kept: the row may exist, because the response of the database may
            // have been lost.
            Err(error) => error.status < 500,
        };
        if is_unreferenced {
            self.remove_marked(&prefix).await;
        }
        match inserted? {
            Inserted::Referenced(made) | Inserted::Unneeded(made) => Ok(made),
        }
    }

    /// Stores a file. Stores it once more if S3 has forgotten its upload, so that the client need not send the file again.
    async fn store_file(&self, key: &ObjectKey<'_>, file: &Path) -> Result<()> {
        let put = || self.store.put_file(key, file);
        let stored = match put().await {
            Err(error @ StoreError::UploadLost { .. }) => {
                tracing::warn!(error = %error, "a file is stored again");
                put().await
            }
            stored => stored,
        };
        Ok(stored.map(drop)?)
    }
}
