//! Runs a job in a child process: `plinth render-child`.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use plinth_fence::Fence;
use plinth_pipeline::child::{ChildEvent, ChildFailure};
use plinth_service::{ending_signal, is_out_of_memory, plinth_command};
use plinth_spec::FailureCode;
use tokio_util::sync::CancellationToken;

use crate::disk::{DiskUse, JobDisk};
use crate::options::WorkerOptions;
use crate::session::{self, Excess};
use crate::system::{limit_processor_time, used_processor_secs};

/// Interval at which a running job is checked for its time limit and for cancellation.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Interval at which the memory of a job is measured.
const MEMORY_INTERVAL: Duration = Duration::from_millis(500);
/// Maximum number of processes of a job.
const PROCESSES: usize = 256;
/// Time in which a job must exit after it has sent its result or closed its output.
const EXIT_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum length of an event line, in bytes.
const LINE_BYTES: u64 = 4 << 20;
/// Number of bytes from the end of stderr that are logged.
const STDERR_BYTES: usize = 4096;
/// Signal 6. A program that aborts, for example because an allocation failed, ends with this signal.
const SIGABRT: i32 = 6;
/// Signal 24. The kernel sends this signal to a process that exceeds its CPU time limit.
const SIGXCPU: i32 = 24;

/// Child process to start.
#[derive(Clone, Debug)]
pub(crate) struct ChildPlan {
    /// Folder of the job, which contains the job description.
    pub(crate) folder: PathBuf,
    /// Environment variables in addition to [`WorkerOptions::environment`].
    pub(crate) variables: Vec<(&'static str, PathBuf)>,
    /// Sandbox of the child. The child enters it after it has read the job description, before it reads any other file.
    pub(crate) fence: Option<Fence>,
    /// Measures the disk space of the job.
    pub(crate) disk: Arc<JobDisk>,
    /// CPU time limit in the job description, in seconds.
    pub(crate) cpu_secs: u64,
}

/// Result of a job.
#[derive(Debug)]
pub(crate) enum Ended {
    /// The job succeeded.
    Done(ChildEvent),
    /// The job failed.
    Failed(ChildFailure),
    /// The job was cancelled.
    Cancelled,
}

/// Runs a job. Kills the job when it exceeds its time or memory limit, or when `cut` is cancelled. Returns after all
/// processes of the job have ended. `on_event` receives progress events. Blocks the thread.
pub(crate) fn run(
    options: &WorkerOptions,
    plan: &ChildPlan,
    on_event: &mut dyn FnMut(ChildEvent),
    cut: &CancellationToken,
) -> Ended {
    let mut running = match Running::start(options, plan) {
        Ok(running) => running,
        Err(error) => return crashed(format!("the renderer cannot be started: {error}")),
    };
    let outcome = running.listen(options, on_event, cut);
    running.end_after(options, outcome)
}

/// Returns the result of a job, derived from `outcome`, the exit status of the process and the end of its stderr.
fn explain(options: &WorkerOptions, outcome: Outcome, status: Option<ExitStatus>, stderr_tail: &str) -> Ended {
    match outcome {
        Outcome::Result(ChildEvent::Failed(failure)) => Ended::Failed(failure),
        Outcome::Result(event) => Ended::Done(event),
        Outcome::Cancelled => Ended::Cancelled,
        Outcome::TimedOut => too_heavy(FailureCode::Timeout, timeout_message(options)),
        Outcome::OutOfMemory => too_heavy(FailureCode::RendererCrash, memory_message(options)),
        Outcome::TooMuchDisk => {
            let most = options.disk_bytes >> 20;
            let message =
                format!("the render needs more than {most} MB of disk space; a shorter or smaller video needs less");
            too_heavy(FailureCode::RendererCrash, message)
        }
        Outcome::HiddenFiles => crashed("the renderer made a folder that cannot be read".to_owned()),
        Outcome::DiskFull => {
            let message = "the disk of the render node is full".to_owned();
            let failure = ChildFailure::new(FailureCode::RendererCrash, message);
            Ended::Failed(ChildFailure { is_of_full_disk: true, ..failure })
        }
        Outcome::TooManyProcesses => crashed(format!("the renderer started more than {PROCESSES} processes")),
        Outcome::InvalidEvent => crashed("the renderer sent an invalid event".to_owned()),
        Outcome::Closed => match status.map(|status| (status, ending_signal(status))) {
            // Earlier requests may have used the processor time of a process that stays.
            Some((_status, Some(SIGXCPU))) => failed(FailureCode::Timeout, timeout_message(options)),
            Some((_status, Some(SIGABRT))) if is_out_of_memory(stderr_tail) => {
                too_heavy(FailureCode::RendererCrash, memory_message(options))
            }
            Some((_status, Some(signal))) => crashed(format!("the renderer died of signal {signal}")),
            Some((status, None)) => crashed(format!("the renderer ended without a result ({status})")),
            None => crashed("the renderer did not exit in time".to_owned()),
        },
    }
}

fn timeout_message(options: &WorkerOptions) -> String {
    format!("the render took longer than {} seconds", options.timeout.as_secs())
}

fn memory_message(options: &WorkerOptions) -> String {
    let most = options.memory_bytes >> 20;
    format!("the render needs more than {most} MB of memory; a simpler model or smaller textures help")
}

fn failed(code: FailureCode, message: String) -> Ended {
    Ended::Failed(ChildFailure::new(code, message))
}

/// Returns the result of a job whose model or settings need more than a job may use.
fn too_heavy(code: FailureCode, message: String) -> Ended {
    Ended::Failed(ChildFailure::of_request(code, message))
}

pub(crate) fn crashed(message: String) -> Ended {
    failed(FailureCode::RendererCrash, message)
}

/// A child process that keeps running between requests. Dropping this value ends the process.
pub(crate) struct ReusableChild {
    running: Running,
    has_ended: bool,
    /// Whether the process has ended without a result, and not because the worker has ended it.
    has_ended_by_itself: bool,
    /// CPU time limit since the start of the process, in seconds.
    cpu_secs: u64,
}

impl ReusableChild {
    /// Starts the process.
    pub(crate) fn start(options: &WorkerOptions, plan: &ChildPlan) -> std::io::Result<Self> {
        let running = Running::start(options, plan)?;
        Ok(Self { running, has_ended: false, has_ended_by_itself: false, cpu_secs: plan.cpu_secs })
    }

    /// Sends `request` and waits for its result for at most [`WorkerOptions::timeout`]. With `None`, sends nothing and waits
    /// for the result of the task in the job description. If the process fails or does not respond in time, ends the process
    /// and returns the reason. `on_event` receives progress events. Blocks the thread.
    pub(crate) fn ask(
        &mut self,
        options: &WorkerOptions,
        request: Option<&str>,
        on_event: &mut dyn FnMut(ChildEvent),
        cut: &CancellationToken,
    ) -> Ended {
        let written = request.and_then(|line| Some(write_line(self.running.child.stdin.take()?, line)));
        let outcome = self.running.listen(options, on_event, cut);
        if let Outcome::Result(
            ChildEvent::Previewed { .. }
            | ChildEvent::PreviewAnswered { .. }
            | ChildEvent::PreviewRejected(_)
            | ChildEvent::Rendered { .. },
        ) = outcome
            && self.take_stdin_back(written.as_ref())
        {
            return explain(options, outcome, None, "");
        }
        self.has_ended = true;
        self.has_ended_by_itself = matches!(outcome, Outcome::Closed);
        self.running.end_after(options, outcome)
    }

    /// Returns whether the process has ended without a result, and not because the worker has ended it.
    pub(crate) const fn has_ended_by_itself(&self) -> bool {
        self.has_ended_by_itself
    }

    /// Waits until the whole request is written, and keeps the standard input for the next request. Returns false if the
    /// process has responded without reading the whole request.
    fn take_stdin_back(&mut self, written: Option<&Receiver<ChildStdin>>) -> bool {
        let Some(written) = written else { return true };
        self.running.child.stdin = written.recv_timeout(EXIT_TIMEOUT).ok();
        self.running.child.stdin.is_some()
    }

    /// Returns what an idle process does that it must not do. Returns `None` if it behaves as expected: it runs, has sent no
    /// event, uses at most `memory_bytes` of memory, its session has at most [`PROCESSES`] processes, and its files do not
    /// use too much disk space.
    pub(crate) fn misconduct(&self, memory_bytes: u64) -> Option<&'static str> {
        // The first request for a model may have been given up before it was sent to the process.
        let is_silent =
            matches!(self.running.events.try_recv(), Err(TryRecvError::Empty) | Ok(Ok(ChildEvent::PreviewReady)));
        if !is_silent {
            return Some("it has ended, or has sent an event without a request");
        }
        match session::find_excess(self.running.child.id(), PROCESSES, memory_bytes) {
            Some(Excess::Processes) => return Some("it has started too many processes"),
            Some(Excess::Memory) => return Some("it uses too much memory"),
            None => {}
        }
        match self.running.disk.measure(self.running.child.id()) {
            DiskUse::Allowed => None,
            DiskUse::TooMuch => Some("it uses too much disk space"),
            DiskUse::Hidden => Some("it has made a folder that cannot be read"),
            DiskUse::LargestOnFullDisk => Some("the disk is full, and no other job uses more of it"),
        }
    }

    /// Measures the memory of the process and of its children.
    pub(crate) fn memory_bytes(&self) -> u64 {
        session::memory_bytes(self.running.child.id())
    }

    /// Sets the soft limit of the process's CPU time to the time that it has used, and that of another task, so that a task does not
    /// fail because of the time that earlier ones have used. If the used time cannot be read, raises the limit by that of the task. A
    /// value above the hard limit is reduced to it; it is the same as the hard limit of this process. A process that has just been
    /// started replaces the limit by that of its job description, which suffices for its first task. An error is only logged: a task
    /// that then exceeds the old limit runs again in another process.
    pub(crate) fn allow_processor_time_of_task(&mut self, secs: u64) {
        let id = self.running.child.id();
        self.cpu_secs = used_processor_secs(id).unwrap_or(self.cpu_secs).saturating_add(secs);
        if let Err(error) = limit_processor_time(id, self.cpu_secs) {
            tracing::debug!(%error, "a job could not get more processor time");
        }
    }
}

/// Writes a line in a new thread, because the write blocks while the process does not read. The returned channel receives
/// `stdin` after the line is written. The write fails if the process has ended; [`Running::listen`] then finds the reason.
fn write_line(mut stdin: ChildStdin, line: &str) -> Receiver<ChildStdin> {
    let (tell, written) = sync_channel(1);
    let line = format!("{line}\n");
    thread::spawn(move || {
        if stdin.write_all(line.as_bytes()).and_then(|()| stdin.flush()).is_ok() {
            // Sending fails if the receiver was dropped, because no further request will be sent.
            let _unheard = tell.send(stdin);
        }
    });
    written
}

impl Drop for ReusableChild {
    fn drop(&mut self) {
        if !self.has_ended {
            self.running.end(false);
        }
    }
}

/// The reason to stop listening to a job.
enum Outcome {
    Result(ChildEvent),
    Closed,
    InvalidEvent,
    TimedOut,
    OutOfMemory,
    TooManyProcesses,
    TooMuchDisk,
    HiddenFiles,
    DiskFull,
    Cancelled,
}

/// A line that is not a valid event.
struct InvalidEvent;

struct Running {
    child: Child,
    events: Receiver<Result<ChildEvent, InvalidEvent>>,
    stderr_tail: Arc<Mutex<VecDeque<u8>>>,
    disk: Arc<JobDisk>,
}

impl Running {
    fn start(options: &WorkerOptions, plan: &ChildPlan) -> std::io::Result<Self> {
        let fence = plan.fence.as_ref().map(Fence::to_argument).transpose()?;
        let mut child = plinth_command(&options.program)
            .arg("render-child")
            .arg(&plan.folder)
            .args(fence.iter().flat_map(|fence| ["--fence", fence]))
            .env_clear()
            .envs(options.environment.iter().map(|(name, value)| (name, value)))
            .envs(plan.variables.iter().map(|(name, value)| (name, value)))
            // The job exits when its stdin is closed. This happens when the worker dies, so no job outlives its worker.
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let (tell, events) = sync_channel(16);
        if let Some(stdout) = child.stdout.take() {
            thread::spawn(move || read_events(stdout, &tell));
        }
        let stderr_tail = Arc::new(Mutex::new(VecDeque::new()));
        if let Some(stderr) = child.stderr.take() {
            let kept = Arc::clone(&stderr_tail);
            thread::spawn(move || collect_stderr(stderr, &kept));
        }
        Ok(Self { child, events, stderr_tail, disk: Arc::clone(&plan.disk) })
    }

    fn listen(
        &self,
        options: &WorkerOptions,
        on_event: &mut dyn FnMut(ChildEvent),
        cut: &CancellationToken,
    ) -> Outcome {
        let begin = Instant::now();
        let mut measured_at = begin;
        loop {
            match self.events.recv_timeout(POLL_INTERVAL) {
                // A job can send these events in any number, so the checks below follow each of them.
                Ok(Ok(
                    event @ (ChildEvent::Progress { .. } | ChildEvent::PostersWritten | ChildEvent::PreviewReady),
                )) => {
                    on_event(event);
                }
                Ok(Ok(result)) => return Outcome::Result(result),
                Ok(Err(InvalidEvent)) => return Outcome::InvalidEvent,
                Err(RecvTimeoutError::Disconnected) => return Outcome::Closed,
                Err(RecvTimeoutError::Timeout) => {}
            }
            if cut.is_cancelled() {
                return Outcome::Cancelled;
            }
            if begin.elapsed() > options.timeout {
                return Outcome::TimedOut;
            }
            if measured_at.elapsed() > MEMORY_INTERVAL {
                measured_at = Instant::now();
                match session::find_excess(self.child.id(), PROCESSES, options.memory_bytes) {
                    Some(Excess::Processes) => return Outcome::TooManyProcesses,
                    Some(Excess::Memory) => return Outcome::OutOfMemory,
                    None => {}
                }
                match self.disk.measure(self.child.id()) {
                    DiskUse::Allowed => {}
                    DiskUse::TooMuch => return Outcome::TooMuchDisk,
                    DiskUse::Hidden => return Outcome::HiddenFiles,
                    DiskUse::LargestOnFullDisk => return Outcome::DiskFull,
                }
            }
        }
    }

    /// Ends the process after `outcome`, and returns the result of its task.
    fn end_after(&mut self, options: &WorkerOptions, outcome: Outcome) -> Ended {
        let status = self.end(matches!(outcome, Outcome::Closed | Outcome::Result(_)));
        let stderr_tail = self.stderr_tail();
        let is_regular = matches!(outcome, Outcome::Result(_) | Outcome::Cancelled);
        let ended = explain(options, outcome, status, &stderr_tail);
        if !is_regular {
            tracing::warn!(outcome = ?ended, stderr_tail, "a job was killed or crashed");
        }
        ended
    }

    /// Kills all processes of the job, and returns the exit status of the process that the worker started. With
    /// `by_itself`, first waits up to [`EXIT_TIMEOUT`] for this process to exit. Removes the caches of a job that used too much disk
    /// space, or hid files.
    fn end(&mut self, by_itself: bool) -> Option<ExitStatus> {
        let deadline = Instant::now() + if by_itself { EXIT_TIMEOUT } else { Duration::ZERO };
        let mut status = None;
        while status.is_none() && Instant::now() < deadline {
            status = self.child.try_wait().ok().flatten();
            if status.is_none() {
                thread::sleep(POLL_INTERVAL / 10);
            }
        }
        session::kill(self.child.id());
        if status.is_none() {
            // `kill` and `wait` fail only if the process has ended already.
            drop(self.child.kill());
            drop(self.child.wait());
        }
        // What the job wrote since its last measurement must not end the next job.
        self.disk.measure(self.child.id());
        self.disk.remove_exceeded_caches();
        status
    }

    fn stderr_tail(&self) -> String {
        let stderr_tail = self.stderr_tail.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&stderr_tail.iter().copied().collect::<Vec<_>>()).trim().to_owned()
    }
}

/// Parses each line of `stdout` as an event and sends it to `tell`. Stops at the end of the stream or after the first
/// invalid line.
fn read_events(stdout: impl Read, tell: &SyncSender<Result<ChildEvent, InvalidEvent>>) {
    let mut reader = BufReader::new(stdout);
    loop {
        let mut line = Vec::new();
        // A failed read counts as the end of the stream.
        let Ok(1..) = reader.by_ref().take(LINE_BYTES).read_until(b'\n', &mut line) else { return };
        let event = serde_json::from_slice(&line).map_err(|_error| InvalidEvent);
        let is_last = event.is_err();
        if tell.send(event).is_err() || is_last {
            return;
        }
    }
}

fn collect_stderr(mut stderr: impl Read, kept: &Mutex<VecDeque<u8>>) {
    let mut piece = [0; 1024];
    while let Ok(count @ 1..) = stderr.read(&mut piece) {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend(piece.iter().take(count));
        let beyond = kept.len().saturating_sub(STDERR_BYTES);
        kept.drain(..beyond);
    }
}
