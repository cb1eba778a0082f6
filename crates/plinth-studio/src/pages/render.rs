//! The page of a render, with its files.

use askama::Template;
use axum::extract::{Path, State};
use axum::response::{Redirect, Response};
use plinth_service::ServiceError;
use plinth_spec::settings::Output;
use plinth_spec::state::RenderStatus;
use plinth_spec::wire::Render;
use plinth_spec::{OutputFile, RenderSettings};
use serde_json::Value;

use super::overview::allow_files;
use crate::error::Result;
use crate::format::{self, DisplayTime, sentence};
use crate::frame::{Frame, page};
use crate::live::LiveRender;
use crate::session::CurrentUser;
use crate::studio::Studio;

#[derive(Template)]
#[template(path = "render.html")]
struct RenderPage {
    frame: Frame,
    render: Render,
    name: String,
    kind: String,
    status: &'static str,
    /// Progress of a render that has not ended.
    live: Option<LiveRender>,
    /// Error message of a failed render.
    problem: Option<String>,
    /// Warnings about names in the settings that the model or the workspace does not have.
    warnings: Vec<String>,
    /// The file that the video player of the page plays; `None` if browsers can play no file of the render.
    video: Option<&'static str>,
    has_poster: bool,
    files: Vec<File>,
    settings: Vec<(String, String)>,
    created: DisplayTime,
    updated: DisplayTime,
}

/// A file to download.
struct File {
    asset: &'static str,
    label: &'static str,
    size: String,
}

impl File {
    fn of((file, bytes): (OutputFile, u64)) -> Self {
        Self { asset: file.as_str(), label: file.declaration().label, size: format::size(bytes) }
    }
}

pub(crate) async fn show(State(studio): State<Studio>, user: CurrentUser, Path(id): Path<String>) -> Result<Response> {
    let render = studio.service.render(user.caller(), &id).await?;
    let read = read_settings(&render)?;
    let names = studio.service.model_names(user.caller(), std::slice::from_ref(&render.model_id)).await?;
    let name = names.into_iter().flatten().next().unwrap_or_else(|| "a deleted model".to_owned());
    let files = studio.service.list_render_files(user.caller(), &id).await?;
    let video =
        [OutputFile::Web, OutputFile::Video].into_iter().find(|video| files.iter().any(|(file, _)| file == video));
    let progress = studio.service.render_progress(user.caller(), std::slice::from_ref(&render.id)).await?;
    let mut response = page(&RenderPage {
        frame: Frame::new(&studio, &name, Some(&user)).at("renders").with_scripts(&["render.js"]),
        kind: kind(&render, &read),
        status: format::status(render.status),
        live: progress.iter().find(|one| !one.status.is_final()).map(LiveRender::of),
        problem: render.error_message.as_deref().map(sentence),
        warnings: render.warnings.iter().map(|warning| sentence(warning)).collect(),
        video: video.map(OutputFile::as_str),
        has_poster: has_poster(&render, &read),
        files: files.into_iter().map(File::of).collect(),
        settings: settings(&render),
        created: DisplayTime::of(render.created_at.0),
        updated: DisplayTime::of(render.updated_at.0),
        name,
        render,
    });
    allow_files(&studio, &mut response).await?;
    Ok(response)
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

/// Returns the settings of the request as pairs of name and value.
fn settings(render: &Render) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let members = render.render_settings.as_object().into_iter().flatten();
    members.map(|(key, value)| (key.clone(), text(value))).collect()
}
