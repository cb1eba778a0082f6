//! Length of the work queue.

use plinth_db::renders;
use plinth_spec::state::RenderStatus;

use crate::error::Result;
use crate::service::Service;

/// Number of queued and running jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queue {
    /// Number of renders in each non-final state. States without renders are included.
    pub renders: Vec<(RenderStatus, u64)>,
    /// Number of finished renders whose HLS packaging is queued.
    pub packagings: u64,
}

impl Service {
    /// Counts the queued jobs, and the running jobs of all machines.
    pub async fn queue(&self) -> Result<Queue> {
        let mut conn = self.db.read().await?;
        let counted = renders::count_unfinished(&mut conn).await?;
        let states = RenderStatus::ALL.iter().filter(|status| !status.is_final());
        let in_state = |status: RenderStatus| counted.iter().filter(|(s, _)| *s == status).map(|(_, n)| n).sum();
        Ok(Queue {
            renders: states.map(|status| (*status, in_state(*status))).collect(),
            packagings: renders::count_unpackaged(&mut conn).await?,
        })
    }
}
