//! Prevents deletions from the store while a backup copies it.

use std::time::Duration;

use plinth_db::holds;
use tokio::task::JoinHandle;

use crate::error::{Result, ServiceError};
use crate::ids::random_text;
use crate::service::Service;

/// Number of renewals before a hold would expire.
const RENEWALS: u32 = 10;
const ID_CHARS: usize = 16;

/// While this value exists, no machine deletes anything from the store.
#[derive(Debug)]
pub struct Hold {
    service: Service,
    id: String,
    renewing: JoinHandle<()>,
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.renewing.abort();
    }
}

impl Service {
    /// Starts a hold. Objects referenced by any copy of the database made from now on remain until the hold ends.
    pub async fn hold_storage(&self) -> Result<Hold> {
        let id = random_text(ID_CHARS);
        let (begun, hold_ms) = (id.clone(), self.hold_ms());
        let beginning = self.write_at(move |tx, now| {
            Box::pin(async move { Ok::<_, ServiceError>(holds::insert(tx, &begun, now + hold_ms).await?) })
        });
        beginning.await?;
        let (service, renewed) = (self.clone(), id.clone());
        let pause = Duration::from_secs(self.options.hold_secs.into()) / RENEWALS;
        let renewing = tokio::spawn(async move {
            loop {
                tokio::time::sleep(pause).await;
                if let Err(error) = service.renew_hold(renewed.clone()).await {
                    tracing::warn!(error = %error, "renewing the deletion hold failed");
                }
            }
        });
        Ok(Hold { service: self.clone(), id, renewing })
    }

    fn hold_ms(&self) -> i64 {
        i64::from(self.options.hold_secs) * 1000
    }

    async fn renew_hold(&self, id: String) -> Result<bool> {
        let hold_ms = self.hold_ms();
        let renewing = self.write_at(move |tx, now| {
            Box::pin(async move { Ok::<_, ServiceError>(holds::renew(tx, &id, now, now + hold_ms).await?) })
        });
        renewing.await
    }

    /// Deletes all objects under a prefix that is scheduled for deletion, unless there is a hold. Failures are only logged,
    /// because the prefix stays scheduled.
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

    /// Returns whether there is an active hold.
    pub async fn is_held(&self) -> Result<bool> {
        let mut conn = self.db.read().await?;
        let now = self.options.clock.now_ms(&mut conn).await?;
        Ok(holds::is_held(&mut conn, now).await?)
    }
}

impl Hold {
    /// Ends the hold. Returns false if it had expired, so that objects may have been deleted in the meantime.
    pub async fn release(self) -> Result<bool> {
        let id = self.id.clone();
        let releasing = self.service.write_at(move |tx, now| {
            Box::pin(async move { Ok::<_, ServiceError>(holds::delete(tx, &id, now).await?) })
        });
        releasing.await
    }
}
