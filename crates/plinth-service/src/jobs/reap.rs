//! Collecting what dead workers held.

use plinth_db::accounts;
use plinth_db::leases::{self, Lost};
use plinth_spec::FailureCode;
use plinth_spec::state::HlsStatus;

use super::packaging::{event_of_death, move_packaging};
use super::report::fail;
use crate::error::{Result, ServiceError};
use crate::service::Service;

/// Renders looked at in one go.
const AT_ONCE: u32 = 100;

impl Service {
    /// Ends renders whose worker has not been heard of for longer than its lease, and refunds them. Returns how many.
    /// Every machine may do this; each render is ended once.
    pub async fn reap(&self) -> Result<usize> {
        let mut conn = self.db.read().await?;
        let now = self.options.clock.now_ms(&mut conn).await?;
        let lost = leases::list_lost(&mut conn, now, AT_ONCE).await?;
        drop(conn);
        let mut reaped = 0;
        for one in lost {
            reaped += usize::from(self.reap_one(one).await?);
        }
        Ok(reaped)
    }

    async fn reap_one(&self, lost: Lost) -> Result<bool> {
        let clock = self.options.clock.clone();
        let reaped = self.db.write(move |tx| {
            Box::pin(async move {
                let now = clock.now_ms(tx).await?;
                let Lost { render, token } = lost;
                accounts::lock(tx, &render.payer_id).await?;
                // The worker may have been heard of in between: then its lease is a later one.
                if !leases::is_lost(tx, &render.id, &token, now).await? {
                    return Ok(false);
                }
                let ended = if render.hls_status == HlsStatus::Processing {
                    move_packaging(tx, &render, &token, event_of_death(&render), now).await?
                } else {
                    fail(tx, &render, &token, FailureCode::Reaped, "the render node stopped responding", now).await?
                };
                Ok::<_, ServiceError>(ended.is_ok())
            })
        });
        reaped.await
    }
}
