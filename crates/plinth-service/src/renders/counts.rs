//! Maintenance of the numbers of renders in each state, which lists return as their totals.

use plinth_db::render_counts::{self, CHANGES_AT_ONCE};

use crate::error::Result;
use crate::service::Service;

impl Service {
    /// Adds the recorded changes of the numbers of renders to these numbers, so that few rows must be read to count. Returns how many
    /// it added.
    pub async fn add_render_count_changes(&self) -> Result<u64> {
        let mut all = 0;
        loop {
            let added = self.db.write(|tx| Box::pin(async move { render_counts::add_changes(tx).await })).await?;
            all += added;
            if added < CHANGES_AT_ONCE {
                return Ok(all);
            }
        }
    }

    /// Corrects the numbers of renders of each workspace for which one is wrong, because rows were written while triggers were switched
    /// off. Returns the number of corrected workspaces.
    pub async fn recount_renders(&self) -> Result<usize> {
        let workspaces = render_counts::find_miscounted(&mut self.db.read().await?).await?;
        let found = workspaces.len();
        for workspace in workspaces {
            self.db.write(move |tx| Box::pin(async move { render_counts::recount(tx, &workspace).await })).await?;
        }
        Ok(found)
    }
}
