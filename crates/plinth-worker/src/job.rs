//! The worker's side of a job: describing it, starting it, waiting for it.

use std::fs::create_dir;
use std::path::Path;
use std::time::Duration;

use plinth_pipeline::child::{ChildEvent, ChildFailure, ChildJob, ChildLimits, ChildTask, MachineFound, ProbeTask};
use plinth_spec::FailureCode;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::child::{ChildPlan, Ended, run};
use crate::error::WorkerError;
use crate::node::Node;
use crate::options::WorkerOptions;

/// Least time for finding out what this machine renders with, however short renders may be.
const PROBE_TIME: Duration = Duration::from_mins(1);
/// How much longer than the wall clock's limit that of the processors is: who exceeds both has taken too long.
const CPU_LEEWAY: Duration = Duration::from_mins(1);
/// Largest file that a job may write: a minute of ProRes in 4K has some 10 GB.
const FILE_BYTES: u64 = 64 << 30;

impl Node {
    /// Runs a job in its folder, in a process of its own, for at most `time`. `posters_written` hears when the posters are
    /// there.
    pub(crate) async fn run_child(
        &self,
        task: ChildTask,
        time: Duration,
        folder: &Path,
        cut: &CancellationToken,
        posters_written: Option<oneshot::Sender<()>>,
    ) -> Ended {
        let cores = std::thread::available_parallelism().map_or(1, usize::from) as u64;
        let options = WorkerOptions { timeout: time, ..self.options.clone() };
        // The clock on the wall is watched here; the processors' is for a job whose worker hangs.
        // So is the memory of all its processes together; the kernel holds each of them at once, not at the next look.
        let limits = ChildLimits {
            cpu_secs: (options.timeout + CPU_LEEWAY).as_secs() * cores,
            file_bytes: FILE_BYTES,
            memory_bytes: self.options.memory_bytes,
        };
        let temporary = folder.join("tmp");
        let made = create_dir(&temporary).and_then(|()| ChildJob { task, limits }.write(folder));
        if let Err(error) = made {
            tracing::error!(error = %error, "a job cannot be described");
            let message = "the render node has no room for the job; please try again".to_owned();
            return Ended::Failed(ChildFailure { code: FailureCode::RendererCrash, message });
        }
        let variables = vec![("HOME", self.scratch.home().to_owned()), ("TMPDIR", temporary)];
        let plan = ChildPlan { folder: folder.to_owned(), variables };
        let (cut, span) = (cut.clone(), tracing::Span::current());
        let mut posters_written = posters_written;
        let running = tokio::task::spawn_blocking(move || {
            let _entered = span.entered();
            let mut hear = |event: ChildEvent| match event {
                ChildEvent::PostersWritten => {
                    if let Some(tell) = posters_written.take() {
                        // Whoever does not listen any more is being cut off.
                        let _unheard = tell.send(());
                    }
                }
                other => tracing::debug!(event = ?other, "the job goes on"),
            };
            run(&options, &plan, &mut hear, &cut)
        });
        running.await.unwrap_or_else(|error| {
            let message = format!("the job's watch died: {error}");
            Ended::Failed(ChildFailure { code: FailureCode::RendererCrash, message })
        })
    }

    /// Finds out whether and with what this machine renders. None: the worker was stopped meanwhile.
    pub(crate) async fn probe(&self, stop: &CancellationToken) -> Result<Option<MachineFound>, WorkerError> {
        let cannot = |message: String| WorkerError::CannotRender { message };
        let folder = self
            .scratch
            .job()
            .map_err(|source| WorkerError::Scratch { folder: self.options.scratch.clone(), source })?;
        let WorkerOptions { adapter, ffmpeg, encoder, .. } = self.options.clone();
        let task = ProbeTask { adapter, ffmpeg, encoder };
        let time = self.options.timeout.max(PROBE_TIME);
        match self.run_child(ChildTask::Probe(task), time, folder.path(), stop, None).await {
            Ended::Done(ChildEvent::Probed(found)) => Ok(Some(found)),
            Ended::Done(_other) => Err(cannot("the renderer made something else".to_owned())),
            Ended::Failed(failure) => Err(cannot(failure.message)),
            Ended::Cut => Ok(None),
        }
    }
}
