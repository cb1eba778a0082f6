//! Running a job in a process of its own: `plinth render-child`.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Read};
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use plinth_fence::Fence;
use plinth_pipeline::child::{ChildEvent, ChildFailure};
use plinth_service::is_out_of_memory;
use plinth_spec::FailureCode;
use tokio_util::sync::CancellationToken;

use crate::options::WorkerOptions;
use crate::session;

/// Time between two looks at a job.
const LOOK: Duration = Duration::from_millis(100);
/// Time between two looks at its memory.
const WEIGH: Duration = Duration::from_millis(500);
/// How long a job may take to end once it has told its result, or has closed its output.
const LEAVE: Duration = Duration::from_secs(10);
/// Longest line that is read.
const LINE_BYTES: u64 = 4 << 20;
/// How much of what it says besides is kept, for the log.
const WORDS_BYTES: usize = 4096;
/// Signal 6: the program gave up, as it does when the kernel refuses it memory.
const SIGABRT: i32 = 6;
/// Signal 24: the limit of processor time is used up.
const SIGXCPU: i32 = 24;

/// A job that is to run.
#[derive(Clone, Debug)]
pub(crate) struct ChildPlan {
    /// Its folder, with the description.
    pub(crate) folder: PathBuf,
    /// Environment variables besides those of the options.
    pub(crate) variables: Vec<(&'static str, PathBuf)>,
    /// What it enters before it reads anything but the description.
    pub(crate) fence: Option<Fence>,
}

/// How a job ended.
#[derive(Debug)]
pub(crate) enum Ended {
    /// With this result.
    Done(ChildEvent),
    /// Without success.
    Failed(ChildFailure),
    /// It was cut off.
    Cut,
}

/// Runs a job to its end, and ends it when it takes too long or too much, or when `cut` is cancelled. Whatever happens,
/// none of its processes is left. `hear` hears of its progress. Blocks.
pub(crate) fn run(
    options: &WorkerOptions,
    plan: &ChildPlan,
    hear: &mut dyn FnMut(ChildEvent),
    cut: &CancellationToken,
) -> Ended {
    let mut running = match Running::start(options, plan) {
        Ok(running) => running,
        Err(error) => return crashed(format!("the renderer cannot be started: {error}")),
    };
    let heard = running.listen(options, hear, cut);
    let status = running.end(matches!(heard, Heard::Closed | Heard::Result(_)));
    let words = running.words();
    let ended = match heard {
        Heard::Result(ChildEvent::Failed(failure)) => return Ended::Failed(failure),
        Heard::Result(event) => return Ended::Done(event),
        Heard::Cut => return Ended::Cut,
        Heard::TooLong => failed(FailureCode::Timeout, too_long(options)),
        Heard::TooLarge => crashed(too_large(options)),
        Heard::Nonsense => crashed("the renderer said what cannot be understood".to_owned()),
        Heard::Closed => match status.map(|status| (status, status.signal())) {
            Some((_status, Some(SIGXCPU))) => failed(FailureCode::Timeout, too_long(options)),
            Some((_status, Some(SIGABRT))) if is_out_of_memory(&words) => crashed(too_large(options)),
            Some((_status, Some(signal))) => crashed(format!("the renderer died of signal {signal}")),
            Some((status, None)) => crashed(format!("the renderer ended without a result ({status})")),
            None => crashed("the renderer hung when it was to end".to_owned()),
        },
    };
    tracing::warn!(outcome = ?ended, words, "a job was ended or died");
    ended
}

fn too_long(options: &WorkerOptions) -> String {
    format!("the render took longer than {} seconds", options.timeout.as_secs())
}

fn too_large(options: &WorkerOptions) -> String {
    let most = options.memory_bytes >> 20;
    format!("the render needs more than {most} MB of memory; a simpler model or smaller textures help")
}

fn failed(code: FailureCode, message: String) -> Ended {
    Ended::Failed(ChildFailure { code, message })
}

fn crashed(message: String) -> Ended {
    failed(FailureCode::RendererCrash, message)
}

/// What was heard of a job at last.
enum Heard {
    Result(ChildEvent),
    Closed,
    Nonsense,
    TooLong,
    TooLarge,
    Cut,
}

/// A line that was not understood.
struct Nonsense;

struct Running {
    child: Child,
    events: Receiver<Result<ChildEvent, Nonsense>>,
    words: Arc<Mutex<VecDeque<u8>>>,
}

impl Running {
    fn start(options: &WorkerOptions, plan: &ChildPlan) -> std::io::Result<Self> {
        let fence = plan.fence.as_ref().map(Fence::to_argument).transpose()?;
        let mut child = Command::new(&options.program)
            .arg("render-child")
            .arg(&plan.folder)
            .args(fence.iter().flat_map(|fence| ["--fence", fence]))
            .env_clear()
            .envs(options.environment.iter().map(|(name, value)| (name, value)))
            .envs(plan.variables.iter().map(|(name, value)| (name, value)))
            // Open as long as this process lives: the job ends when it closes.
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let (tell, events) = sync_channel(16);
        if let Some(stdout) = child.stdout.take() {
            thread::spawn(move || read_events(stdout, &tell));
        }
        let words = Arc::new(Mutex::new(VecDeque::new()));
        if let Some(stderr) = child.stderr.take() {
            let kept = Arc::clone(&words);
            thread::spawn(move || keep_words(stderr, &kept));
        }
        Ok(Self { child, events, words })
    }

    fn listen(&self, options: &WorkerOptions, hear: &mut dyn FnMut(ChildEvent), cut: &CancellationToken) -> Heard {
        let begin = Instant::now();
        let mut weighed = begin;
        loop {
            match self.events.recv_timeout(LOOK) {
                Ok(Ok(event @ (ChildEvent::Progress { .. } | ChildEvent::PostersWritten))) => hear(event),
                Ok(Ok(result)) => return Heard::Result(result),
                Ok(Err(Nonsense)) => return Heard::Nonsense,
                Err(RecvTimeoutError::Disconnected) => return Heard::Closed,
                Err(RecvTimeoutError::Timeout) => {}
            }
            if cut.is_cancelled() {
                return Heard::Cut;
            }
            if begin.elapsed() > options.timeout {
                return Heard::TooLong;
            }
            if weighed.elapsed() > WEIGH {
                weighed = Instant::now();
                if session::memory_bytes(self.child.id()) > options.memory_bytes {
                    return Heard::TooLarge;
                }
            }
        }
    }

    /// Ends all its processes, and says how the first one ended; `by_itself`: it is given a while for that.
    fn end(&mut self, by_itself: bool) -> Option<ExitStatus> {
        let deadline = Instant::now() + if by_itself { LEAVE } else { Duration::ZERO };
        let mut status = None;
        while status.is_none() && Instant::now() < deadline {
            status = self.child.try_wait().ok().flatten();
            if status.is_none() {
                thread::sleep(LOOK / 10);
            }
        }
        session::kill(self.child.id());
        if status.is_none() {
            // Both fail only where it is gone already.
            drop(self.child.kill());
            drop(self.child.wait());
        }
        status
    }

    fn words(&self) -> String {
        let words = self.words.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&words.iter().copied().collect::<Vec<_>>()).trim().to_owned()
    }
}

/// Hands on events until the end of the stream, or the first line that is none.
fn read_events(stdout: impl Read, tell: &SyncSender<Result<ChildEvent, Nonsense>>) {
    let mut reader = BufReader::new(stdout);
    loop {
        let mut line = Vec::new();
        // Nothing more can be heard of a stream that fails.
        let Ok(1..) = reader.by_ref().take(LINE_BYTES).read_until(b'\n', &mut line) else { return };
        let event = serde_json::from_slice(&line).map_err(|_error| Nonsense);
        let is_last = event.is_err();
        if tell.send(event).is_err() || is_last {
            return;
        }
    }
}

fn keep_words(mut stderr: impl Read, kept: &Mutex<VecDeque<u8>>) {
    let mut piece = [0; 1024];
    while let Ok(count @ 1..) = stderr.read(&mut piece) {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend(piece.iter().take(count));
        let beyond = kept.len().saturating_sub(WORDS_BYTES);
        kept.drain(..beyond);
    }
}
