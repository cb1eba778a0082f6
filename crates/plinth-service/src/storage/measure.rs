//! Corrects sizes that a program of an earlier version does not know: of finished renders, and of workspaces.

use plinth_db::storage;

use crate::error::Result;
use crate::jobs::RenderFiles;
use crate::service::Service;

/// Maximum number of renders per call.
const BATCH_SIZE: u32 = 500;

impl Service {
    /// Stores the sizes of finished renders that have none. Returns the number of renders that were read; call it again until that is
    /// 0. The sizes of their streams are not known and are left out. A render whose list of files cannot be read counts as empty.
    pub async fn measure_renders(&self) -> Result<usize> {
        let renders = storage::list_unmeasured(&mut self.db.read().await?, BATCH_SIZE).await?;
        let read = renders.len();
        for render in renders {
            let bytes = match RenderFiles::of(&render) {
                Ok(files) => files.stored_bytes(),
                Err(error) => {
                    tracing::error!(render = %render.id, error = %error, cause = ?error.cause, "the list of files of a render cannot be read; its size counts as 0");
                    0
                }
            };
            let measuring = self.db.write(move |tx| {
                Box::pin(async move { storage::measure(tx, &render.id, &render.workspace_id, bytes).await })
            });
            measuring.await?;
        }
        Ok(read)
    }

    /// Corrects the size of the files of each workspace for which it is wrong, because a program of an earlier version has stored
    /// or deleted files. Returns the number of corrected workspaces.
    pub async fn recount_storage(&self) -> Result<usize> {
        let workspaces = storage::find_miscounted(&mut self.db.read().await?).await?;
        let found = workspaces.len();
        for workspace in workspaces {
            let counting = self.db.write(move |tx| Box::pin(async move { storage::recount(tx, &workspace).await }));
            counting.await?;
        }
        Ok(found)
    }
}
