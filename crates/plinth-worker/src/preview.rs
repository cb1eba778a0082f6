//! Draws previews. A preview process loads one model and then draws single frames of it, until it has been idle for a while.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use plinth_pipeline::child::{ChildEvent, ChildTask, PreviewRequest, PreviewTask};
use plinth_service::previews::{MAX_PICTURE_BYTES, MAX_SIDE, WantedPreview};
use plinth_spec::EnvPart;
use plinth_spec::id::{ModelId, WorkspaceId};
use plinth_store::{ObjectKey, StoreError};
use tempfile::TempDir;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::child::{Ended, ReusableChild};
use crate::fetch::download;
use crate::inputs::{environment_file, environment_files};
use crate::job::JobPlan;
use crate::models::{RequestedModel, cache_folder, fetch_model, home_folder};
use crate::node::Node;
use crate::options::WorkerOptions;
use crate::outputs::OUT;

/// Maximum number of preview processes. Each has one model loaded.
const MAX_PROCESSES: usize = 2;
/// Maximum interval between two checks for idle processes.
const IDLE_CHECK_INTERVAL: Duration = Duration::from_secs(5);
/// Minimum interval between two checks for idle processes.
const LEAST_CHECK_INTERVAL: Duration = Duration::from_millis(100);
/// Time limit of one frame, including the time to load the model.
const FRAME_TIME: Duration = Duration::from_mins(2);
/// Interval at which a worker polls for requests of other processes within [`BUSY_TIME`] after a request, if the database
/// does not notify workers. The next request is likely in this time: a user turns the model or moves a slider.
const BUSY_POLL_INTERVAL: Duration = Duration::from_millis(10);
/// Time after a request in which the worker polls at [`BUSY_POLL_INTERVAL`].
const BUSY_TIME: Duration = Duration::from_secs(2);
/// Interval after [`BUSY_TIME`], until [`WorkerOptions::preview_idle`] has passed since the request.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Pause after an error of the database while polling for requests of other processes.
const ERROR_PAUSE: Duration = Duration::from_secs(2);
/// Time limit for storing that a model was unloaded.
const UNLOADING_TIME: Duration = Duration::from_secs(2);
/// Wall-clock time from which the CPU time limit of a preview process is computed.
const LIFETIME: Duration = Duration::from_hours(1);

/// The first bytes of every PNG.
const PNG_SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";

/// A preview process with a loaded model.
struct PreviewProcess {
    workspace: WorkspaceId,
    model: ModelId,
    used: Instant,
    /// Identifiers of the assets that were downloaded to the folder of the process.
    downloaded: BTreeSet<String>,
    /// The process. `None` while it draws a frame, and after it has ended.
    child: Arc<Mutex<Option<ReusableChild>>>,
    folder: TempDir,
}

/// Draws previews until `stop` is cancelled: requests of this process, which arrive at `here`, and requests of other processes,
/// which are rows of the database. Draws one frame at a time, so that previews hardly slow down renders.
pub(crate) async fn serve_previews(node: Arc<Node>, mut here: mpsc::Receiver<WantedPreview>, stop: CancellationToken) {
    let mut processes: Vec<PreviewProcess> = Vec::new();
    let mut idle_check =
        tokio::time::interval(IDLE_CHECK_INTERVAL.min(node.options.preview_idle).max(LEAST_CHECK_INTERVAL));
    let mut elsewhere = Elsewhere { look_at: tokio::time::Instant::now(), claimed: None };
    loop {
        let next = tokio::select! {
            () = stop.cancelled() => break,
            _tick = idle_check.tick() => {
                end_idle(&node, &mut processes).await;
                None
            }
            // `recv` never returns `None`, because the service keeps the sender.
            Some(next) = here.recv() => Some(next),
            () = node.service.preview_requested() => elsewhere.claim(&node).await,
            () = tokio::time::sleep_until(elsewhere.look_at) => elsewhere.claim(&node).await,
        };
        // If the reply is closed, the request was cancelled, for example because the user has changed another setting.
        if let Some(next) = next.filter(|next| !next.reply.is_closed()) {
            node.previews.store(processes.len() + 1, Ordering::SeqCst);
            answer(&node, &mut processes, next, &stop).await;
        }
        node.previews.store(processes.len(), Ordering::SeqCst);
    }
    for one in processes {
        end(&node, one).await;
    }
    node.previews.store(0, Ordering::SeqCst);
}

/// Polls for requests of other processes.
struct Elsewhere {
    /// Time of the next poll, unless a notification comes first.
    look_at: tokio::time::Instant,
    /// Time at which the last request was claimed; `None` if none was claimed yet.
    claimed: Option<tokio::time::Instant>,
}

impl Elsewhere {
    /// Claims the next request. Returns `None` if no request is waiting, the disk has no room, or the claim fails.
    async fn claim(&mut self, node: &Node) -> Option<WantedPreview> {
        let claimed = if node.has_room() { node.service.claim_preview().await } else { Ok(None) };
        let now = tokio::time::Instant::now();
        let (next, pause) = match claimed {
            Ok(Some(next)) => {
                self.claimed = Some(now);
                (Some(next), Duration::ZERO)
            }
            Ok(None) => (None, self.pause(node, now)),
            Err(error) => {
                tracing::error!(error = %error, cause = ?error.cause, "looking for previews failed");
                (None, ERROR_PAUSE)
            }
        };
        self.look_at = now + pause;
        next
    }

    /// Returns the pause after a poll that found no request.
    fn pause(&self, node: &Node, now: tokio::time::Instant) -> Duration {
        match self.claimed.map(|at| now - at) {
            Some(since) if !node.service.notifies_workers() && since < node.options.preview_idle => {
                if since < BUSY_TIME { BUSY_POLL_INTERVAL } else { POLL_INTERVAL }
            }
            _ => node.options.poll,
        }
    }
}

async fn answer(node: &Node, processes: &mut Vec<PreviewProcess>, wanted: WantedPreview, stop: &CancellationToken) {
    let begin = Instant::now();
    let drawn = match find_or_start(node, processes, &wanted).await {
        Ok(at) => draw(node, &mut processes[at], &wanted, stop).await,
        Err(message) => Err(message),
    };
    metrics::histogram!("plinth_worker_preview_seconds").record(begin.elapsed().as_secs_f64());
    if drawn.is_err() {
        processes.retain(|one| one.model != wanted.model_id || one.is_running());
        if stop.is_cancelled() {
            // The reply is dropped, so another worker can claim the request.
            return;
        }
    }
    // Sending fails only if the request was cancelled.
    let _unheard = wanted.reply.send(drawn);
}

/// Returns the index of the process that has the model loaded. Starts a process if there is none.
async fn find_or_start(
    node: &Node,
    processes: &mut Vec<PreviewProcess>,
    wanted: &WantedPreview,
) -> Result<usize, String> {
    let is_it =
        |one: &PreviewProcess| one.model == wanted.model_id && one.workspace == wanted.workspace_id && one.is_running();
    if let Some(at) = processes.iter().position(is_it) {
        return Ok(at);
    }
    if processes.len() >= MAX_PROCESSES {
        let oldest = processes.iter().enumerate().min_by_key(|(_at, one)| one.used).map_or(0, |(at, _one)| at);
        let ended = processes.swap_remove(oldest);
        end(node, ended).await;
    }
    let started = start(node, wanted).await.map_err(|error| {
        tracing::error!(error = %error, "a preview cannot be started");
        "the preview cannot be started; please try again".to_owned()
    })?;
    processes.push(started);
    Ok(processes.len() - 1)
}

async fn start(node: &Node, wanted: &WantedPreview) -> Result<PreviewProcess, StoreError> {
    let Node { service, scratch, options, .. } = node;
    let folder = scratch.job()?;
    let model = PathBuf::from("model.glb");
    let file = folder.path().join(&model);
    let requested = RequestedModel { id: &wanted.model_id, sha256: &wanted.sha256 };
    fetch_model(service.store(), scratch, options.cache_bytes, &requested, &file).await?;
    let task = PreviewTask {
        model,
        longest: MAX_SIDE,
        adapter: options.adapter.clone(),
        ffmpeg: options.ffmpeg.clone(),
        cache: Some(cache_folder(scratch, &wanted.model_id)),
    };
    let home = Some(home_folder(scratch, &wanted.workspace_id));
    let plan = JobPlan { task: ChildTask::Preview(task), time: LIFETIME, folder: folder.path(), home };
    let child = ReusableChild::start(options, &node.describe(plan)?)?;
    Ok(PreviewProcess {
        workspace: wanted.workspace_id.clone(),
        model: wanted.model_id.clone(),
        used: Instant::now(),
        downloaded: BTreeSet::new(),
        child: Arc::new(Mutex::new(Some(child))),
        folder,
    })
}

async fn draw(
    node: &Node,
    process: &mut PreviewProcess,
    wanted: &WantedPreview,
    stop: &CancellationToken,
) -> Result<Vec<u8>, String> {
    let downloaded = download_assets(node, process, wanted).await;
    downloaded.map_err(|error| {
        tracing::error!(error = %error, "an asset of a preview cannot be fetched");
        "an image or environment cannot be fetched; please try again".to_owned()
    })?;
    let target = PathBuf::from(OUT).join("preview.png");
    let request = PreviewRequest {
        settings: wanted.settings.echoed(),
        environment: wanted.assets.env.as_ref().map(|id| environment_files(&format!("{id}."))),
        images: wanted.assets.images.keys().map(|id| (id.clone(), image_file(id))).collect::<BTreeMap<_, _>>(),
        longest: wanted.longest,
        is_draft: wanted.is_draft,
        position: wanted.position,
        question: wanted.question,
        target: target.clone(),
    };
    let request = serde_json::to_string(&request).map_err(|error| format!("the request cannot be written: {error}"))?;
    let question = wanted.question;
    let options = WorkerOptions { timeout: FRAME_TIME, ..node.options.clone() };
    let (slot, stop) = (Arc::clone(&process.child), stop.clone());
    let asking = tokio::task::spawn_blocking(move || {
        let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(mut child) = slot.take() else { return Err("the preview has ended; please try again".to_owned()) };
        match child.ask(&options, Some(&request), &mut |_event| {}, &stop) {
            Ended::Done(ChildEvent::Previewed { .. }) => {
                *slot = Some(child);
                Ok(None)
            }
            // The process is not trusted, so its answer is checked.
            Ended::Done(ChildEvent::PreviewAnswered { answer })
                if question.is_some_and(|asked| answer.answers(asked)) =>
            {
                *slot = Some(child);
                Ok(Some(answer))
            }
            Ended::Done(ChildEvent::PreviewRejected(failure)) => {
                *slot = Some(child);
                Err(failure.for_customer().to_owned())
            }
            Ended::Failed(failure) => {
                tracing::warn!(?failure, "a preview ended");
                Err(failure.for_customer().to_owned())
            }
            Ended::Done(_other) => Err("the renderer returned an unexpected result".to_owned()),
            Ended::Cancelled => Err("the server is stopping".to_owned()),
        }
    });
    let asked =
        asking.await.unwrap_or_else(|error| Err(format!("the task that watches the preview panicked: {error}")));
    process.used = Instant::now();
    if let Some(answer) = asked? {
        return serde_json::to_vec(&answer).map_err(|error| format!("the answer cannot be written: {error}"));
    }
    let file = process.folder.path().join(&target);
    let reading = tokio::task::spawn_blocking(move || read_picture(&file)).await.map_err(io::Error::from);
    reading.and_then(|read| read).map_err(|error| {
        tracing::warn!(error = %error, "the picture of a preview cannot be read");
        "the renderer wrote no picture".to_owned()
    })
}

/// Reads the picture that a preview process has written. The process is not trusted and is still running, so a link, or
/// anything else that is not a regular file with a PNG, is rejected. The process cannot replace the folder of the file.
fn read_picture(file: &Path) -> io::Result<Vec<u8>> {
    let invalid = |problem| io::Error::new(io::ErrorKind::InvalidData, problem);
    let mut options = fs::OpenOptions::new();
    let opened = options.read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(file)?;
    let about = opened.metadata()?;
    if !about.is_file() || about.len() > MAX_PICTURE_BYTES {
        return Err(invalid("the picture is not a regular file or is too large"));
    }
    let mut bytes = Vec::new();
    opened.take(MAX_PICTURE_BYTES).read_to_end(&mut bytes)?;
    if bytes.starts_with(PNG_SIGNATURE) { Ok(bytes) } else { Err(invalid("the picture is not a PNG")) }
}

/// Downloads the assets of a request that are not in the folder of the process yet.
async fn download_assets(node: &Node, process: &mut PreviewProcess, wanted: &WantedPreview) -> Result<(), StoreError> {
    let store = node.service.store();
    let mut missing: Vec<(ObjectKey<'_>, PathBuf, String)> = Vec::new();
    for (id, image) in &wanted.assets.images {
        missing.push((image.key(), image_file(id), id.clone()));
    }
    if let Some(id) = &wanted.assets.env {
        for part in EnvPart::required() {
            let name = format!("{id}.{}", environment_file(part));
            missing.push((ObjectKey::Env(id, part), PathBuf::from(&name), name));
        }
    }
    for (key, file, name) in missing {
        if process.downloaded.contains(&name) {
            continue;
        }
        let place = process.folder.path().join(file);
        download(store, &key, &place).await?;
        node.options.fence.give(&[Path::new(&place)])?;
        process.downloaded.insert(name);
    }
    Ok(())
}

/// Returns the path of an image in the folder of a preview process. The identifier is safe in a path: it was found in the
/// database, so it consists of letters and digits.
fn image_file(id: &str) -> PathBuf {
    PathBuf::from(format!("image-{id}"))
}

async fn end_idle(node: &Node, processes: &mut Vec<PreviewProcess>) {
    while let Some(at) =
        processes.iter().position(|one| one.used.elapsed() > node.options.preview_idle || !one.is_running())
    {
        end(node, processes.swap_remove(at)).await;
    }
}

/// Ends a preview process, and stores in the database that its model is no longer loaded.
async fn end(node: &Node, process: PreviewProcess) {
    let PreviewProcess { child, folder, model, .. } = process;
    // Dropping `child` waits for the process, so it needs a thread that may block.
    let ending = tokio::task::spawn_blocking(move || {
        drop(child);
        drop(fs::remove_dir_all(folder.path()));
    });
    if let Err(error) = ending.await {
        tracing::error!(error = %error, "ending a preview panicked");
    }
    // The time limit is short, because the worker may be stopping. If the deletion fails, maintenance deletes the rows
    // later.
    match timeout(UNLOADING_TIME, node.service.model_unloaded(&model)).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => {
            tracing::warn!(error = %error, cause = ?error.cause, "the rows of an ended preview could not be deleted");
        }
        Err(_late) => tracing::warn!("the rows of an ended preview could not be deleted in time"),
    }
}

impl PreviewProcess {
    fn is_running(&self) -> bool {
        self.child.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_with_a_picture_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("text.png"), "secret").unwrap();
        fs::write(path("picture.png"), PNG_SIGNATURE).unwrap();
        std::os::unix::fs::symlink(path("picture.png"), path("link.png")).unwrap();
        fs::create_dir(path("folder.png")).unwrap();
        let large = fs::File::create(path("large.png")).unwrap();
        large.set_len(MAX_PICTURE_BYTES + 1).unwrap();
        assert_eq!(read_picture(&path("picture.png")).unwrap(), PNG_SIGNATURE);
        for name in ["text.png", "link.png", "folder.png", "large.png", "missing.png"] {
            assert!(read_picture(&path(name)).is_err(), "{name}");
        }
    }
}
