//! Deletes the files of deleted models from the store, as soon as no unfinished render needs them.

use plinth_db::{Tx, model_files, unreferenced_objects};
use plinth_spec::id::ModelId;
use plinth_store::ObjectKey;

use crate::error::{Result, ServiceError};
use crate::service::Service;

/// Maximum number of models per call.
const BATCH_SIZE: u32 = 100;

/// Schedules the deletion of a deleted model's file. Returns false and changes nothing if the model is not deleted, if unfinished renders
/// need the file, or if the deletion is scheduled already. Each model has its own file, even if other models have equal files.
pub(super) async fn schedule_deletion(tx: &mut Tx, id: &ModelId, now: i64) -> Result<bool> {
    let is_unneeded = model_files::set_deleted(tx, id, now).await?;
    if is_unneeded {
        unreferenced_objects::insert(tx, &ObjectKey::Model(id).path(), now).await?;
    }
    Ok(is_unneeded)
}

impl Service {
    /// Schedules the deletion of files of deleted models, of models that an earlier version of the program has deleted, and of models
    /// of deleted workspaces. Returns the number of models that it changed; call the method again until it returns 0.
    pub(crate) async fn schedule_unneeded_models(&self) -> Result<u64> {
        let mut changed = 0;
        let deleted_workspaces = model_files::list_deleted_workspaces(&mut self.db.read().await?, BATCH_SIZE).await?;
        for workspace in deleted_workspaces {
            let marking = self.write_at(move |tx, now| {
                Box::pin(async move {
                    Ok::<_, ServiceError>(model_files::delete_of_workspace(tx, &workspace, BATCH_SIZE, now).await?)
                })
            });
            changed += marking.await?;
        }
        let unneeded = model_files::list_unneeded(&mut self.db.read().await?, BATCH_SIZE).await?;
        for id in unneeded {
            // A transaction for each model locks the counters of one workspace only, so that two servers never deadlock.
            let scheduling =
                self.write_at(move |tx, now| Box::pin(async move { schedule_deletion(tx, &id, now).await }));
            changed += u64::from(scheduling.await?);
        }
        Ok(changed)
    }
}
