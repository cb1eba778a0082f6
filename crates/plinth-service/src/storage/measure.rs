//! Corrects the stored sizes of finished renders and of workspaces, which earlier versions of the program do not maintain.

use plinth_db::storage;

use crate::error::Result;
use crate::jobs::RenderFiles;
use crate::service::Service;

/// Maximum number of renders per call.
const BATCH_SIZE: u32 = 500;

impl Service {
    /// Stores the sizes of finished renders whose size is not stored. Reads a limited number of renders and returns this number;
    /// call the method again until it returns 0. The stored size does not include the HLS streams, whose sizes are not known.
    /// A render whose list of files cannot be read gets the size 0.
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

    /// Corrects the stored size of each workspace whose stored size is wrong. A size becomes wrong when an earlier version of
    /// the program stores or deletes files. Returns the number of corrected workspaces.
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
