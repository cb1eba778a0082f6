//! Measures finished renders whose size is not stored: those that a program of an earlier version has finished.

use plinth_db::storage;

use crate::error::Result;
use crate::jobs::RenderFiles;
use crate::service::Service;

/// Maximum number of renders per call.
const BATCH_SIZE: u32 = 500;

impl Service {
    /// Stores the sizes of finished renders that have none. Returns the number of renders that were read; call it again until that is
    /// 0. The sizes of their streams are not known and are left out.
    pub async fn measure_renders(&self) -> Result<usize> {
        let renders = storage::list_unmeasured(&mut self.db.read().await?, BATCH_SIZE).await?;
        let read = renders.len();
        for render in renders {
            let bytes = RenderFiles::of(&render)?.stored_bytes();
            let measuring = self.db.write(move |tx| {
                Box::pin(async move { storage::measure(tx, &render.id, &render.workspace_id, bytes).await })
            });
            measuring.await?;
        }
        Ok(read)
    }
}
