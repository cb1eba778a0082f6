//! Keeping everything in the store while it is copied.

use std::time::Duration;

use plinth_db::holds;
use tokio::task::JoinHandle;

use crate::error::{Result, ServiceError};
use crate::ids::random_text;
use crate::service::Service;

/// A hold whose process died ends after this time.
const HOLD_MS: i64 = 10 * 60 * 1000;
/// Time between two renewals.
const RENEW_EVERY: Duration = Duration::from_mins(1);
const ID_CHARS: usize = 16;

/// While this lives, nothing is removed from the store, on any machine.
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
    /// Begins a hold. What is copied of the database from now on names objects that stay until the hold ends.
    pub async fn hold_storage(&self) -> Result<Hold> {
        let id = random_text(ID_CHARS);
        let begun = id.clone();
        let beginning = self.write_at(move |tx, now| {
            Box::pin(async move { Ok::<_, ServiceError>(holds::insert(tx, &begun, now + HOLD_MS).await?) })
        });
        beginning.await?;
        let (service, renewed) = (self.clone(), id.clone());
        let renewing = tokio::spawn(async move {
            loop {
                tokio::time::sleep(RENEW_EVERY).await;
                if let Err(error) = service.renew_hold(renewed.clone()).await {
                    tracing::warn!(error = %error, "the hold of the store could not be renewed");
                }
            }
        });
        Ok(Hold { service: self.clone(), id, renewing })
    }

    async fn renew_hold(&self, id: String) -> Result<bool> {
        let renewing = self.write_at(move |tx, now| {
            Box::pin(async move { Ok::<_, ServiceError>(holds::renew(tx, &id, now, now + HOLD_MS).await?) })
        });
        renewing.await
    }

    /// Removes what lies under a prefix that is marked for removal, unless the store is held. A failure is logged only: the
    /// mark stays.
    pub(crate) async fn remove_marked(&self, prefix: &str) {
        let removing = async {
            if !self.is_held().await? {
                self.store.delete_prefix(prefix).await?;
            }
            Ok::<_, ServiceError>(())
        };
        if let Err(error) = removing.await {
            tracing::warn!(error = %error, cause = ?error.cause, "files that were deleted stay until the next cleanup");
        }
    }

    /// Whether somebody holds the store.
    pub(crate) async fn is_held(&self) -> Result<bool> {
        let mut conn = self.db.read().await?;
        let now = self.options.clock.now_ms(&mut conn).await?;
        Ok(holds::is_held(&mut conn, now).await?)
    }
}

impl Hold {
    /// Ends it. False: it had run out meanwhile, and something may have been removed.
    pub async fn release(self) -> Result<bool> {
        let id = self.id.clone();
        let releasing = self.service.write_at(move |tx, now| {
            Box::pin(async move { Ok::<_, ServiceError>(holds::delete(tx, &id, now).await?) })
        });
        releasing.await
    }
}
