//! Prevents deletions from the store while a backup copies it.

use std::time::Duration;

use plinth_db::holds;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::error::{Result, ServiceError};
use crate::ids::random_text;
use crate::service::Service;

/// Number of renewals within the time after which a hold expires.
const RENEWALS: u32 = 10;
const ID_CHARS: usize = 16;

/// A deletion hold. While this value exists, no machine deletes objects from the store, unless the hold is lost because
/// it could not be renewed in time.
#[derive(Debug)]
pub struct Hold {
    service: Service,
    id: String,
    renewing: JoinHandle<()>,
    /// Cancelled when a renewal finds that the hold has expired.
    lost: CancellationToken,
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.renewing.abort();
    }
}

impl Service {
    /// Starts a hold. A backup that copies the database after this call finds every referenced object in the store
    /// until the hold ends.
    pub async fn hold_storage(&self) -> Result<Hold> {
        let id = random_text(ID_CHARS);
        let (begun, hold_ms) = (id.clone(), self.hold_ms());
        let beginning = self.write_at(move |tx, now| {
            Box::pin(async move { Ok::<_, ServiceError>(holds::insert(tx, &begun, now + hold_ms).await?) })
        });
        beginning.await?;
        let (service, renewed) = (self.clone(), id.clone());
        let pause = Duration::from_secs(self.options.hold_secs.into()) / RENEWALS;
        let lost = CancellationToken::new();
        let expired = lost.clone();
        let renewing = tokio::spawn(async move {
            while !expired.is_cancelled() {
                tokio::time::sleep(pause).await;
                match service.renew_hold(renewed.clone()).await {
                    Ok(true) => {}
                    Ok(false) => expired.cancel(),
                    Err(error) => tracing::warn!(error = %error, "renewing the deletion hold failed"),
                }
            }
        });
        Ok(Hold { service: self.clone(), id, renewing, lost })
    }

    pub(crate) fn hold_ms(&self) -> i64 {
        i64::from(self.options.hold_secs) * 1000
    }

    async fn renew_hold(&self, id: String) -> Result<bool> {
        let hold_ms = self.hold_ms();
        let renewing = self.write_at(move |tx, now| {
            Box::pin(async move { Ok::<_, ServiceError>(holds::renew(tx, &id, now, now + hold_ms).await?) })
        });
        renewing.await
    }

    /// Deletes all objects under a prefix that is scheduled for deletion. Does nothing while a hold exists. Failures
    /// are logged but not returned, because the prefix stays scheduled.
    pub(crate) async fn remove_marked(&self, prefix: &str) {
        let removing = async {
            if !self.is_held().await? {
                self.store.delete_prefix(prefix).await?;
            }
            Ok::<_, ServiceError>(())
        };
        if let Err(error) = removing.await {
            tracing::warn!(error = %error, cause = ?error.cause, "deleted files remain in the store until the next cleanup");
        }
    }

    /// Returns whether a hold exists that has not expired.
    pub async fn is_held(&self) -> Result<bool> {
        let mut conn = self.db.read().await?;
        let now = self.options.clock.now_ms(&mut conn).await?;
        Ok(holds::is_held(&mut conn, now).await?)
    }
}

impl Hold {
    /// Waits until a renewal finds that the hold has expired. Objects may have been deleted after its expiry.
    pub async fn lost(&self) {
        self.lost.cancelled().await;
    }

    /// Ends the hold. Returns false if the hold had expired already; objects may have been deleted after its expiry.
    pub async fn release(self) -> Result<bool> {
        let id = self.id.clone();
        let releasing = self.service.write_at(move |tx, now| {
            Box::pin(async move { Ok::<_, ServiceError>(holds::delete(tx, &id, now).await?) })
        });
        releasing.await
    }
}
