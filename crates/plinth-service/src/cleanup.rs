//! Cleanup of unreferenced objects, abandoned uploads and expired rows.

use std::time::{Duration, SystemTime};

use plinth_db::{
    holds, invitations, link_secrets, outcomes, previews, rate_windows, renders, sessions, staged,
    unreferenced_objects, workers,
};
use plinth_spec::{idempotency, limits};

use crate::access::IDLE_MS;
use crate::admin::FORGOTTEN_MS;
use crate::error::{Result, ServiceError};
use crate::models::remove_orphans;
use crate::remote_previews::ROW_LIFETIME_MS;
use crate::service::Service;

/// Maximum number of prefixes, and of staged uploads, that one call deletes.
const BATCH_SIZE: u32 = 100;
/// Delay before a failed deletion is tried again, in milliseconds.
const RETRY_MS: i64 = 10 * 60 * 1000;
/// Age in milliseconds at which staged uploads are deleted: the maximum lifetime of an upload link plus the lifetime of
/// a staged file after that. No upload that counts toward the limits of its account is older.
const STAGED_LIFETIME_MS: i64 = (limits::EXPIRES_MAX_SECS + limits::STAGING_LIFETIME_SECS) * 1000;

/// Age in milliseconds at which counters of ended jobs are deleted. The pages of administrators show the last week.
const OUTCOMES_MS: i64 = 8 * 24 * 3_600_000;

/// Time in milliseconds without a write after which a partly written object counts as abandoned.
const UNFINISHED_MS: i64 = limits::STAGING_LIFETIME_SECS * 1000;

/// Result of a cleanup.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CleanupReport {
    /// Number of objects deleted from the store.
    pub objects: u64,
    /// Number of rows deleted from the database.
    pub rows: u64,
    /// Number of models that were marked as deleted, or whose file was scheduled for deletion.
    pub models: u64,
    /// Number of renders that were marked as deleted.
    pub renders: u64,
}

impl Service {
    /// Deletes files of deleted models, renders and assets of deleted workspaces, objects that are scheduled for deletion, abandoned
    /// uploads, rows of ended previews, expired sessions, link secrets and rate windows, and old reports of workers. Several machines may
    /// call this method concurrently. One call deletes a limited number of objects and rows; call the method again until it deletes
    /// nothing.
    pub async fn clean_up(&self) -> Result<CleanupReport> {
        self.windows.forget_ended(self.options.clock.read_ms(&self.db).await?);
        // These rows name no objects, so they are deleted during a hold, too.
        let deleting = self.write_at(move |tx, now| {
            Box::pin(async move {
                Ok::<_, ServiceError>(
                    previews::delete_before(tx, now - ROW_LIFETIME_MS).await?
                        + sessions::delete_expired(tx, now, now - IDLE_MS).await?,
                )
            })
        });
        let mut swept = CleanupReport { rows: deleting.await?, ..CleanupReport::default() };
        // During a hold, files remain in the store. Therefore models, renders and assets continue to count, too. The hold is checked again
        // after the claim. If a hold started in the meantime, its backup may reference the claimed objects.
        if self.is_held().await? {
            return Ok(swept);
        }
        swept.models = self.schedule_unneeded_models().await?;
        swept.renders = self.delete_renders_of_deleted_workspaces().await?;
        swept.rows += self.delete_assets_of_deleted_workspaces().await?;
        let claiming = self.write_at(move |tx, now| {
            Box::pin(async move {
                Ok::<_, ServiceError>((
                    now,
                    unreferenced_objects::claim_due(tx, now, now + RETRY_MS, BATCH_SIZE).await?,
                ))
            })
        });
        let (now, due) = claiming.await?;
        if self.is_held().await? {
            return Ok(swept);
        }
        for prefix in due {
            match self.remove_prefix(&prefix, now + RETRY_MS).await {
                Ok((objects, rows)) => {
                    swept.objects += objects;
                    swept.rows += rows;
                }
                Err(error) => {
                    tracing::warn!(prefix, error = %error, cause = ?error.cause, "objects could not be deleted; the next cleanup tries again");
                }
            }
        }
        swept.rows += self.delete_expired_rows(now).await?;
        Ok(swept)
    }

    /// Deletes abandoned uploads, expired link secrets and rate windows, and old reports of workers. Returns the number of deleted rows.
    async fn delete_expired_rows(&self, now: i64) -> Result<u64> {
        let windows =
            self.db.write(move |tx| Box::pin(async move { rate_windows::delete_ended(tx, now).await })).await?;
        let rows = self.db.write(move |tx| {
            Box::pin(async move {
                let uploads = staged::delete_before(tx, now - STAGED_LIFETIME_MS, BATCH_SIZE).await?.len() as u64;
                let keys = renders::delete_replayed_keys(tx, now - idempotency::REPLAY_MS).await?;
                holds::delete_expired(tx, now).await?;
                let secrets = link_secrets::delete_ended(tx, now).await? + invitations::delete_expired(tx, now).await?;
                let reports = workers::delete_unseen(tx, now - FORGOTTEN_MS).await?
                    + outcomes::delete_before(tx, now - OUTCOMES_MS).await?;
                Ok::<_, ServiceError>(uploads + keys + secrets + reports)
            })
        });
        Ok(windows + rows.await?)
    }

    /// Deletes all objects under a prefix, then removes the prefix from the schedule. After a crash between these two
    /// steps, the next cleanup repeats both steps without harm. Returns the numbers of deleted objects and rows.
    async fn remove_prefix(&self, prefix: &str, retry_at: i64) -> Result<(u64, u64)> {
        let removed = self.store.delete_prefix(prefix).await?;
        let prefix = prefix.to_owned();
        let forgotten = self.db.write(move |tx| {
            Box::pin(async move { unreferenced_objects::delete_claimed(tx, &prefix, retry_at).await })
        });
        Ok((removed, forgotten.await?))
    }

    /// Deletes the partly received files of servers that were killed. Returns the number of deleted files.
    pub async fn delete_orphaned_uploads(&self) -> Result<usize> {
        let folder = self.options.incoming.clone();
        let removing = tokio::task::spawn_blocking(move || remove_orphans(&folder));
        Ok(removing.await.map_err(ServiceError::internal)??)
    }

    /// Deletes the partly written objects of killed processes from a local store. Returns the number of deleted
    /// objects. Lists all files of the store, so it should run rarely.
    pub async fn delete_unfinished_objects(&self) -> Result<u64> {
        let now = self.options.clock.read_ms(&self.db).await?;
        let since = Duration::from_millis(u64::try_from(now - UNFINISHED_MS).unwrap_or_default());
        Ok(self.store.remove_unfinished(SystemTime::UNIX_EPOCH + since).await?)
    }
}
