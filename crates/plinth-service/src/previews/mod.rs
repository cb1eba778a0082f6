//! Previews: single frames that a worker draws immediately, outside of the queue. A worker in this process gets the request
//! through memory, a worker in another process through the database.

mod resource;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

pub use plinth_db::previews::Problem as PreviewProblem;
use plinth_db::previews::{self, RequestKey};
use plinth_db::queue;
use plinth_spec::id::{AccountId, ModelId, WorkspaceId};
use plinth_spec::preview::{PreviewAnswer, PreviewOptions, PreviewQuestion};
use plinth_spec::settings::{Dataset, Output, ParseOptions};
use plinth_spec::{ErrorCode, RenderSettings, limits};
use serde_json::{Map, Value};
use tokio::sync::mpsc::error::SendError;
use tokio::sync::{mpsc, oneshot};

use crate::access::Caller;
use crate::error::{Result, ServiceError};
use crate::fair_semaphore::{FairPermit, FairSemaphore};
use crate::jobs::{AssetMissing, RenderAssets};
use crate::renders::parse_settings;
use crate::service::Service;

/// Maximum size of a picture, in bytes. An uncompressed picture with 16 bits per channel is smaller.
pub const MAX_PICTURE_BYTES: u64 = 16 << 20;
/// Maximum number of previews of all accounts together that wait for a worker or are drawn at the same time. Each
/// account has at most one such preview.
pub const AT_ONCE: usize = 16;
/// Maximum time that a preview waits for other previews.
const TURN_TIME: Duration = Duration::from_mins(1);
/// Time in seconds after which a rejected preview may be requested again.
const PREVIEW_RETRY_SECS: u64 = 2;
/// Maximum length of the identifier of a page, in bytes.
const MAX_PAGE_ID_BYTES: usize = 64;

/// Reply of a worker: the PNG, or the answer to the question as JSON, or the reason why the frame could not be drawn.
pub type PreviewReply = std::result::Result<Vec<u8>, PreviewProblem>;

/// A request for a preview.
#[derive(Clone, Debug, Default)]
pub struct Preview {
    /// Render settings.
    pub settings: Map<String, Value>,
    /// How to draw it. The longer side is clamped to the limits of previews.
    pub options: PreviewOptions,
    /// Identifier of the page that requests the preview, at most [`MAX_PAGE_ID_BYTES`] long and without control characters. A newer
    /// request replaces only requests of the same page.
    pub page_id: String,
}

/// A preview that a worker must draw.
#[derive(Debug)]
pub struct WantedPreview {
    /// Workspace of the model.
    pub workspace_id: WorkspaceId,
    /// The worker must pass this value to [`Service::preview_ended`].
    pub ticket: PreviewTicket,
    /// Model to draw.
    pub model_id: ModelId,
    /// Hex SHA-256 of the model's file.
    pub sha256: String,
    /// Checked render settings of a video.
    pub settings: RenderSettings,
    /// Assets that the settings refer to.
    pub assets: RenderAssets,
    /// How to draw it. With a question, the reply is a [`PreviewAnswer`] as JSON, otherwise a PNG.
    pub options: PreviewOptions,
    /// Receives the reply of the worker. Closed if the request was cancelled.
    pub reply: oneshot::Sender<PreviewReply>,
}

/// Identifies a preview after the worker has drawn it.
#[derive(Clone, Debug)]
pub struct PreviewTicket {
    /// Account that pays for renders of the workspace.
    pub(crate) payer_id: AccountId,
    /// The request of another process.
    pub(crate) request: Option<RequestKey>,
}

/// Hands previews from request handlers to the worker in this process.
#[derive(Debug)]
pub(crate) struct PreviewDesk {
    sender: mpsc::Sender<WantedPreview>,
    /// The queue of previews. `None` after a worker has taken it.
    receiver: Mutex<Option<mpsc::Receiver<WantedPreview>>>,
    turns: FairSemaphore,
}

impl PreviewDesk {
    pub(crate) fn new() -> Arc<Self> {
        let (sender, receiver) = mpsc::channel(AT_ONCE);
        let turns = FairSemaphore::new(AT_ONCE as u64, 1);
        Arc::new(Self { sender, receiver: Mutex::new(Some(receiver)), turns })
    }

    fn has_worker(&self) -> bool {
        self.receiver.lock().unwrap_or_else(PoisonError::into_inner).is_none() && !self.sender.is_closed()
    }
}

impl Service {
    /// Returns the queue of previews to the worker of this process. Every call after the first returns `None`.
    pub fn take_previews(&self) -> Option<mpsc::Receiver<WantedPreview>> {
        self.previews.receiver.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Answers `question` about a frame, under the same limits as [`Self::preview`].
    /// Errors: those of [`Self::preview`], or a position outside of the frame.
    pub async fn preview_answer(
        &self,
        caller: &Caller,
        model: &str,
        mut preview: Preview,
        question: PreviewQuestion,
    ) -> Result<PreviewAnswer> {
        preview.options.question = Some(question);
        let answer = self.preview(caller, model, preview).await?;
        let answer: PreviewAnswer = serde_json::from_slice(&answer).map_err(ServiceError::internal)?;
        // The reply came from another process, and possibly from another machine.
        if answer.answers(question) {
            Ok(answer)
        } else {
            Err(ServiceError::internal("an invalid answer of a preview"))
        }
    }

    /// Waits until the account has no other preview in progress, and until fewer than [`AT_ONCE`] previews are in progress.
    /// Errors: `rate_limited` if too many previews of the account wait, or after a minute.
    async fn preview_turn(&self, caller: &Caller) -> Result<FairPermit> {
        let limited = |message: &str| ServiceError {
            retry_after_secs: Some(PREVIEW_RETRY_SECS),
            ..ServiceError::new(ErrorCode::RateLimited, message)
        };
        let turns = &self.previews.turns;
        if turns.waiting(&caller.payer_id) >= limits::PREVIEWS_WAITING {
            return Err(limited("too many previews of the account wait; close other pages"));
        }
        let turn = tokio::time::timeout(TURN_TIME, turns.acquire(&caller.payer_id, 1)).await;
        turn.unwrap_or_else(|_late| Err(limited("the server is busy with other previews; try again later")))
    }

    /// Finds the assets of a preview that still exist, like [`Self::find_render_assets`]. Assets can be deleted while a preview
    /// waits.
    pub async fn find_preview_assets(
        &self,
        wanted: &WantedPreview,
    ) -> Result<std::result::Result<RenderAssets, AssetMissing>> {
        self.find_assets(&wanted.workspace_id, &wanted.settings).await
    }

    /// Notes that a worker has drawn a preview, or no longer draws it. Adds the time that this took to the worker time of the
    /// account, as for renders, because the queue gives all accounts the same share of worker time. The worker measures this
    /// time, so it counts even if the client has left, and does not contain the time in which the request waited for others.
    /// An error is only logged, because it affects only the order of the queue, and leases expire.
    pub async fn preview_ended(&self, ticket: PreviewTicket, used: Duration) {
        let PreviewTicket { payer_id, request } = ticket;
        let (token, used_ms) = (self.arrivals.token.clone(), i64::try_from(used.as_millis()).unwrap_or(i64::MAX));
        let noted = self.write_lease(move |tx, now| {
            Box::pin(async move {
                if let Some(key) = &request {
                    previews::end_withdrawn(tx, key, &token, now).await?;
                }
                queue::charge_preview(tx, &payer_id, used_ms, now).await
            })
        });
        if let Err(error) = noted.await {
            tracing::warn!(%error, "the time of a preview could not be charged");
        }
    }

    /// Draws a frame of a model with the given settings, or answers a question about it. Returns a PNG, or a
    /// [`PreviewAnswer`] as JSON. If the account has another preview in progress, waits until that preview has ended.
    /// Errors: the settings are invalid, refer to a missing asset or cannot be drawn, no worker takes the request, the worker
    /// fails, or too many previews wait.
    pub async fn preview(&self, caller: &Caller, model: &str, preview: Preview) -> Result<Vec<u8>> {
        // Not counted toward the rate limit here: requests of the API are counted before, and those of the web UI are limited by
        // the turns.
        let _turn = self.preview_turn(caller).await?;
        let model = self.model_row(caller, model).await?;
        let settings = match preview.options.question {
            Some(PreviewQuestion::DatasetCameras) => of_dataset(caller, preview.settings)?,
            Some(PreviewQuestion::Surfaces { x, y }) if ![x, y].iter().all(|share| (0.0..=1.0).contains(share)) => {
                return Err(ServiceError::new(
                    ErrorCode::BadRequest,
                    "x and y must be numbers from 0 to 1: the point as fractions of the frame",
                ));
            }
            Some(PreviewQuestion::Surfaces { .. }) | None => of_video(caller, preview.settings)?,
        };
        let assets = self.find_assets(&caller.workspace_id, &settings).await?;
        let assets = assets.map_err(|missing| ServiceError::new(ErrorCode::InvalidSettings, missing.message))?;
        // PostgreSQL rejects a text with a NUL character.
        if preview.page_id.len() > MAX_PAGE_ID_BYTES || preview.page_id.contains(char::is_control) {
            let message = format!("page must have at most {MAX_PAGE_ID_BYTES} bytes, without control characters");
            return Err(ServiceError::bad_request(message));
        }
        let (reply, drawn) = oneshot::channel();
        let wanted = WantedPreview {
            workspace_id: caller.workspace_id.clone(),
            ticket: PreviewTicket { payer_id: caller.payer_id.clone(), request: None },
            model_id: model.id,
            sha256: model.sha256,
            settings,
            assets,
            options: within_limits(preview.options),
            reply,
        };
        if !self.previews.has_worker() {
            return self.draw_elsewhere(caller, preview.page_id, wanted).await;
        }
        if let Err(SendError(wanted)) = self.previews.sender.send(wanted).await {
            return self.draw_elsewhere(caller, preview.page_id, wanted).await;
        }
        drawn
            .await
            .map_err(|_dropped| ServiceError::internal("the worker has stopped or lost its store"))?
            .map_err(not_drawn)
    }
}

fn within_limits(options: PreviewOptions) -> PreviewOptions {
    PreviewOptions {
        longest: options.longest.clamp(limits::PREVIEW_SIDE_MIN, limits::PREVIEW_SIDE_MAX),
        position: options.position.filter(|share| share.is_finite()),
        ..options
    }
}

/// Parses settings, and checks that they are settings of a dataset.
fn of_dataset(caller: &Caller, settings: Map<String, Value>) -> Result<RenderSettings> {
    let checked = parse_settings(caller, Some(&Value::Object(settings)))?;
    if checked.video().output == Output::Dataset {
        return Ok(checked);
    }
    Err(ServiceError::new(
        ErrorCode::InvalidSettings,
        "output must be dataset: a video has no cameras around the model",
    ))
}

/// Returns the error for a frame that could not be drawn.
pub(crate) fn not_drawn(problem: PreviewProblem) -> ServiceError {
    match problem {
        PreviewProblem::OfRequest(message) => ServiceError::new(ErrorCode::InvalidSettings, message).with_status(422),
        PreviewProblem::Internal => ServiceError::internal("a worker could not draw a preview; its log says why"),
    }
}

/// Parses settings, and converts settings of a dataset to settings of a video.
fn of_video(caller: &Caller, mut settings: Map<String, Value>) -> Result<RenderSettings> {
    let checked = parse_settings(caller, Some(&Value::Object(settings.clone())))?;
    if checked.video().output == Output::Video {
        return Ok(checked);
    }
    for key in Dataset::FIELDS.iter().map(|field| field.key).chain(["output", "effect"]) {
        settings.remove(key);
    }
    Ok(RenderSettings::from_json(&Value::Object(settings), ParseOptions { uncapped_length: true })?)
}
