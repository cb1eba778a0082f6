//! The page of a render, with its files.

use askama::Template;
use axum::extract::{Path, State};
use axum::response::{Redirect, Response};
use plinth_service::ServiceError;
use plinth_spec::quality::Codec;
use plinth_spec::settings::Output;
use plinth_spec::state::RenderStatus;
use plinth_spec::wire::Render;
use plinth_spec::{ErrorCode, FailureCode, OutputFile, RenderSettings};

use super::dataset::DatasetFacts;
use super::links::{EMBED, LIFETIMES};
use crate::composer::{ChangedSetting, changed_settings};
use crate::error::Result;
use crate::form::{EmptyForm, SessionForm};
use crate::format::{self, DisplayTime, sentence};
use crate::frame::{Frame, page};
use crate::live::{LiveRender, awaits_stream};
use crate::response::{policy_with_streams, set_policy};
use crate::session::CurrentUser;
use crate::studio::Studio;

#[derive(Template)]
#[template(path = "render.html")]
struct RenderPage {
    frame: Frame,
    render: Render,
    name: String,
    /// Whether the model still exists.
    has_model: bool,
    kind: String,
    status: &'static str,
    /// Progress of a render that has not ended.
    live: Option<LiveRender>,
    /// Whether the user can cancel the render, which no worker has claimed yet.
    may_cancel: bool,
    /// Whether the user can delete the render, which has ended.
    may_delete: bool,
    /// Error message of a failed render.
    problem: Option<String>,
    /// What the user can do about the failure.
    advice: Option<&'static str>,
    /// Number of credits that were refunded.
    refund: Option<u64>,
    /// Warnings about settings: names that do not exist in the model or in the workspace, and settings without effect.
    warnings: Vec<String>,
    /// The file that the video player of the page plays; `None` if browsers can play no file of the render.
    video: Option<&'static str>,
    has_poster: bool,
    /// Whether the page waits for the HLS packaging of the video.
    awaits_stream: bool,
    /// Whether the render is a finished dataset.
    is_dataset: bool,
    /// Facts about the dataset; `None` if it cannot be read.
    dataset: Option<DatasetFacts>,
    files: Vec<File>,
    embed: &'static str,
    lifetimes: [(i64, &'static str); 3],
    settings: Vec<ChangedSetting>,
    created: DisplayTime,
    updated: DisplayTime,
}

/// A file to download.
struct File {
    asset: &'static str,
    label: &'static str,
    /// Name under which the file is saved.
    name: String,
    size: String,
}

impl File {
    fn of(render: &Render, (file, bytes): (OutputFile, u64), codec: Codec) -> Self {
        let name = format!("{}-{}", render.id, file.file_name(codec));
        Self { asset: file.as_str(), label: file.declaration().label, name, size: format::size(bytes) }
    }
}

pub(crate) async fn show(State(studio): State<Studio>, user: CurrentUser, Path(id): Path<String>) -> Result<Response> {
    let (service, caller) = (&studio.service, user.caller());
    let render = service.render(caller, &id).await?;
    let read = read_settings(&render)?;
    let names = service.model_names(caller, std::slice::from_ref(&render.model_id)).await?;
    let name = names.into_iter().flatten().next();
    let (has_model, name) = (name.is_some(), model_name(name));
    let files = service.list_render_files(caller, &id).await?;
    let has = |wanted| files.iter().any(|(file, _bytes)| *file == wanted);
    let video = [OutputFile::Web, OutputFile::Video].into_iter().find(|video| has(*video));
    let progress = service.render_progress(caller, std::slice::from_ref(&render.id)).await?;
    let codec = read.video().quality.codec();
    let is_dataset = has(OutputFile::Dataset);
    let scripts: &'static [&'static str] =
        if is_dataset { &["render.js", "dataset.js", "share.js"] } else { &["render.js", "player.js", "share.js"] };
    let mut response = page(&RenderPage {
        frame: Frame::new(&studio, &name, Some(&user)).at("renders").with_scripts(scripts),
        kind: kind(&render, &read),
        status: format::status(render.status),
        live: progress.iter().find(|one| !one.status.is_final()).map(LiveRender::of),
        may_cancel: render.status == RenderStatus::Pending && caller.role.can_edit(),
        may_delete: render.status.is_final() && caller.role.can_edit(),
        problem: render.error_message.as_deref().map(sentence),
        advice: render.failure_code.map(FailureCode::advice),
        refund: if render.status.has_failed() { service.render_refund(caller, &id).await? } else { None },
        warnings: render.warnings.iter().map(|warning| sentence(warning)).collect(),
        video: video.map(OutputFile::as_str),
        has_poster: has_poster(&render, &read),
        awaits_stream: awaits_stream(render.status, render.hls_status),
        is_dataset,
        dataset: if is_dataset { DatasetFacts::read(service, caller, &id).await } else { None },
        files: files.into_iter().map(|file| File::of(&render, file, codec)).collect(),
        embed: EMBED,
        lifetimes: LIFETIMES,
        settings: changed_settings(&render.render_settings),
        created: DisplayTime::of(render.created_at.0),
        updated: DisplayTime::of(render.updated_at.0),
        has_model,
        name,
        render,
    });
    set_policy(&mut response, &policy_with_streams(&service.files_origin().await?));
    Ok(response)
}

/// Cancels a render that no worker has claimed yet.
pub(crate) async fn cancel(
    State(studio): State<Studio>,
    Path(id): Path<String>,
    sent: SessionForm<EmptyForm>,
) -> Result<Redirect> {
    let (service, caller) = (&studio.service, sent.user.editor()?);
    if let Err(error) = service.cancel_render(caller, &id).await {
        // The second request of a double click finds the render cancelled already.
        let is_cancelled =
            error.code == ErrorCode::RenderStarted && service.render(caller, &id).await?.status == RenderStatus::Failed;
        if !is_cancelled {
            return Err(error.into());
        }
    }
    Ok(Redirect::to(&format!("{}/renders/{id}", studio.site.path)))
}

/// Redirects to a temporary download link of a file.
pub(crate) async fn file(
    State(studio): State<Studio>,
    user: CurrentUser,
    Path((id, asset)): Path<(String, String)>,
) -> Result<Redirect> {
    let link = studio.service.download_url(user.caller(), &id, Some(&asset), None).await?;
    Ok(Redirect::temporary(&link.url))
}

/// Returns the name to show for the model of a render. `name` is `None` if the model was deleted.
pub(super) fn model_name(name: Option<String>) -> String {
    name.unwrap_or_else(|| "a deleted model".to_owned())
}

/// Returns whether the poster of a render is available.
pub(super) fn has_poster(render: &Render, settings: &RenderSettings) -> bool {
    let is_drawn = matches!(render.status, RenderStatus::PosterDone | RenderStatus::VideoProcessing);
    settings.video().output == Output::Video && (is_drawn || render.status == RenderStatus::Done)
}

/// Parses the stored settings of a render.
/// Errors: this version does not accept the stored settings.
pub(super) fn read_settings(render: &Render) -> Result<RenderSettings> {
    Ok(RenderSettings::from_echoed(&render.render_settings).map_err(ServiceError::internal)?)
}

/// Returns a short description of the render, such as its output format and quality.
pub(super) fn kind(render: &Render, settings: &RenderSettings) -> String {
    let mut parts = match settings.video().output {
        Output::Dataset => vec!["dataset", settings.dataset().quality.as_str()],
        Output::Video => vec![settings.video().quality.as_str(), settings.camera().effect.as_str()],
    };
    if render.is_system_preview {
        parts = vec!["free preview"];
    } else if render.is_preview {
        parts.push("watermarked");
    }
    parts.join(" · ")
}
