//! Cancels and deletes the renders of deleted workspaces.

use plinth_db::{Conn, renders, workspaces};
use plinth_spec::id::{RenderId, WorkspaceId};

use super::end::{cancel_pending, delete_ended};
use crate::error::Result;
use crate::service::Service;

/// Maximum number of workspaces per call, and of renders per workspace.
const BATCH_SIZE: u32 = 100;

impl Service {
    /// Deletes renders of deleted workspaces, and schedules the deletion of their files. Queued renders are cancelled first; renders that
    /// a worker has claimed remain until they end. Returns the number of deleted renders; call the method again until it returns 0.
    pub(crate) async fn delete_renders_of_deleted_workspaces(&self) -> Result<u64> {
        let mut ended = list_ended(&mut self.db.read().await?).await?;
        if ended.is_empty() && self.cancel_queued_in_deleted_workspaces().await? > 0 {
            ended = list_ended(&mut self.db.read().await?).await?;
        }
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

    /// Cancels the queued renders of a deleted workspace, whose files nobody could fetch, and refunds their prices. Returns the number
    /// of cancelled renders.
    pub(crate) async fn cancel_queued_in(&self, workspace: &WorkspaceId) -> Result<u64> {
        let mut cancelled = 0;
        loop {
            let queued = renders::list_pending_in(&mut self.db.read().await?, workspace, BATCH_SIZE).await?;
            if queued.is_empty() {
                return Ok(cancelled);
            }
            for render in queued {
                // A transaction for each render, because a former owner of the workspace may pay for some of them.
                let cancelling = self.write_locked(render.payer_id.clone(), move |tx, now| {
                    Box::pin(async move { cancel_pending(tx, &render, now).await })
                });
                cancelled += u64::from(cancelling.await?.is_some());
            }
        }
    }

    /// Cancels renders that were queued when their workspace was deleted, or that a worker has returned to the queue since. Returns the
    /// number of cancelled renders.
    async fn cancel_queued_in_deleted_workspaces(&self) -> Result<u64> {
        let mut cancelled = 0;
        let deleted = workspaces::list_deleted_with_renders(&mut self.db.read().await?, BATCH_SIZE).await?;
        for workspace in deleted {
            cancelled += self.cancel_queued_in(&workspace).await?;
        }
        Ok(cancelled)
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
