//! Creates links to files of a render. Anybody can use such a link, without signing in, until it expires.

use askama::Template;
use axum::Json;
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse as _, Response};
use plinth_spec::{OutputFile, limits};
use serde::Deserialize;
use serde_json::json;

use crate::error::Result;
use crate::form::SessionForm;
use crate::frame::{Frame, page};
use crate::response::wants_json;
use crate::studio::Studio;

/// Value of the field `asset` that requests HTML which embeds the video in another site, instead of a link to a file.
pub(super) const EMBED: &str = "embed";
/// Selectable lifetimes of a link: seconds and label.
pub(super) const LIFETIMES: [(i64, &str); 3] =
    [(limits::EXPIRES_DEFAULT_SECS, "1 hour"), (24 * 3600, "1 day"), (limits::EXPIRES_MAX_SECS, "7 days")];

#[derive(Template)]
#[template(path = "link.html")]
struct LinkPage {
    frame: Frame,
    id: String,
    /// The link or the HTML.
    text: String,
    lifetime: String,
}

#[derive(Template)]
#[template(path = "embed.html")]
struct Snippet<'a> {
    video: &'a str,
    poster: &'a str,
}

/// Form fields of a new link.
#[derive(Deserialize)]
pub(crate) struct NewLink {
    asset: String,
    expires: String,
}

/// Creates a link to a file, or a snippet of HTML that embeds the video. A script gets JSON.
pub(crate) async fn create(
    State(studio): State<Studio>,
    Path(id): Path<String>,
    headers: HeaderMap,
    sent: SessionForm<NewLink>,
) -> Result<Response> {
    let SessionForm { user, form } = sent;
    let caller = user.in_page_workspace()?;
    let lifetime = form.expires.parse().ok();
    let link = async |asset: OutputFile| studio.service.download_url(caller, &id, Some(asset.as_str()), lifetime).await;
    let (text, secs) = if form.asset == EMBED {
        // If browsers cannot play the main video, the render has another video for the web.
        let video = match link(OutputFile::Web).await {
            Ok(web) => web,
            Err(_none) => link(OutputFile::Video).await?,
        };
        let poster = link(OutputFile::FullPoster).await?;
        let snippet = Snippet { video: &video.url, poster: &poster.url }.render();
        (snippet.map_err(plinth_service::ServiceError::internal)?, video.expires_in)
    } else {
        let made = studio.service.download_url(caller, &id, Some(&form.asset), lifetime).await?;
        (made.url, made.expires_in)
    };
    if wants_json(&headers) {
        return Ok(Json(json!({"text": text, "expiresIn": secs})).into_response());
    }
    let known = LIFETIMES.iter().find(|(known, _label)| *known == secs);
    let lifetime = known.map_or_else(|| format!("{secs} seconds"), |(_secs, label)| (*label).to_owned());
    let frame = Frame::new(&studio, "A link", Some(&user)).at("renders");
    Ok(page(&LinkPage { frame, id, text, lifetime }))
}
