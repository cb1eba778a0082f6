//! Deletes the overlays, textures and environments of deleted workspaces.

use plinth_db::{Tx, envs, overlays, renders, textures, unreferenced_objects, workspaces};
use plinth_spec::id::WorkspaceId;
use plinth_store::{ObjectKey, env_prefix};

use crate::error::Result;
use crate::service::Service;

/// Maximum number of workspaces per call.
const BATCH_SIZE: u32 = 100;

impl Service {
    /// Deletes the assets of deleted workspaces whose renders have all ended, and schedules the deletion of their files. Assets that
    /// are available to all workspaces remain. Returns the number of deleted assets; call the method again until it returns 0.
    pub(crate) async fn delete_assets_of_deleted_workspaces(&self) -> Result<u64> {
        let mut deleted = 0;
        let deleted_workspaces = workspaces::list_deleted_with_assets(&mut self.db.read().await?, BATCH_SIZE).await?;
        for workspace in deleted_workspaces {
            // A transaction for each workspace locks one counter only, so that two servers never deadlock.
            let deleting =
                self.write_at(move |tx, now| Box::pin(async move { delete_assets(tx, &workspace, now).await }));
            deleted += deleting.await?;
        }
        Ok(deleted)
    }
}

/// Deletes the assets of a deleted workspace, in which no renders can be created any more. Does nothing while it has unfinished renders.
async fn delete_assets(tx: &mut Tx, workspace: &WorkspaceId, now: i64) -> Result<u64> {
    if renders::count_unfinished_in(tx, workspace).await? > 0 {
        return Ok(0);
    }
    let overlays = overlays::delete_of_workspace(tx, workspace).await?;
    let textures = textures::delete_of_workspace(tx, workspace).await?;
    let envs = envs::delete_of_workspace(tx, workspace).await?;
    let overlays = overlays.iter().map(|id| ObjectKey::Overlay(id).path());
    let textures = textures.iter().map(|id| ObjectKey::Texture(id).path());
    let prefixes: Vec<String> = overlays.chain(textures).chain(envs.iter().map(env_prefix)).collect();
    for prefix in &prefixes {
        unreferenced_objects::insert(tx, prefix, now).await?;
    }
    Ok(prefixes.len() as u64)
}
