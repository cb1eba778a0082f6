//! How much work waits.

use plinth_db::renders;
use plinth_spec::state::RenderStatus;

use crate::error::Result;
use crate::service::Service;

/// How much work waits or is being done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queue {
    /// Renders in each state that is not the last one; every such state is there.
    pub renders: Vec<(RenderStatus, u64)>,
    /// Finished renders that wait for their packaging.
    pub packagings: u64,
}

impl Service {
    /// How much work waits or is being done, on all machines together.
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
