//! Streams the states of a render as server-sent events.

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

/// Interval between two reads of the render from the database.
const LOOK: Duration = Duration::from_secs(1);
/// Number of reads after which the stream ends. The browser then connects again, and its session is checked again.
const LOOKS: u32 = 600;

/// State of a stream of events.
struct Watch {
    studio: Studio,
    user: CurrentUser,
    id: String,
    /// The state of the render in the last event.
    told: Option<RenderStatus>,
    looks: u32,
}

/// Sends an event for each change of a render's state until the render has ended.
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
        // The stream ends if the session has ended, if the render was deleted, or if the user may no longer see the
        // render.
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
