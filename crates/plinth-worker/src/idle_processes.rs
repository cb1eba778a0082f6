//! Render processes that wait for the next render of their model.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::render_process::{ProcessKey, RenderProcess};

/// Idle render processes, in the order in which they became idle. The worker has at most as many render processes, idle or
/// busy, as slots, because a render takes an idle process, or ends one before it starts a new process.
#[derive(Debug, Default)]
pub(crate) struct IdleProcesses(Mutex<Vec<RenderProcess>>);

impl IdleProcesses {
    /// Removes and returns an idle process with the key `wanted`. If there is no such process, ends the process that
    /// has been idle longest, so that its memory is free for the new process of the render.
    pub(crate) async fn take(&self, wanted: Option<&ProcessKey>) -> Option<RenderProcess> {
        let (found, ended) = {
            let mut idle = self.locked();
            idle.retain(RenderProcess::is_running);
            let found = idle.iter().rposition(|process| Some(process.process_key()) == wanted);
            let found = found.map(|at| idle.remove(at));
            let ended = (found.is_none() && !idle.is_empty()).then(|| idle.remove(0));
            (found, ended)
        };
        end(ended.into_iter().collect()).await;
        found
    }

    /// Keeps a process that has finished its render.
    pub(crate) fn keep(&self, mut process: RenderProcess) {
        process.set_idle();
        self.locked().push(process);
    }

    /// Ends all processes.
    pub(crate) async fn end_all(&self) {
        let all = std::mem::take(&mut *self.locked());
        end(all).await;
    }

    fn locked(&self) -> MutexGuard<'_, Vec<RenderProcess>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends processes on a thread that may block.
async fn end(processes: Vec<RenderProcess>) {
    let ending = tokio::task::spawn_blocking(|| processes.into_iter().for_each(RenderProcess::end));
    if let Err(error) = ending.await {
        tracing::error!(error = %error, "ending a render process panicked");
    }
}
