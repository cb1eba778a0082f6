//! State and progress of renders, for pages that show how renders proceed.

use std::collections::BTreeMap;

use plinth_db::progress::{self, RenderState};
use plinth_spec::id::{ModelId, RenderId};
use plinth_spec::state::{HlsStatus, RenderStatus};

use crate::access::Caller;
use crate::error::Result;
use crate::service::Service;

/// State and progress of a render.
#[derive(Clone, Debug, PartialEq)]
pub struct RenderProgress {
    /// ID of the render.
    pub id: RenderId,
    pub status: RenderStatus,
    /// Fraction of the work that is done, from 0 to 1; `None` for a render that failed.
    pub fraction: Option<f64>,
    /// Expected time until all frames are drawn, in seconds; `None` if it is not known.
    pub left_secs: Option<u64>,
    /// State of the packaging for streams.
    pub hls: HlsStatus,
}

impl RenderProgress {
    fn of(state: RenderState, now: i64) -> Self {
        let left = state.ends_at.map(|ends_at| ends_at.saturating_sub(now).max(0).cast_unsigned().div_ceil(1000));
        let left_secs = left.filter(|secs| *secs > 0);
        Self { id: state.id, status: state.status, fraction: state.progress, left_secs, hls: state.hls }
    }
}

impl Service {
    /// Returns the states of renders of the caller's workspace. Leaves out identifiers of other renders.
    pub async fn render_progress(&self, caller: &Caller, ids: &[RenderId]) -> Result<Vec<RenderProgress>> {
        let mut conn = self.db.read().await?;
        let now = self.options.clock.now_ms(&mut conn).await?;
        let states = progress::find_states(&mut conn, &caller.workspace_id, ids).await?;
        Ok(states.into_iter().map(|state| RenderProgress::of(state, now)).collect())
    }

    /// Returns the newest unfinished render of each model that has unfinished renders.
    pub async fn unfinished_renders(
        &self,
        caller: &Caller,
        models: &[ModelId],
    ) -> Result<BTreeMap<ModelId, RenderProgress>> {
        let mut conn = self.db.read().await?;
        let now = self.options.clock.now_ms(&mut conn).await?;
        let mut found = BTreeMap::new();
        for model in models {
            if let Some(state) = progress::find_unfinished(&mut conn, &caller.workspace_id, model).await? {
                found.insert(model.clone(), RenderProgress::of(state, now));
            }
        }
        Ok(found)
    }
}
