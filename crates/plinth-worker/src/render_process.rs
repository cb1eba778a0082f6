//! A reused job process: it keeps one model loaded and draws several renders of it, one after another.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use plinth_pipeline::child::ChildEvent;
use plinth_spec::id::{ModelId, WorkspaceId};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use tracing::Span;

use crate::child::{ChildPlan, Ended, ReusableChild, crashed};
use crate::job::{JobListener, pass_on, processor_secs};
use crate::options::WorkerOptions;
use crate::scratch::JobFolder;

/// Time without a render after which a process is ended.
pub(crate) const IDLE: Duration = Duration::from_secs(10);
/// Interval at which an idle process is checked.
const CHECK_INTERVAL: Duration = Duration::from_millis(500);
/// The memory limit of an idle process is the memory limit of a job divided by this number.
const IDLE_MEMORY: u64 = 4;

/// Identifies the model that a process has loaded. All renders of the process have the same key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProcessKey {
    pub(crate) workspace: WorkspaceId,
    pub(crate) model: ModelId,
    /// SHA-256 of the model's file.
    pub(crate) sha256: String,
    /// Maximum side of the textures with which the model is loaded.
    pub(crate) texture_side: u32,
}

/// A process for all renders with the same key. The process ends soon after this value is dropped, after a render that
/// failed, and when it has been idle for [`IDLE`].
#[derive(Debug)]
pub(crate) struct RenderProcess {
    process_key: ProcessKey,
    folder: PathBuf,
    /// Keeps the folder until the files of the first render have been moved out of it; `None` afterwards.
    files: Option<Arc<JobFolder>>,
    messages: Sender<Message>,
    thread: JoinHandle<()>,
}

/// A message to the thread of a process.
enum Message {
    Render(Assignment),
    /// The files of the last render have been moved out of the folder, so the process is idle.
    Idle,
}

struct Assignment {
    /// Task as a line of JSON; `None` for the task in the job description.
    task: Option<String>,
    time: Duration,
    on_event: Box<dyn FnMut(ChildEvent) + Send>,
    cut: CancellationToken,
    span: Span,
    reply: oneshot::Sender<Ended>,
}

impl RenderProcess {
    /// Starts a process. Its first task is in the job description in `folder`. The folder is removed when the process has
    /// ended and its files are no longer needed.
    /// Errors: the thread of the process cannot be started.
    pub(crate) fn start(
        options: WorkerOptions,
        process_key: ProcessKey,
        plan: ChildPlan,
        folder: Arc<JobFolder>,
    ) -> io::Result<Self> {
        let (messages, received) = channel();
        let path = folder.path().to_owned();
        let files = Some(Arc::clone(&folder));
        // The kernel kills a job when the thread that started it ends, so this thread lives as long as the process.
        let thread = thread::Builder::new().name("render process".to_owned()).spawn(move || {
            serve(&options, &plan, &received);
            drop(folder);
        })?;
        Ok(Self { process_key, folder: path, files, messages, thread })
    }

    pub(crate) fn process_key(&self) -> &ProcessKey {
        &self.process_key
    }

    /// Returns the folder of the process.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Draws a render: `task`, or with `None` the task in the job description. If the render fails, the process ends.
    pub(crate) async fn run(
        &self,
        task: Option<String>,
        time: Duration,
        listener: JobListener,
        cut: &CancellationToken,
    ) -> Ended {
        let (reply, answer) = oneshot::channel();
        let on_event = Box::new(pass_on(Some(listener)));
        let assignment = Assignment { task, time, on_event, cut: cut.clone(), span: Span::current(), reply };
        // Sending fails if the process has ended, which also drops the sender of the reply.
        let _ended = self.messages.send(Message::Render(assignment));
        answer.await.unwrap_or_else(|_ended| crashed("the process of the renderer has ended".to_owned()))
    }

    /// Returns a reference to the folder, if the first render of the process has not finished. The folder is kept while the
    /// reference exists.
    pub(crate) fn into_files(self) -> Option<Arc<JobFolder>> {
        self.files
    }

    /// Marks the process as idle, so that it ends after the time [`IDLE`] without a render.
    pub(crate) fn set_idle(&mut self) {
        self.files = None;
        // Sending fails if the process has ended; `is_running` is false then.
        let _ended = self.messages.send(Message::Idle);
    }

    /// Returns whether the process still runs. It may end at any time.
    pub(crate) fn is_running(&self) -> bool {
        !self.thread.is_finished()
    }

    /// Ends the process. Blocks the thread until it has ended and its folder is removed.
    pub(crate) fn end(self) {
        drop(self.messages);
        if self.thread.join().is_err() {
            tracing::error!("the thread of a render process panicked");
        }
    }
}

/// Starts the process and passes renders to it, until the process ends or must end.
fn serve(options: &WorkerOptions, plan: &ChildPlan, messages: &Receiver<Message>) {
    let mut child = ReusableChild::start(options, plan);
    while let Some(assignment) = next(child.as_ref().ok(), messages, options.memory_bytes / IDLE_MEMORY) {
        let Assignment { task, time, mut on_event, cut, span, reply } = assignment;
        let options = WorkerOptions { timeout: time, ..options.clone() };
        // The job description limits the time of the first render.
        if let (Ok(child), Some(_)) = (&mut child, &task) {
            child.allow_processor_time_of_task(processor_secs(time));
        }
        let ended = span.in_scope(|| match &mut child {
            Ok(child) => child.ask(&options, task.as_deref(), &mut on_event, &cut),
            Err(error) => crashed(format!("the renderer cannot be started: {error}")),
        });
        // Ends the span of the last stage, which `on_event` owns.
        drop(on_event);
        let stays = matches!(ended, Ended::Done(ChildEvent::Rendered { .. }));
        // Sending fails only if the caller no longer waits for the render.
        let _unheard = reply.send(ended);
        if !stays {
            return;
        }
    }
}

/// Returns whether an idle process behaves as expected.
fn is_resting(child: Option<&ReusableChild>, memory_bytes: u64) -> bool {
    let misconduct = child.map(|child| child.misconduct(memory_bytes));
    if let Some(Some(reason)) = misconduct {
        tracing::debug!(reason, "an idle render process is ended");
    }
    matches!(misconduct, Some(None))
}

/// Waits for the next render. Returns `None` if none arrives in time, or if the idle process must end.
fn next(child: Option<&ReusableChild>, messages: &Receiver<Message>, memory_bytes: u64) -> Option<Assignment> {
    let mut idle_since: Option<Instant> = None;
    loop {
        match messages.recv_timeout(CHECK_INTERVAL) {
            Ok(Message::Render(assignment)) => return Some(assignment),
            Ok(Message::Idle) => idle_since = Some(Instant::now()),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return None,
        }
        if let Some(since) = idle_since
            && (since.elapsed() >= IDLE || !is_resting(child, memory_bytes))
        {
            return None;
        }
    }
}
