//! The worker's side of a job: describing it, starting it, waiting for it.

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

/// Least time for finding out what this machine renders with, however short renders may be.
const PROBE_TIME: Duration = Duration::from_mins(1);
/// How much longer than the wall clock's limit that of the processors is: who exceeds both has taken too long.
const CPU_LEEWAY: Duration = Duration::from_mins(1);
/// Largest file that a job may write: a minute of ProRes in 4K has some 10 GB.
const FILE_BYTES: u64 = 64 << 30;

/// A job that is to run, in a folder that holds what it reads.
#[derive(Debug)]
pub(crate) struct JobPlan<'a> {
    pub(crate) task: ChildTask,
    /// How long it may take.
    pub(crate) time: Duration,
    pub(crate) folder: &'a Path,
    /// Where drivers keep what they have compiled; `None`: it goes with the job.
    pub(crate) home: Option<PathBuf>,
}

impl Node {
    /// Runs a job in a process of its own. `posters_written` hears when the posters are there.
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
                tracing::error!(error = %error, "a job cannot be described");
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

    /// Writes the description, makes the folders that the job writes to, and gives them to the user that it runs as.
    fn describe(&self, plan: JobPlan<'_>) -> io::Result<ChildPlan> {
        let JobPlan { task, time, folder, home } = plan;
        let (out, temporary) = (folder.join(OUT), folder.join("tmp"));
        let home = home.unwrap_or_else(|| temporary.clone());
        let mut writable = vec![out, temporary.clone(), home.clone()];
        if let ChildTask::Render(task) = &task {
            writable.extend(task.cache.iter().map(|cache| cache.folder.clone()));
        }
        for made in &writable {
            create_dir_all(made)?;
        }
        ChildJob { task, limits: self.limits(time) }.write(folder)?;
        let fence = &self.options.fence;
        let inputs = read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
        let mut given: Vec<&Path> = writable.iter().chain(&inputs).map(PathBuf::as_path).collect();
        // The file of a kept model stays the worker's, under each of its names.
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
        // The clock on the wall is watched here; the processors' is for a job whose worker hangs.
        // So is the memory of all its processes together; the kernel holds each of them at once, not at the next look.
        ChildLimits {
            cpu_secs: (time + CPU_LEEWAY).as_secs() * cores,
            file_bytes: FILE_BYTES,
            memory_bytes: self.options.memory_bytes,
        }
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
        let plan = JobPlan { task: ChildTask::Probe(task), time, folder: folder.path(), home: None };
        match self.run_child(plan, stop, None).await {
            Ended::Done(ChildEvent::Probed(found)) => Ok(Some(found)),
            Ended::Done(_other) => Err(cannot("the renderer made something else".to_owned())),
            Ended::Failed(failure) => Err(cannot(failure.message)),
            Ended::Cut => Ok(None),
        }
    }
}
