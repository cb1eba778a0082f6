//! Draws previews, one after the other.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use plinth_pipeline::child::{ChildEvent, ChildFailure, PreviewRequest};
use plinth_pipeline::failure_message;
use plinth_service::jobs::RenderAssets;
use plinth_service::previews::{MAX_PICTURE_BYTES, PreviewProblem, PreviewReply, WantedPreview};
use plinth_spec::{EnvPart, FailureCode};
use plinth_store::{ObjectKey, StoreError};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::child::Ended;
use crate::fetch::download;
use crate::inputs::{environment_file, environment_files};
use crate::job::processor_secs;
use crate::node::Node;
use crate::options::WorkerOptions;
use crate::outputs::OUT;
use crate::preview_processes::{FRAME_TIME, PreviewProcess, PreviewProcesses, internal, not_fetched, until_cut};
use crate::preview_queue::PreviewQueue;
use crate::slots::Slots;
use crate::system::open_untrusted;

/// Maximum interval between two checks for idle processes.
const IDLE_CHECK_INTERVAL: Duration = Duration::from_secs(5);
/// Minimum interval between two checks for idle processes.
const LEAST_CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// Time after which a frame is ended if its client has left and no request for its model has waited since then. Ending a frame
/// unloads the model. Most frames are drawn faster than this, so one that a newer request replaces seldom costs a model.
const LEFT_TIME: Duration = Duration::from_secs(2);
/// Interval at which a worker checks whether the client of a frame has left.
const LEFT_CHECK_INTERVAL: Duration = Duration::from_millis(250);

/// Maximum pause after a picture while a render is drawn that is not the free video of an upload.
const MAX_REST: Duration = Duration::from_millis(100);

/// The first bytes of every PNG.
const PNG_SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";

/// Draws previews until `stop` is cancelled: requests of this process, which arrive at `here`, and requests of other processes,
/// which are rows of the database. Draws one frame at a time. While a render is drawn that is not the free video of an
/// upload, rests after each frame for as long as it took, at most [`MAX_REST`], so that previews hardly slow down renders.
pub(crate) async fn serve_previews(
    node: Arc<Node>,
    slots: Arc<Slots>,
    here: mpsc::Receiver<WantedPreview>,
    stop: CancellationToken,
) {
    let mut processes = PreviewProcesses::default();
    let mut queue = PreviewQueue::new(here);
    let mut ended = JoinSet::new();
    let mut idle_check =
        tokio::time::interval(IDLE_CHECK_INTERVAL.min(node.options.preview_idle).max(LEAST_CHECK_INTERVAL));
    loop {
        tokio::select! {
            () = stop.cancelled() => break,
            _tick = idle_check.tick() => processes.end_idle(&node).await,
            () = queue.changed(&node) => {}
        }
        if let Some(next) = queue.take(&node).await {
            node.previews.store(processes.count() + 1, Ordering::SeqCst);
            let ticket = next.ticket.clone();
            let took = Box::pin(answer(&node, &mut processes, &mut queue, next, &stop)).await;
            // The next preview does not wait for the database.
            let service = node.service.clone();
            ended.spawn(async move { service.preview_ended(ticket, took).await });
            while ended.try_join_next().is_some() {}
            if slots.is_urgent() {
                let _stopped = timeout(took.min(MAX_REST), stop.cancelled()).await;
            }
        }
        node.previews.store(processes.count(), Ordering::SeqCst);
    }
    processes.end_all(&node).await;
    while ended.join_next().await.is_some() {}
    node.previews.store(0, Ordering::SeqCst);
}

/// Draws a preview and sends it. Returns how long drawing took, with the time to load the model.
async fn answer(
    node: &Node,
    processes: &mut PreviewProcesses,
    queue: &mut PreviewQueue,
    wanted: WantedPreview,
    stop: &CancellationToken,
) -> Duration {
    let begin = Instant::now();
    let (drawn, took_place) = draw_while_needed(node, processes, queue, &wanted, stop).await;
    let took = begin.elapsed();
    metrics::histogram!("plinth_worker_preview_seconds").record(took.as_secs_f64());
    if drawn.is_err() {
        processes.forget_ended(&wanted.model_id);
        let is_of_worker = stop.is_cancelled() || (drawn == Err(PreviewProblem::Internal) && node.has_lost_store());
        if is_of_worker {
            // The reply is dropped, so another worker can claim the request.
            return took;
        }
    }
    queue.drawn(&wanted.model_id, took_place.then_some(took));
    // Sending fails only if the request was cancelled.
    let _unheard = wanted.reply.send(drawn);
    took
}

/// Draws a preview, or ends it as soon as it is not needed. Returns the result, and whether a process was ended so that the model
/// could be loaded.
async fn draw_while_needed(
    node: &Node,
    processes: &mut PreviewProcesses,
    queue: &mut PreviewQueue,
    wanted: &WantedPreview,
    stop: &CancellationToken,
) -> (PreviewReply, bool) {
    let cut = stop.child_token();
    let drawing = draw_even_if_process_ended(node, processes, wanted, &cut);
    tokio::pin!(drawing);
    tokio::select! {
        drawn = &mut drawing => drawn,
        () = until_needless(node, queue, wanted) => {
            tracing::info!(model.id = %wanted.model_id, "a preview for which nobody waits any more is ended");
            cut.cancel();
            drawing.await
        }
    }
}

/// The reason why a process has not drawn a preview.
enum NotDrawn {
    Problem(PreviewProblem),
    /// The process had received other requests before and has ended by itself. They may be the cause, or it has ended before this
    /// request, for example because the system had too little memory.
    ProcessEnded,
}

impl From<PreviewProblem> for NotDrawn {
    fn from(problem: PreviewProblem) -> Self {
        Self::Problem(problem)
    }
}

/// Draws a preview. If its process has ended after earlier requests, draws it with a new process. Returns the result, and whether
/// another process was ended so that the model could be loaded.
async fn draw_even_if_process_ended(
    node: &Node,
    processes: &mut PreviewProcesses,
    wanted: &WantedPreview,
    cut: &CancellationToken,
) -> (PreviewReply, bool) {
    let (begin, mut time) = (Instant::now(), FRAME_TIME);
    let mut took_place = false;
    loop {
        let drawn = match processes.find_or_start(node, wanted, cut).await {
            Ok(found) => {
                took_place |= found.took_place;
                draw(node, found.process, wanted, time, cut).await
            }
            Err(problem) => Err(NotDrawn::Problem(problem)),
        };
        match drawn {
            Ok(reply) => return (Ok(reply), took_place),
            Err(NotDrawn::Problem(problem)) => return (Err(problem), took_place),
            // The next process is new, so there are at most two attempts.
            Err(NotDrawn::ProcessEnded) => {
                tracing::warn!(model.id = %wanted.model_id, "a preview process has ended; a new one draws the preview");
                processes.forget_ended(&wanted.model_id);
                time = FRAME_TIME.saturating_sub(begin.elapsed());
            }
        }
    }
}

/// Waits until a frame is no longer needed: its client has left, and no request for its model has waited for [`LEFT_TIME`].
async fn until_needless(node: &Node, queue: &mut PreviewQueue, wanted: &WantedPreview) {
    let mut needed = Instant::now();
    while needed.elapsed() < LEFT_TIME {
        sleep(LEFT_CHECK_INTERVAL).await;
        if !wanted.reply.is_closed() || queue.is_wanted(node, &wanted.model_id).await {
            needed = Instant::now();
        }
    }
}

/// Returns the request that asks the process for a preview. The process writes the picture to `target`.
fn request_of(wanted: &WantedPreview, assets: &RenderAssets, target: PathBuf) -> PreviewRequest {
    PreviewRequest {
        settings: wanted.settings.echoed(),
        environment: assets.env.as_ref().map(|id| environment_files(&format!("{id}."))),
        images: assets.images.keys().map(|id| (id.clone(), image_file(id))).collect(),
        options: wanted.options,
        target,
    }
}

/// Draws a preview with a process. `time` is [`FRAME_TIME`], or less if another process has already used a part of it.
async fn draw(
    node: &Node,
    process: &mut PreviewProcess,
    wanted: &WantedPreview,
    time: Duration,
    cut: &CancellationToken,
) -> Result<Vec<u8>, NotDrawn> {
    let assets = until_cut(cut, fetch_assets(node, process, wanted, cut)).await?;
    let target = PathBuf::from(OUT).join("preview.png");
    let request = serde_json::to_string(&request_of(wanted, &assets, target.clone()));
    let request =
        request.map_err(|error| internal("the request for a preview cannot be written", &error.to_string()))?;
    let question = wanted.options.question;
    let options = WorkerOptions { timeout: time, ..node.options.clone() };
    let (slot, cut) = (Arc::clone(&process.child), cut.clone());
    let has_been_asked = std::mem::replace(&mut process.has_been_asked, true);
    let asking = tokio::task::spawn_blocking(move || {
        let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(mut child) = slot.take() else { return Err(failed("the process has ended").into()) };
        child.allow_processor_time_of_task(processor_secs(time));
        match child.ask(&options, Some(&request), &mut |_event| {}, &cut) {
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
                // Another cause, such as a lost graphics device, would also fail all later requests of this process.
                if failure.is_of_request && failure.code != FailureCode::RendererCrash {
                    *slot = Some(child);
                }
                Err(problem_of(&failure).into())
            }
            Ended::Failed(_) if has_been_asked && child.has_ended_by_itself() => Err(NotDrawn::ProcessEnded),
            // What earlier requests left in the process may be the cause, so the same request may succeed in a new one.
            Ended::Failed(failure) if has_been_asked => Err(failed(&failure.message).into()),
            Ended::Failed(failure) => Err(problem_of_new(&failure, time).into()),
            Ended::Done(_other) => Err(failed("the renderer returned an unexpected result").into()),
            // Nobody reads the reply.
            Ended::Cancelled => Err(PreviewProblem::Internal.into()),
        }
    });
    let asked = asking.await.unwrap_or_else(|error| Err(failed(&error.to_string()).into()));
    process.used = Instant::now();
    if let Some(answer) = asked? {
        return serde_json::to_vec(&answer).map_err(|error| failed(&error.to_string()).into());
    }
    let file = process.folder.path().join(&target);
    let reading = tokio::task::spawn_blocking(move || read_picture(&file)).await.map_err(io::Error::from);
    let read = reading.and_then(|read| read);
    Ok(read.map_err(|error| internal("the picture of a preview cannot be read", &failure_message(&error)))?)
}

/// Returns the problem of a preview that its process could not draw. Logs the cause if it is not in the request.
fn problem_of(failure: &ChildFailure) -> PreviewProblem {
    if failure.is_of_request {
        PreviewProblem::OfRequest(failure.for_customer().to_owned())
    } else {
        failed(&failure.message)
    }
}

/// Returns the problem of a preview that a new process could not draw within `time`. The request is not the cause if the process had
/// less time than a request has.
fn problem_of_new(failure: &ChildFailure, time: Duration) -> PreviewProblem {
    let had_less_time = failure.code == FailureCode::Timeout && time < FRAME_TIME;
    if had_less_time { failed(&failure.message) } else { problem_of(failure) }
}

/// Logs why a preview process could not draw a preview.
fn failed(cause: &str) -> PreviewProblem {
    internal("a preview failed", cause)
}

/// Reads the picture that a preview process has written. The process is not trusted and is still running, so a link, or
/// anything else that is not a regular file with a PNG, is rejected. The process cannot replace the folder of the file.
fn read_picture(file: &Path) -> io::Result<Vec<u8>> {
    let invalid = |problem| io::Error::new(io::ErrorKind::InvalidData, problem);
    let opened = open_untrusted(file)?;
    let about = opened.metadata()?;
    if !about.is_file() || about.len() > MAX_PICTURE_BYTES {
        return Err(invalid("the picture is not a regular file or is too large"));
    }
    let mut bytes = Vec::new();
    opened.take(MAX_PICTURE_BYTES).read_to_end(&mut bytes)?;
    if bytes.starts_with(PNG_SIGNATURE) { Ok(bytes) } else { Err(invalid("the picture is not a PNG")) }
}

/// Downloads the assets of a request. Returns them without the textures that were deleted while the request waited, which the
/// picture then lacks, as that of a render does.
/// Errors: an overlay or the environment was deleted, or an asset cannot be downloaded.
async fn fetch_assets(
    node: &Node,
    process: &mut PreviewProcess,
    wanted: &WantedPreview,
    cut: &CancellationToken,
) -> Result<RenderAssets, PreviewProblem> {
    let mut assets = wanted.assets.clone();
    while let Err(error) = download_assets(node, process, &assets).await {
        let lost = not_fetched(node, "an asset of a preview cannot be fetched", &error, cut);
        if !error.is_not_found() {
            return Err(lost.await);
        }
        let existing = node
            .service
            .find_preview_assets(wanted)
            .await
            .map_err(|error| internal("the assets of a preview cannot be looked up", &failure_message(&error)))?;
        let existing = existing.map_err(|missing| PreviewProblem::OfRequest(missing.message))?;
        if existing == assets {
            return Err(lost.await);
        }
        assets = existing;
    }
    Ok(assets)
}

/// Downloads the assets that are not in the folder of the process yet.
async fn download_assets(node: &Node, process: &mut PreviewProcess, assets: &RenderAssets) -> Result<(), StoreError> {
    let store = node.service.store();
    let mut missing: Vec<(ObjectKey<'_>, PathBuf, String)> = Vec::new();
    for (id, image) in &assets.images {
        missing.push((image.key(), image_file(id), id.clone()));
    }
    if let Some(id) = &assets.env {
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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_request_is_not_the_cause_if_its_time_was_used_by_another_process() {
        let (full, rest) = (FRAME_TIME, FRAME_TIME.saturating_sub(Duration::from_secs(1)));
        for (code, time, is_of_request) in [
            (FailureCode::Timeout, full, true),
            (FailureCode::Timeout, rest, false),
            (FailureCode::RendererCrash, rest, true),
        ] {
            let failure = ChildFailure::of_request(code, "it needs too much".to_owned());
            let problem = problem_of_new(&failure, time);
            assert_eq!(matches!(problem, PreviewProblem::OfRequest(_)), is_of_request, "{code:?} within {time:?}");
        }
    }

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
