//! Preparation and execution of jobs in child processes.

use std::fs::{create_dir_all, read_dir};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use plinth_pipeline::child::{ChildEvent, ChildFailure, ChildJob, ChildLimits, ChildTask, MachineFound, ProbeTask};
use plinth_spec::FailureCode;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::child::{ChildPlan, Ended, run};
use crate::environment::programs;
use crate::error::WorkerError;
use crate::node::Node;
use crate::options::WorkerOptions;
use crate::outputs::OUT;

/// Minimum time limit of the probe, which may be longer than the limit of renders.
const PROBE_TIME: Duration = Duration::from_mins(1);
/// Added to the wall-clock limit to get the CPU time limit per core.
const CPU_LEEWAY: Duration = Duration::from_mins(1);
/// Maximum size of a file written by a job, in bytes. A minute of 4K ProRes has about 10 GB.
const FILE_BYTES: u64 = 64 << 30;

/// Job to run. Its folder contains its input files.
#[derive(Debug)]
pub(crate) struct JobPlan<'a> {
    pub(crate) task: ChildTask,
    /// Time limit.
    pub(crate) time: Duration,
    pub(crate) folder: &'a Path,
    /// Folder in which drivers cache compiled shaders; `None` discards them with the job.
    pub(crate) home: Option<PathBuf>,
}

impl Node {
    /// Runs a job in a child process. `posters_written` is notified when the posters are written.
    pub(crate) async fn run_child(
        &self,
        plan: JobPlan<'_>,
        cut: &CancellationToken,
        posters_written: Option<oneshot::Sender<()>>,
    ) -> Ended {
        let options = WorkerOptions { timeout: plan.time, ..self.options.clone() };
        let plan = match self.describe(plan) {
            Ok(plan) => plan,
            Err(error) => {
                tracing::error!(error = %error, "preparing a job failed");
                let message = "the render node has no room for the job; please try again".to_owned();
                return Ended::Failed(ChildFailure { code: FailureCode::RendererCrash, message });
            }
        };
        let (cut, span) = (cut.clone(), tracing::Span::current());
        let mut posters_written = posters_written;
        let running = tokio::task::spawn_blocking(move || {
            let _entered = span.entered();
            let mut hear = |event: ChildEvent| match event {
                ChildEvent::PostersWritten => {
                    if let Some(tell) = posters_written.take() {
                        // The receiver is dropped only when the job is cancelled.
                        let _unheard = tell.send(());
                    }
                }
                other => tracing::debug!(event = ?other, "event of a job"),
            };
            run(&options, &plan, &mut hear, &cut)
        });
        running.await.unwrap_or_else(|error| {
            let message = format!("the task that watches the job panicked: {error}");
            Ended::Failed(ChildFailure { code: FailureCode::RendererCrash, message })
        })
    }

    /// Writes the job description, creates the writable folders, and changes their owner to the job's user.
    pub(crate) fn describe(&self, plan: JobPlan<'_>) -> io::Result<ChildPlan> {
        let JobPlan { task, time, folder, home } = plan;
        let (out, temporary) = (folder.join(OUT), folder.join("tmp"));
        let home = home.unwrap_or_else(|| temporary.clone());
        let mut writable = vec![out, temporary.clone(), home.clone()];
        let cache = match &task {
            ChildTask::Render(task) => task.cache.as_ref(),
            ChildTask::Preview(task) => task.cache.as_ref(),
            ChildTask::Package(_) | ChildTask::Probe(_) => None,
        };
        writable.extend(cache.map(|cache| cache.folder.clone()));
        for made in &writable {
            create_dir_all(made)?;
        }
        ChildJob { task, limits: self.limits(time) }.write(folder)?;
        let fence = &self.options.fence;
        let inputs = read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
        let mut given: Vec<&Path> = writable.iter().chain(&inputs).map(PathBuf::as_path).collect();
        // Cached models are hard links, and their owner must stay the worker's user.
        given.retain(|path| std::fs::metadata(path).is_ok_and(|about| about.is_dir() || about.nlink() == 1));
        given.push(folder);
        fence.give(&given)?;
        let programs = programs(&self.options.environment, &self.options.ffmpeg);
        let variables = vec![("HOME", home), ("TMPDIR", temporary)];
        Ok(ChildPlan {
            folder: folder.to_owned(),
            variables,
            fence: fence.fence(writable, vec![folder.to_owned()], programs),
        })
    }

    fn limits(&self, time: Duration) -> ChildLimits {
        let cores = std::thread::available_parallelism().map_or(1, usize::from) as u64;
        // The worker watches the wall clock and the memory of all processes of the job; the CPU limit is for the case that the
        // worker hangs. The kernel additionally enforces the memory limit for each process.
        ChildLimits {
            cpu_secs: (time + CPU_LEEWAY).as_secs() * cores,
            file_bytes: FILE_BYTES,
            memory_bytes: self.options.memory_bytes,
        }
    }

    /// Probes the graphics adapter and encoders of this machine. Returns `None` if the worker was stopped in the meantime.
    pub(crate) async fn probe(&self, stop: &CancellationToken) -> Result<Option<MachineFound>, WorkerError> {
        let cannot = |message: String| WorkerError::CannotRender { message };
        let folder = self
            .scratch
            .job()
            .map_err(|source| WorkerError::Scratch { folder: self.options.scratch.clone(), source })?;
        let WorkerOptions { adapter, ffmpeg, encoder, .. } = self.options.clone();
        let task = ProbeTask { adapter, ffmpeg, encoder };
        let time = self.options.timeout.max(PROBE_TIME);
        let plan = JobPlan { task: ChildTask::Probe(task), time, folder: folder.path(), home: None };
        match self.run_child(plan, stop, None).await {
            Ended::Done(ChildEvent::Probed(found)) => Ok(Some(found)),
            Ended::Done(_other) => Err(cannot("the renderer returned an unexpected result".to_owned())),
            Ended::Failed(failure) => Err(cannot(failure.message)),
            Ended::Cancelled => Ok(None),
        }
    }
}
