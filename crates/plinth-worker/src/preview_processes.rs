//! Preview processes. Each loads one model and then draws single frames of it, until it has been idle for a while.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use plinth_pipeline::child::{ChildTask, PreviewTask};
use plinth_pipeline::failure_message;
use plinth_service::previews::{AT_ONCE, PreviewProblem, WantedPreview};
use plinth_spec::id::{ModelId, WorkspaceId};
use plinth_spec::limits;
use plinth_store::StoreError;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::child::ReusableChild;
use crate::job::JobPlan;
use crate::models::{RequestedModel, cache_folder, fetch_model, home_folder};
use crate::node::Node;
use crate::scratch::JobFolder;

/// Number of preview processes that stay, however much memory they have.
const ALWAYS_KEPT: usize = 2;
/// Maximum number of preview processes. A server lets as many accounts ask at a time.
const MAX_PROCESSES: usize = AT_ONCE;
/// All processes beyond [`ALWAYS_KEPT`] are ended when together they have more than this part of the memory of a job.
const MEMORY_SHARE: u64 = 4;
/// Time limit for storing that a model was unloaded.
const UNLOADING_TIME: Duration = Duration::from_secs(2);
/// Time limit of one frame, including the time to load the model.
pub(crate) const FRAME_TIME: Duration = Duration::from_mins(2);

/// A preview process with a loaded model.
pub(crate) struct PreviewProcess {
    workspace: WorkspaceId,
    model: ModelId,
    pub(crate) used: Instant,
    /// Whether the process has received a request.
    pub(crate) has_been_asked: bool,
    /// Identifiers of the assets that were downloaded to the folder of the process.
    pub(crate) downloaded: BTreeSet<String>,
    /// The process. `None` while it draws a frame, and after it has ended.
    pub(crate) child: Arc<Mutex<Option<ReusableChild>>>,
    pub(crate) folder: JobFolder,
}

/// The preview processes of a worker.
#[derive(Default)]
pub(crate) struct PreviewProcesses(Vec<PreviewProcess>);

/// The process for a request.
pub(crate) struct Found<'a> {
    pub(crate) process: &'a mut PreviewProcess,
    /// Whether another process was ended so that this one could be started.
    pub(crate) took_place: bool,
}

impl PreviewProcesses {
    pub(crate) const fn count(&self) -> usize {
        self.0.len()
    }

    /// Returns the process that has the model loaded. Starts a process if there is none, unless `cut` is cancelled before.
    /// Errors: the model cannot be fetched, or the process cannot be started.
    pub(crate) async fn find_or_start(
        &mut self,
        node: &Node,
        wanted: &WantedPreview,
        cut: &CancellationToken,
    ) -> Result<Found<'_>, PreviewProblem> {
        let is_it = |one: &PreviewProcess| {
            one.model == wanted.model_id && one.workspace == wanted.workspace_id && one.is_running()
        };
        if let Some(at) = self.0.iter().position(is_it) {
            return Ok(Found { process: &mut self.0[at], took_place: false });
        }
        let took_place = self.make_room(node).await;
        let starting = async {
            match PreviewProcess::start(node, wanted).await {
                Ok(process) => Ok(process),
                Err(error) => Err(not_fetched(node, "a preview cannot be started", &error, cut).await),
            }
        };
        self.0.push(until_cut(cut, starting).await?);
        let at = self.0.len() - 1;
        Ok(Found { process: &mut self.0[at], took_place })
    }

    /// Ends the least recently used processes until another one may be started. Returns whether there were some.
    async fn make_room(&mut self, node: &Node) -> bool {
        let before = self.0.len();
        // The most recently used ones last.
        self.0.sort_by_key(|one| one.used);
        while self.0.len() >= ALWAYS_KEPT {
            if self.0.len() < MAX_PROCESSES && !self.has_too_much_memory(node).await {
                break;
            }
            self.0.remove(0).end(node).await;
        }
        self.0.len() < before
    }

    async fn has_too_much_memory(&self, node: &Node) -> bool {
        self.memory_bytes().await > node.options.memory_bytes / MEMORY_SHARE
    }

    /// Measures the memory of all processes.
    async fn memory_bytes(&self) -> u64 {
        self.measure(ReusableChild::memory_bytes).await.map_or(u64::MAX, |all| all.into_iter().flatten().sum())
    }

    /// Measures each process, with `None` for one that has ended. Returns `None` after a panic.
    async fn measure<T: Send + 'static>(
        &self,
        of: impl Fn(&ReusableChild) -> T + Send + 'static,
    ) -> Option<Vec<Option<T>>> {
        let children: Vec<_> = self.0.iter().map(|one| Arc::clone(&one.child)).collect();
        // On a blocking thread, because it reads many files.
        let measuring = tokio::task::spawn_blocking(move || {
            let locked = |child: &Arc<Mutex<Option<ReusableChild>>>| {
                child.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(&of)
            };
            children.iter().map(locked).collect()
        });
        measuring.await.inspect_err(|error| tracing::error!(error = %error, "measuring previews panicked")).ok()
    }

    /// Ends the processes that use more than a job may, or that have sent something without a request. While they draw, they
    /// are measured only if a frame takes long.
    async fn end_misbehaving(&mut self, node: &Node) {
        let memory_bytes = node.options.memory_bytes;
        let measured = self.measure(move |child| child.misconduct(memory_bytes)).await.unwrap_or_default();
        // From the last to the first, because the last one takes the place of a removed one.
        for (at, found) in measured.into_iter().enumerate().rev() {
            if let Some(Some(reason)) = found {
                let one = self.0.swap_remove(at);
                tracing::warn!(model.id = %one.model, reason, "an idle preview process is ended");
                one.end(node).await;
            }
        }
    }

    /// Ends the processes that misbehave, those that were idle for too long, and the least recently used ones if all have more
    /// memory than allowed, because the memory of a process grows with what it draws.
    pub(crate) async fn end_idle(&mut self, node: &Node) {
        self.end_misbehaving(node).await;
        let is_idle = |one: &PreviewProcess| one.used.elapsed() > node.options.preview_idle || !one.is_running();
        while let Some(at) = self.0.iter().position(is_idle) {
            self.0.swap_remove(at).end(node).await;
        }
        self.0.sort_by_key(|one| one.used);
        while self.0.len() > ALWAYS_KEPT && self.has_too_much_memory(node).await {
            self.0.remove(0).end(node).await;
        }
    }

    /// Forgets processes of a model that have ended.
    pub(crate) fn forget_ended(&mut self, model: &ModelId) {
        self.0.retain(|one| one.model != *model || one.is_running());
    }

    pub(crate) async fn end_all(self, node: &Node) {
        for one in self.0 {
            one.end(node).await;
        }
    }
}

/// Runs a part of a preview until `cut` is cancelled.
/// Errors: those of the part. If `cut` is cancelled, nobody reads the reply, so the error is not logged.
pub(crate) async fn until_cut<T>(
    cut: &CancellationToken,
    part: impl Future<Output = Result<T, PreviewProblem>>,
) -> Result<T, PreviewProblem> {
    tokio::select! {
        done = part => done,
        () = cut.cancelled() => Err(PreviewProblem::Internal),
    }
}

/// Logs why the service could not draw a preview.
pub(crate) fn internal(what: &str, cause: &str) -> PreviewProblem {
    tracing::error!(error = cause, "{what}");
    PreviewProblem::Internal
}

/// Logs why the files of a preview could not be fetched, and tests the store if it may be the cause.
pub(crate) async fn not_fetched(
    node: &Node,
    what: &str,
    error: &StoreError,
    cut: &CancellationToken,
) -> PreviewProblem {
    let problem = internal(what, &failure_message(error));
    node.test_store_after(error, cut).await;
    problem
}

impl PreviewProcess {
    async fn start(node: &Node, wanted: &WantedPreview) -> Result<Self, StoreError> {
        let Node { service, scratch, options, .. } = node;
        let folder = scratch.job()?;
        let model = PathBuf::from("model.glb");
        let file = folder.path().join(&model);
        let requested = RequestedModel { id: &wanted.model_id, sha256: &wanted.sha256 };
        fetch_model(service.store(), scratch, options, &requested, &file).await?;
        let task = PreviewTask {
            model,
            longest: limits::PREVIEW_SIDE_MAX,
            adapter: options.adapter.clone(),
            ffmpeg: options.ffmpeg.clone(),
            cache: Some(cache_folder(scratch, &wanted.model_id)),
        };
        let home = Some(home_folder(scratch, &wanted.workspace_id));
        let plan = JobPlan { task: ChildTask::Preview(task), time: FRAME_TIME, folder: folder.path(), home };
        let child = ReusableChild::start(options, &node.describe(plan)?)?;
        Ok(Self {
            workspace: wanted.workspace_id.clone(),
            model: wanted.model_id.clone(),
            used: Instant::now(),
            has_been_asked: false,
            downloaded: BTreeSet::new(),
            child: Arc::new(Mutex::new(Some(child))),
            folder,
        })
    }

    /// Ends the process, and stores for other processes that its model is no longer loaded.
    async fn end(self, node: &Node) {
        let Self { child, folder, model, .. } = self;
        // On a blocking thread, because it waits for the process.
        let ending = tokio::task::spawn_blocking(move || {
            drop(child);
            drop(folder);
        });
        if let Err(error) = ending.await {
            tracing::error!(error = %error, "ending a preview panicked");
        }
        // A worker that stops does not wait long for the database. If this fails, maintenance deletes the rows later.
        match timeout(UNLOADING_TIME, node.service.model_unloaded(&model)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                tracing::warn!(error = %error, cause = ?error.cause, "the rows of an ended preview could not be deleted");
            }
            Err(_late) => tracing::warn!("the rows of an ended preview could not be deleted in time"),
        }
    }

    fn is_running(&self) -> bool {
        self.child.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }
}
