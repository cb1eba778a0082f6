//! Worker reports about the progress of renders.

use std::time::Duration;

use plinth_db::progress::{self, Progress};

use super::claim::Claim;
use crate::error::{Result, ServiceError};
use crate::service::Service;

impl Service {
    /// Stores the progress of all renders of one job: the fraction of the work that is done, and the time until all frames
    /// are drawn. The fraction of an attempt never decreases: while a job that draws all frames again has done less than before,
    /// only the time changes. Has no effect on a render whose lease is lost.
    pub async fn report_progress(&self, claims: &[Claim], fraction: f64, left: Option<Duration>) -> Result<()> {
        let leases: Vec<_> = claims.iter().map(|claim| (claim.render.id.clone(), claim.token.clone())).collect();
        let left_ms = left.map(|left| i64::try_from(left.as_millis()).unwrap_or(i64::MAX));
        let stored = self.write_lease(move |tx, now| {
            Box::pin(async move {
                let ends_at = left_ms.map(|left| now.saturating_add(left));
                for (id, token) in &leases {
                    progress::store(tx, id, token, Progress { fraction, ends_at }).await?;
                }
                Ok::<_, ServiceError>(())
            })
        });
        stored.await
    }
}
