//! Deletes the renders of deleted workspaces.

use plinth_db::{Conn, renders, workspaces};
use plinth_spec::id::RenderId;

use super::end::delete_ended;
use crate::error::Result;
use crate::service::Service;

/// Maximum number of workspaces per call, and of renders per workspace.
const BATCH_SIZE: u32 = 100;

impl Service {
    /// Deletes renders of deleted workspaces, and schedules the deletion of their files. Renders that have not ended remain until they
    /// end. Returns the number of deleted renders; call the method again until it returns 0.
    pub(crate) async fn delete_renders_of_deleted_workspaces(&self) -> Result<u64> {
        let ended = list_ended(&mut self.db.read().await?).await?;
        let mut deleted = 0;
        for id in ended {
            // A transaction for each render locks one render and the counters of one workspace only, so that it never deadlocks with
            // another server.
            let deleting = self.write_at(move |tx, now| {
                Box::pin(async move {
                    match renders::find_anywhere(tx, &id).await? {
                        Some(render) => delete_ended(tx, &render, now).await,
                        None => Ok(false),
                    }
                })
            });
            deleted += u64::from(deleting.await?);
        }
        Ok(deleted)
    }
}

/// Lists ended renders of deleted workspaces: of so many workspaces that there are enough renders for one call.
async fn list_ended(conn: &mut Conn) -> Result<Vec<RenderId>> {
    let mut ended = Vec::new();
    for workspace in workspaces::list_deleted_with_renders(conn, BATCH_SIZE).await? {
        ended.extend(renders::list_ended_in(conn, &workspace, BATCH_SIZE).await?);
        if ended.len() >= BATCH_SIZE as usize {
            break;
        }
    }
    Ok(ended)
}
