//! Previews of the composer: frames that the renderer draws, and facts about them.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use plinth_service::previews::Preview;
use plinth_spec::limits;
use plinth_spec::preview::{PreviewOptions, PreviewQuestion};

use super::composer::rejected;
use crate::composer::read_settings;
use crate::error::Result;
use crate::form::SessionFields;
use crate::studio::Studio;

/// Returns whether this is the path of a preview, or of a question about a preview. Such requests do not count toward the
/// rate limit.
pub(crate) fn is_preview(path: &str) -> bool {
    let mut parts = path.trim_start_matches('/').split('/');
    parts.next() == Some("models") && parts.nth(1) == Some("preview")
}

/// Draws a frame with the settings of the form. The form's field `longest` is the length of the longer side in pixels,
/// `draft` requests a quick picture, and `position` is the position of the frame in the video. The request replaces the
/// earlier request of the page with the identifier `page`.
pub(crate) async fn draw(
    State(studio): State<Studio>,
    Path(id): Path<String>,
    sent: SessionFields,
) -> Result<Response> {
    let caller = sent.user.editor()?;
    let settings = match read_settings(&sent) {
        Ok(settings) => settings,
        Err(error) => return Ok(rejected(&error)),
    };
    let preview = Preview {
        settings,
        options: PreviewOptions {
            longest: sent.text("longest").parse().unwrap_or(limits::PREVIEW_SIDE_DEFAULT),
            is_draft: sent.text("draft") == "on",
            position: sent.text("position").parse().ok(),
            ..PreviewOptions::default()
        },
        page_id: sent.text("page").to_owned(),
    };
    match studio.service.preview(caller, &id, preview).await {
        Ok(png) => Ok(([(header::CONTENT_TYPE, "image/png")], png).into_response()),
        Err(error) => Ok(rejected(&error)),
    }
}

/// Returns the surfaces that are visible at a point of the frame which [`draw`] draws for the same form. The fields `x`
/// and `y` are the point's position, as fractions of the width from the left and of the height from the top.
pub(crate) async fn surfaces(
    State(studio): State<Studio>,
    Path(id): Path<String>,
    sent: SessionFields,
) -> Result<Response> {
    let number = |name: &str| sent.text(name).parse().unwrap_or(f64::NAN);
    let question = PreviewQuestion::Surfaces { x: number("x"), y: number("y") };
    answer(&studio, &id, &sent, question).await
}

/// Returns the cameras of the dataset that the settings in the form describe.
pub(crate) async fn cameras(
    State(studio): State<Studio>,
    Path(id): Path<String>,
    sent: SessionFields,
) -> Result<Response> {
    answer(&studio, &id, &sent, PreviewQuestion::DatasetCameras).await
}

async fn answer(studio: &Studio, id: &str, sent: &SessionFields, question: PreviewQuestion) -> Result<Response> {
    let caller = sent.user.editor()?;
    let settings = match read_settings(sent) {
        Ok(settings) => settings,
        Err(error) => return Ok(rejected(&error)),
    };
    let preview = Preview {
        settings,
        options: PreviewOptions { position: sent.text("position").parse().ok(), ..PreviewOptions::default() },
        page_id: sent.text("page").to_owned(),
    };
    match studio.service.preview_answer(caller, id, preview, question).await {
        Ok(answer) => Ok(Json(answer).into_response()),
        Err(error) => Ok(rejected(&error)),
    }
}
