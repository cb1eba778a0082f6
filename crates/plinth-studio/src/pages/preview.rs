//! Previews of the composer: pictures by the renderer itself.

use axum::extract::{Path, State};
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use plinth_service::previews::Preview;

use super::composer::rejected;
use crate::composer::read_settings;
use crate::error::Result;
use crate::form::SessionFields;
use crate::studio::Studio;

/// Longer side of a picture whose size the form does not say, in pixels.
const LONGEST: u32 = 640;

/// Returns whether this is the path of a preview. Previews are not counted as requests.
pub(crate) fn is_preview(path: &str) -> bool {
    path.starts_with("/models/") && path.ends_with("/preview")
}

/// Draws a frame with the settings of the form. The fields `longest`, `draft` and `position` say how large, how carefully and
/// which.
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
        longest: sent.text("longest").parse().unwrap_or(LONGEST),
        is_draft: sent.text("draft") == "on",
        position: sent.text("position").parse().ok(),
    };
    match studio.service.preview(caller, &id, preview).await {
        Ok(png) => Ok(([(header::CONTENT_TYPE, "image/png")], png).into_response()),
        Err(error) => Ok(rejected(&error)),
    }
}
