//! Maintenance of the stored render counts: the number of renders in each state. Lists of renders read their total from
//! these counts.

use plinth_db::render_counts::{self, CHANGES_AT_ONCE};

use plinth_spec::id::WorkspaceId;

use crate::error::Result;
use crate::service::Service;

/// Number of workspaces that are listed at a time.
const CHECKED_AT_ONCE: u32 = 500;

impl Service {
    /// Adds the recorded changes of render counts to the counts, so that reading a count reads few rows. Returns the number of
    /// changes.
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

    /// Corrects the render counts of each workspace that has a wrong count. Counts become wrong if rows are written while the
    /// triggers of the database are switched off. An error of one workspace is only logged. Returns the number of corrected
    /// workspaces.
    pub async fn recount_renders(&self) -> Result<usize> {
        let (mut corrected, mut last) = (0, None);
        loop {
            let page =
                render_counts::list_workspaces(&mut self.db.read().await?, last.as_ref(), CHECKED_AT_ONCE).await?;
            for workspace in &page {
                match self.recount_workspace(workspace).await {
                    Ok(was_wrong) => corrected += usize::from(was_wrong),
                    Err(error) => {
                        tracing::error!(workspace.id = %workspace, %error, cause = ?error.cause, "the numbers of renders of a workspace could not be checked");
                    }
                }
            }
            last = match page.into_iter().next_back() {
                Some(workspace) => Some(workspace),
                None => return Ok(corrected),
            };
        }
    }

    /// Corrects the render counts of a workspace. Returns whether a count was wrong.
    async fn recount_workspace(&self, workspace: &WorkspaceId) -> Result<bool> {
        if !render_counts::is_miscounted(&mut self.db.read().await?, workspace).await? {
            return Ok(false);
        }
        let workspace = workspace.clone();
        self.db.write(move |tx| Box::pin(async move { render_counts::recount(tx, &workspace).await })).await?;
        Ok(true)
    }
}
