//! The page that lists the renders of the workspace, newest first.

use std::collections::BTreeMap;

use askama::Template;
use axum::extract::{Query, State};
use axum::http::Uri;
use axum::response::Response;
use plinth_service::renders::{RenderProgress, RenderQuery};
use plinth_spec::id::RenderId;
use plinth_spec::page::PageMeta;
use plinth_spec::wire::{Account, Render};
use serde::Deserialize;

use super::render::{has_poster, kind, model_name, read_settings};
use crate::destination::Destination;
use crate::error::Result;
use crate::format::{self, DisplayTime};
use crate::frame::{Frame, page};
use crate::live::LiveRender;
use crate::response::{policy_with_files, set_policy};
use crate::session::CurrentUser;
use crate::studio::Studio;

/// Number of renders per page.
const RENDERS: usize = 12;

#[derive(Template)]
#[template(path = "overview.html")]
struct OverviewPage {
    frame: Frame,
    account: Account,
    low_balance: u64,
    cards: Vec<Card>,
    /// Identifiers of the renders that have not ended, separated by commas.
    following: String,
    /// Cursor of the next page; `None` on the last page.
    older: Option<String>,
    /// Whether the request had a cursor. If so, the page does not start with the newest render.
    is_older: bool,
    /// This page, to which the deletion of renders leads back.
    list: Destination,
    /// Whether a browser without scripts reloads the page. A reload would clear checkboxes, so a page that has some is not reloaded.
    reloads: bool,
    /// Base URL of the API.
    api: String,
}

/// A render in the list.
struct Card {
    id: String,
    name: String,
    kind: String,
    status: &'static str,
    status_name: &'static str,
    has_poster: bool,
    created: DisplayTime,
    /// Progress of a render that has not ended.
    live: Option<LiveRender>,
    /// Whether the render has ended, so that it can be deleted.
    is_ended: bool,
}

/// Query parameters of the list.
#[derive(Deserialize)]
pub(crate) struct PageQuery {
    after: Option<String>,
}

pub(crate) async fn show(
    State(studio): State<Studio>,
    user: CurrentUser,
    Query(place): Query<PageQuery>,
    uri: Uri,
) -> Result<Response> {
    let (service, caller) = (&studio.service, user.caller());
    let query = RenderQuery {
        limit: Some(RENDERS.to_string()),
        cursor: Some(place.after.clone().unwrap_or_default()),
        ..RenderQuery::default()
    };
    let (renders, _memory) = service.list_renders(caller, &query).await?;
    let models: Vec<_> = renders.data.iter().map(|render| render.model_id.clone()).collect();
    let names = service.model_names(caller, &models).await?;
    let older = match renders.meta {
        PageMeta::Cursor { next_cursor, .. } => next_cursor,
        PageMeta::Offset { .. } => None,
    };
    let unfinished = renders.data.iter().filter(|render| !render.status.is_final());
    let unfinished: Vec<_> = unfinished.map(|render| render.id.clone()).collect();
    let live = service.render_progress(caller, &unfinished).await?;
    let live: BTreeMap<_, _> = live.into_iter().map(|render| (render.id.clone(), render)).collect();
    let card = |(render, name)| card(render, name, live.get(&render.id));
    let cards = renders.data.iter().zip(names).map(card).collect::<Result<Vec<_>>>()?;
    let has_checkboxes = caller.role.can_edit() && cards.iter().any(|card| card.is_ended);
    let mut response = page(&OverviewPage {
        frame: Frame::new(&studio, "Renders", Some(&user)).at("renders").with_scripts(&["overview.js"]),
        account: service.account(caller).await?,
        low_balance: service.options().low_balance,
        following: live.keys().map(RenderId::as_str).collect::<Vec<_>>().join(","),
        cards,
        older,
        is_older: place.after.is_some(),
        list: Destination::of(&uri),
        reloads: !live.is_empty() && !has_checkboxes,
        api: format!("{}/v1", studio.site.url),
    });
    allow_files(&studio, &mut response).await?;
    Ok(response)
}

fn card(render: &Render, name: Option<String>, progress: Option<&RenderProgress>) -> Result<Card> {
    let settings = read_settings(render)?;
    Ok(Card {
        id: render.id.to_string(),
        name: model_name(name),
        kind: kind(render, &settings),
        status: format::status(render.status),
        status_name: render.status.as_str(),
        has_poster: has_poster(render, &settings),
        created: DisplayTime::of(render.created_at.0),
        live: progress.map(LiveRender::of),
        is_ended: render.status.is_final(),
    })
}

/// Extends the content security policy of a page so that the page may show files of renders.
pub(super) async fn allow_files(studio: &Studio, response: &mut Response) -> Result<()> {
    set_policy(response, &policy_with_files(&studio.service.files_origin().await?));
    Ok(())
}
