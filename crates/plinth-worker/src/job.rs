//! Prepares jobs and runs them in child processes.

use std::fs::{create_dir_all, read_dir};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use plinth_pipeline::EncoderChoice;
use plinth_pipeline::child::{ChildEvent, ChildFailure, ChildJob, ChildLimits, ChildTask, MachineFound, ProbeTask};
use plinth_spec::{FailureCode, WorkClass};
use tokio::sync::{oneshot, watch};
use tokio_util::sync::CancellationToken;

use crate::child::{ChildPlan, Ended, run};
use crate::disk::{DiskLimits, JobDisk};
use crate::environment::programs;
use crate::error::WorkerError;
use crate::node::Node;
use crate::options::WorkerOptions;
use crate::outputs::OUT;
use crate::progress::{Progress, ProgressMeter};
use crate::system::names_of;
use crate::traces::StageSpans;

/// Time that is added to the wall-clock limit to get the CPU time limit per core.
const CPU_LEEWAY: Duration = Duration::from_mins(1);
/// Maximum size in bytes of a file that a job writes. One minute of 4K ProRes has about 10 GB.
const FILE_BYTES: u64 = 64 << 30;

/// A job to run. The input files are in the folder of the job.
#[derive(Debug)]
pub(crate) struct JobPlan<'a> {
    pub(crate) task: ChildTask,
    /// Time limit.
    pub(crate) time: Duration,
    pub(crate) folder: &'a Path,
    /// Folder in which drivers cache compiled shaders. With `None`, the cache is deleted together with the job's
    /// folder.
    pub(crate) home: Option<PathBuf>,
}

/// Receives the events of a running job.
#[derive(Debug)]
pub(crate) struct JobListener {
    /// Receives a message when the job has written its posters.
    pub(crate) posters_written: oneshot::Sender<()>,
    /// Receives the progress of the job.
    pub(crate) progress: watch::Sender<Progress>,
}

impl JobListener {
    /// Returns a function that sends the events of a job to the channels of this listener.
    fn hear(self) -> impl FnMut(ChildEvent) + Send {
        let Self { posters_written, progress } = self;
        let (mut posters_written, mut meter) = (Some(posters_written), ProgressMeter::default());
        move |event| match event {
            ChildEvent::PostersWritten => {
                if let Some(tell) = posters_written.take() {
                    // Sending fails only if the job was cancelled, which drops the receiver.
                    let _unheard = tell.send(());
                }
            }
            ChildEvent::Progress { stage, frame, frames } => {
                progress.send_replace(meter.progress(stage, frame, frames, Instant::now()));
            }
            other => tracing::debug!(event = ?other, "event of a job"),
        }
    }
}

/// Returns a function that passes the events of a job to its listener, and traces its stages.
pub(crate) fn pass_on(listener: Option<JobListener>) -> impl FnMut(ChildEvent) + Send {
    let (mut stages, mut hear) = (StageSpans::default(), listener.map(JobListener::hear));
    move |event| {
        if let ChildEvent::Progress { stage, .. } = &event {
            stages.reach(*stage);
        }
        if let Some(hear) = &mut hear {
            hear(event);
        }
    }
}

/// Returns the disk space that a job may use. A worker is also probed on a full disk, because it then waits for room.
fn disk_limits(options: &WorkerOptions, task: &ChildTask) -> DiskLimits {
    let reserve_bytes = if matches!(task, ChildTask::Probe(_)) { 0 } else { options.room_bytes };
    DiskLimits { most_bytes: options.disk_bytes, reserve_bytes }
}

/// Returns the processor time in seconds that a process may use for a task with the time limit `time`.
pub(crate) fn processor_secs(time: Duration) -> u64 {
    let cores = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    time.saturating_add(CPU_LEEWAY).as_secs().saturating_mul(cores)
}

impl Node {
    /// Runs a job in a child process, and passes its events to the listener.
    pub(crate) async fn run_child(
        &self,
        plan: JobPlan<'_>,
        cut: &CancellationToken,
        listener: Option<JobListener>,
    ) -> Ended {
        let options = WorkerOptions { timeout: plan.time, ..self.options.clone() };
        let plan = match self.describe(plan) {
            Ok(plan) => plan,
            Err(error) => {
                tracing::error!(error = %error, "preparing a job failed");
                let message = "the render node has no room for the job; please try again".to_owned();
                return Ended::Failed(ChildFailure::of_error(FailureCode::RendererCrash, message, &error));
            }
        };
        let (cut, span) = (cut.clone(), tracing::Span::current());
        let running = tokio::task::spawn_blocking(move || {
            let _entered = span.entered();
            run(&options, &plan, &mut pass_on(listener), &cut)
        });
        running.await.unwrap_or_else(|error| {
            let message = format!("the task that watches the job panicked: {error}");
            Ended::Failed(ChildFailure::new(FailureCode::RendererCrash, message))
        })
    }

    /// Writes the job description, and creates the folders in which the job may write. Changes the owner of these
    /// folders to the job's user.
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
        let disk = disk_limits(&self.options, &task);
        let limits = self.limits(time);
        ChildJob { task, limits }.write(folder)?;
        let fence = &self.options.fence;
        let inputs = read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
        let mut given: Vec<&Path> = writable.iter().chain(&inputs).map(PathBuf::as_path).collect();
        // Skips cached models, whose owner must stay the worker's user. A cached model is a hard link, so its link count is
        // greater than 1.
        given.retain(|path| std::fs::metadata(path).is_ok_and(|about| about.is_dir() || names_of(&about) == 1));
        given.push(folder);
        fence.give(&given)?;
        let programs = programs(&self.options.environment, &self.options.ffmpeg);
        // Without `XDG_CACHE_HOME`, Mesa caches shaders in the home folder that /etc/passwd names, and ignores `HOME`.
        let variables = vec![("XDG_CACHE_HOME", home.join(".cache")), ("HOME", home), ("TMPDIR", temporary)];
        Ok(ChildPlan {
            disk: Arc::new(JobDisk::new(&self.disks, folder, &writable, disk)),
            cpu_secs: limits.cpu_secs,
            folder: folder.to_owned(),
            variables,
            fence: fence.fence(writable, vec![folder.to_owned()], programs),
        })
    }

    fn limits(&self, time: Duration) -> ChildLimits {
        // The worker itself limits the wall-clock time of a job, and the memory of all its processes together. The
        // kernel enforces the CPU time limit even if the worker hangs, and enforces the memory limit for each single
        // process.
        ChildLimits { cpu_secs: processor_secs(time), file_bytes: FILE_BYTES, memory_bytes: self.options.memory_bytes }
    }

    /// Probes the graphics adapter and the encoders of this machine, for at most the time `time`. Returns `None` if the worker
    /// was stopped during the probe.
    pub(crate) async fn probe(
        &self,
        encoder: EncoderChoice,
        time: Duration,
        stop: &CancellationToken,
    ) -> Result<Option<MachineFound>, WorkerError> {
        let cannot = |message: String| WorkerError::CannotRender { message };
        let folder = self
            .scratch
            .job()
            .map_err(|source| WorkerError::Scratch { folder: self.options.scratch.clone(), source })?;
        let WorkerOptions { adapter, ffmpeg, takes, .. } = self.options.clone();
        let (writes_videos, writes_prores) = (takes.includes(None), takes.includes(Some(WorkClass::Pro)));
        let task = ProbeTask { adapter, ffmpeg, encoder, writes_videos, writes_prores };
        let plan = JobPlan { task: ChildTask::Probe(task), time, folder: folder.path(), home: None };
        match self.run_child(plan, stop, None).await {
            Ended::Done(ChildEvent::Probed(found)) => Ok(Some(found)),
            Ended::Done(_other) => Err(cannot("the renderer returned an unexpected result".to_owned())),
            Ended::Failed(failure) => Err(cannot(failure.message)),
            Ended::Cancelled => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use plinth_pipeline::H264Encoder;
    use plinth_pipeline::child::{PackageTask, PreviewTask};

    use super::*;

    #[test]
    fn the_processor_time_of_the_longest_time_limit_is_unlimited() {
        assert_eq!(processor_secs(Duration::MAX), u64::MAX);
    }

    #[test]
    fn previews_and_packagings_leave_a_reserve_on_the_disk() {
        let file = || PathBuf::from("file");
        let options = WorkerOptions { disk_bytes: 1000, room_bytes: 10, ..WorkerOptions::new(file(), file()) };
        let preview = PreviewTask { model: file(), longest: 1, adapter: None, ffmpeg: file(), cache: None };
        let package = PackageTask { source: file(), out_dir: file(), ffmpeg: file(), encoder: H264Encoder::default() };
        let probe = ProbeTask {
            adapter: None,
            ffmpeg: file(),
            encoder: EncoderChoice::default(),
            writes_videos: true,
            writes_prores: true,
        };
        let tasks =
            [(ChildTask::Preview(preview), 10), (ChildTask::Package(package), 10), (ChildTask::Probe(probe), 0)];
        for (task, reserve_bytes) in tasks {
            let limits = disk_limits(&options, &task);
            assert_eq!((limits.most_bytes, limits.reserve_bytes), (1000, reserve_bytes), "{task:?}");
        }
    }
}
