//! A render with its files.

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
use crate::frame::{Frame, page};
use crate::refusal::Result;
use crate::studio::Studio;
use crate::visitor::Visitor;
use crate::words::{self, Moment, sentence};

#[derive(Template)]
#[template(path = "render.html")]
struct RenderPage {
    frame: Frame,
    render: Render,
    name: String,
    kind: String,
    status: &'static str,
    /// What went wrong.
    problem: Option<String>,
    /// What the settings named and is missing.
    warnings: Vec<String>,
    /// What plays in a browser, where there is something.
    video: Option<&'static str>,
    has_poster: bool,
    files: Vec<File>,
    settings: Vec<(String, String)>,
    created: Moment,
    updated: Moment,
}

/// A file to download.
struct File {
    asset: &'static str,
    words: &'static str,
    size: String,
}

impl File {
    fn of((file, bytes): (OutputFile, u64)) -> Self {
        Self { asset: file.as_str(), words: file.declaration().label, size: words::size(bytes) }
    }
}

pub(crate) async fn show(State(studio): State<Studio>, visitor: Visitor, Path(id): Path<String>) -> Result<Response> {
    let render = studio.service.render(visitor.caller(), &id).await?;
    let read = read_settings(&render)?;
    let names = studio.service.model_names(visitor.caller(), std::slice::from_ref(&render.model_id)).await?;
    let name = names.into_iter().flatten().next().unwrap_or_else(|| "a deleted model".to_owned());
    let files = studio.service.list_render_files(visitor.caller(), &id).await?;
    let video =
        [OutputFile::Web, OutputFile::Video].into_iter().find(|video| files.iter().any(|(file, _)| file == video));
    let mut response = page(&RenderPage {
        frame: Frame::new(&studio, &name, Some(&visitor)),
        kind: kind(&render, &read),
        status: words::status(render.status),
        problem: render.error_message.as_deref().map(sentence),
        warnings: render.warnings.iter().map(|warning| sentence(warning)).collect(),
        video: video.map(OutputFile::as_str),
        has_poster: has_poster(&render, &read),
        files: files.into_iter().map(File::of).collect(),
        settings: settings(&render),
        created: Moment::of(render.created_at.0),
        updated: Moment::of(render.updated_at.0),
        name,
        render,
    });
    allow_files(&studio, &mut response).await?;
    Ok(response)
}

/// Leads to a file, by a link that works for a while.
pub(crate) async fn file(
    State(studio): State<Studio>,
    visitor: Visitor,
    Path((id, asset)): Path<(String, String)>,
) -> Result<Redirect> {
    let link = studio.service.download_url(visitor.caller(), &id, Some(&asset), None).await?;
    Ok(Redirect::temporary(&link.url))
}

/// Whether a render has a poster by now.
pub(super) fn has_poster(render: &Render, settings: &RenderSettings) -> bool {
    let is_drawn = matches!(render.status, RenderStatus::PosterDone | RenderStatus::VideoProcessing);
    settings.video().output == Output::Video && (is_drawn || render.status == RenderStatus::Done)
}

/// The typed settings of a render.
/// Errors: stored settings that this version does not accept.
pub(super) fn read_settings(render: &Render) -> Result<RenderSettings> {
    Ok(RenderSettings::from_echoed(&render.render_settings).map_err(ServiceError::internal)?)
}

/// What kind of render it is, in a few words.
pub(super) fn kind(render: &Render, settings: &RenderSettings) -> String {
    let mut words = match settings.video().output {
        Output::Dataset => vec!["dataset", settings.dataset().quality.as_str()],
        Output::Video => vec![settings.video().quality.as_str(), settings.camera().effect.as_str()],
    };
    if render.is_system_preview {
        words = vec!["free preview"];
    } else if render.is_preview {
        words.push("watermarked");
    }
    words.join(" · ")
}

/// The settings that were sent, one a row.
fn settings(render: &Render) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let members = render.render_settings.as_object().into_iter().flatten();
    members.map(|(key, value)| (key.clone(), text(value))).collect()
}
