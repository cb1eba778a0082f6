//! Clearing away what nobody needs any more.

use std::time::{Duration, SystemTime};

use plinth_db::{garbage, holds, rate_windows, sessions, staged};
use plinth_spec::limits;

use crate::access::IDLE_MS;
use crate::error::{Result, ServiceError};
use crate::models::remove_orphans;
use crate::service::Service;

/// Prefixes and uploads cleared in one go.
const AT_ONCE: u32 = 100;
/// Objects that could not be removed are tried again after this time.
const AGAIN_MS: i64 = 10 * 60 * 1000;
/// Staged uploads are known for this long after their link may have been used for the last time.
const STAGED_MS: i64 = (limits::EXPIRES_MAX_SECS + limits::STAGING_LIFETIME_SECS) * 1000;

/// An object that nobody has written to for this long is not being put any more.
const UNFINISHED_MS: i64 = limits::STAGING_LIFETIME_SECS * 1000;

/// What was cleared away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Objects of the store.
    pub objects: u64,
    /// Rows.
    pub rows: u64,
}

impl Service {
    /// Removes objects that no row names any more, uploads that were never finished, and what has run out. Every machine
    /// may do this; it is to be called again while it clears anything.
    pub async fn sweep(&self) -> Result<Swept> {
        // Looked at again after taking: what is marked after a hold began may be named in the copy that is being made.
        if self.is_held().await? {
            return Ok(Swept::default());
        }
        let taken = self.write_at(move |tx, now| {
            Box::pin(
                async move { Ok::<_, ServiceError>((now, garbage::take_due(tx, now, now + AGAIN_MS, AT_ONCE).await?)) },
            )
        });
        let (now, due) = taken.await?;
        if self.is_held().await? {
            return Ok(Swept::default());
        }
        let mut swept = Swept::default();
        for prefix in due {
            match self.remove_prefix(&prefix, now + AGAIN_MS).await {
                Ok(objects) => swept.objects += objects,
                Err(error) => {
                    tracing::warn!(prefix, error = %error, cause = ?error.cause, "objects cannot be removed now");
                }
            }
        }
        self.windows.forget_ended(now);
        let rows = self.db.write(move |tx| {
            Box::pin(async move {
                let uploads = staged::delete_before(tx, now - STAGED_MS, AT_ONCE).await?.len() as u64;
                let windows = rate_windows::delete_ended(tx, now).await?;
                holds::delete_expired(tx, now).await?;
                Ok::<_, ServiceError>(uploads + windows + sessions::delete_expired(tx, now, now - IDLE_MS).await?)
            })
        });
        swept.rows = rows.await?;
        Ok(swept)
    }

    /// Removes what lies under a prefix, then its mark: a crash in between leaves the mark, and a later sweep finds nothing.
    async fn remove_prefix(&self, prefix: &str, again_at: i64) -> Result<u64> {
        let removed = self.store.delete_prefix(prefix).await?;
        let prefix = prefix.to_owned();
        let forgotten =
            self.db.write(move |tx| Box::pin(async move { garbage::delete_taken(tx, &prefix, again_at).await }));
        forgotten.await?;
        Ok(removed)
    }

    /// Removes files that arrived at servers which were killed meanwhile. Returns how many.
    pub async fn sweep_incoming(&self) -> Result<usize> {
        let folder = self.options.incoming.clone();
        let removing = tokio::task::spawn_blocking(move || remove_orphans(&folder));
        Ok(removing.await.map_err(ServiceError::internal)??)
    }

    /// Removes what killed processes left of objects that they were storing. Returns how many files that were. Reads the
    /// names of all local files, so it is not for every sweep.
    pub async fn sweep_unfinished(&self) -> Result<u64> {
        let now = self.options.clock.now_ms(&mut self.db.read().await?).await?;
        let since = Duration::from_millis(u64::try_from(now - UNFINISHED_MS).unwrap_or_default());
        Ok(self.store.remove_unfinished(SystemTime::UNIX_EPOCH + since).await?)
    }
}
