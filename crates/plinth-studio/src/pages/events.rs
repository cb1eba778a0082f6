//! Sends the states of renders to pages as server-sent events.

use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;
use std::time::Duration;

use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream;
use plinth_service::EventStreamPermit;
use plinth_spec::id::RenderId;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::error::{PageError, Result};
use crate::live::LiveRender;
use crate::session::CurrentUser;
use crate::studio::Studio;

/// Interval between two reads of the renders from the database.
const LOOK: Duration = Duration::from_secs(1);
/// Number of reads after which the event stream ends. The browser then connects again.
const LOOKS: u32 = 600;
/// Maximum number of renders that one event stream follows.
pub(super) const MOST: usize = 50;

/// A header that makes nginx pass on each event at once. Otherwise it holds events back until they fill a buffer.
const UNBUFFERED: [(&str, &str); 1] = [("x-accel-buffering", "no")];

/// State of an event stream.
struct Watch {
    studio: Studio,
    user: CurrentUser,
    /// Permit for the event stream; `None` if only the present states are sent and the response ends.
    permit: Option<EventStreamPermit>,
    /// Whether a render is followed until its HLS packaging has ended, too.
    with_streams: bool,
    /// Renders that have not ended yet, with the last event of each.
    unfinished: BTreeMap<RenderId, Option<Value>>,
    /// Events that were not sent yet.
    due: VecDeque<Value>,
    looks: u32,
}

/// Query parameters of the event stream of one render.
#[derive(Deserialize)]
pub(crate) struct Wanted {
    /// `1` for the present states only.
    once: Option<u8>,
}

/// Query parameters of the event stream of several renders.
#[derive(Deserialize)]
pub(crate) struct Followed {
    /// Identifiers of renders, separated by commas.
    ids: String,
    /// `1` for the present states only.
    once: Option<u8>,
}

/// Sends an event for each change of a render's state or progress until the render and its HLS packaging have ended.
pub(crate) async fn of_render(
    State(studio): State<Studio>,
    user: CurrentUser,
    Path(id): Path<String>,
    Query(wanted): Query<Wanted>,
) -> Result<Response> {
    let id = studio.service.render(user.caller(), &id).await?.id;
    stream(studio, user, Subject { ids: vec![id], with_streams: true, once: wanted.once.is_some() }).await
}

/// Sends an event for each change of the state or progress of renders, until all have ended. Sends one event with `gone` for a render
/// that was deleted, or that is not in the current workspace of the session.
pub(crate) async fn of_renders(
    State(studio): State<Studio>,
    user: CurrentUser,
    Query(followed): Query<Followed>,
) -> Result<Response> {
    let ids: Vec<RenderId> = followed.ids.split(',').filter_map(RenderId::parse).take(MOST + 1).collect();
    if ids.is_empty() || ids.len() > MOST {
        return Err(PageError::new(StatusCode::BAD_REQUEST, &format!("ids must be 1 to {MOST} renders")));
    }
    stream(studio, user, Subject { ids, with_streams: false, once: followed.once.is_some() }).await
}

/// The renders that an event stream follows, and for how long.
struct Subject {
    ids: Vec<RenderId>,
    /// Whether a render is followed until its HLS packaging has ended, too.
    with_streams: bool,
    /// Whether only the present states are sent.
    once: bool,
}

/// Starts an event stream, or sends the present states once. An account that has too many event streams gets an error; the
/// page then requests the present states at intervals.
async fn stream(studio: Studio, user: CurrentUser, subject: Subject) -> Result<Response> {
    let Subject { ids, with_streams, once } = subject;
    let permit = if once { None } else { Some(studio.service.event_stream(user.caller()).await?) };
    let unfinished = ids.into_iter().map(|id| (id, None)).collect();
    let watch = Watch { studio, user, permit, with_streams, unfinished, due: VecDeque::new(), looks: 0 };
    let events = Sse::new(stream::unfold(watch, next)).keep_alive(KeepAlive::default());
    Ok((UNBUFFERED, events).into_response())
}

/// Waits for the next event. Returns `None` at the end of the event stream.
async fn next(mut watch: Watch) -> Option<(std::result::Result<Event, Infallible>, Watch)> {
    loop {
        if let Some(event) = watch.due.pop_front() {
            return Some((Ok(Event::default().data(event.to_string())), watch));
        }
        let most = if watch.permit.is_some() { LOOKS } else { 1 };
        if watch.unfinished.is_empty() || watch.looks >= most {
            return None;
        }
        if watch.looks > 0 {
            sleep(LOOK).await;
        }
        watch.looks += 1;
        watch.look().await?;
    }
}

impl Watch {
    /// Reads the renders, and adds an event to `due` for each render that has changed. Returns `None` if the session has
    /// ended. Reports renders that were deleted or that the user may no longer see as gone, and stops following them.
    async fn look(&mut self) -> Option<()> {
        let service = &self.studio.service;
        let signed_in = service.session(&self.user.secret).await.ok().flatten()?;
        let ids: Vec<RenderId> = self.unfinished.keys().cloned().collect();
        let found = service.render_progress(&signed_in.caller, &ids).await.ok()?;
        let mut unfinished = std::mem::take(&mut self.unfinished);
        for render in found {
            let live = LiveRender::of(&render);
            let event = live.event();
            if unfinished.remove(&render.id).flatten().as_ref() != Some(&event) {
                self.due.push_back(event.clone());
            }
            if !live.is_final || self.with_streams && live.awaits_stream {
                self.unfinished.insert(render.id, Some(event));
            }
        }
        self.due.extend(unfinished.into_keys().map(|id| json!({"id": id.as_str(), "gone": true})));
        Some(())
    }
}
