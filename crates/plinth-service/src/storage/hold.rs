//! Keeping everything in the store while it is copied.

use std::time::Duration;

use plinth_db::holds;
use tokio::task::JoinHandle;

use crate::error::{Result, ServiceError};
use crate::ids::random_text;
use crate::service::Service;

/// Renewals of a hold before it expires.
const RENEWALS: u32 = 10;
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
                    tracing::warn!(error = %error, "the hold of the store could not be renewed");
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
    pub async fn is_held(&self) -> Result<bool> {
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
