//! What becomes of a render, as server-sent events.

use std::convert::Infallible;
use std::time::Duration;

use axum::extract::{Path, State};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream;
use plinth_spec::state::RenderStatus;
use serde_json::json;
use tokio::time::sleep;

use crate::error::Result;
use crate::format;
use crate::session::CurrentUser;
use crate::studio::Studio;

/// Interval at which the render is looked at.
const LOOK: Duration = Duration::from_secs(1);
/// Number of looks after which the stream ends. Browsers connect again, and their session is checked again.
const LOOKS: u32 = 600;

/// A stream of events.
struct Watch {
    studio: Studio,
    user: CurrentUser,
    id: String,
    /// The state that was sent last.
    told: Option<RenderStatus>,
    looks: u32,
}

/// Streams the states of a render until it has ended.
pub(crate) async fn of_render(
    State(studio): State<Studio>,
    user: CurrentUser,
    Path(id): Path<String>,
) -> Result<Response> {
    studio.service.render(user.caller(), &id).await?;
    let watch = Watch { studio, user, id, told: None, looks: 0 };
    Ok(Sse::new(stream::unfold(watch, next)).keep_alive(KeepAlive::default()).into_response())
}

/// Waits for the next change of state.
async fn next(mut watch: Watch) -> Option<(std::result::Result<Event, Infallible>, Watch)> {
    if watch.told.is_some_and(RenderStatus::is_final) {
        return None;
    }
    loop {
        // A session that has ended, or a render that was deleted or may no longer be seen, ends the stream.
        let service = &watch.studio.service;
        let signed_in = service.session(&watch.user.secret).await.ok().flatten()?;
        let render = service.render(&signed_in.caller, &watch.id).await.ok()?;
        watch.looks += 1;
        if watch.told != Some(render.status) {
            watch.told = Some(render.status);
            let (status, label) = (render.status.as_str(), format::status(render.status));
            let said = json!({"status": status, "label": label, "isFinal": render.status.is_final()});
            return Some((Ok(Event::default().data(said.to_string())), watch));
        }
        if watch.looks >= LOOKS {
            return None;
        }
        sleep(LOOK).await;
    }
}
