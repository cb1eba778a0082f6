//! The library page, which lists the models of the workspace. Shows the sign-in page to a visitor who is not signed in.

use askama::Template;
use axum::extract::{Query, State};
use axum::http::Uri;
use axum::response::{Redirect, Response};
use plinth_service::delivery::Cover;
use plinth_service::models::ModelQuery;
use plinth_spec::page::PageMeta;
use plinth_spec::state::{ModelStates, ModelStatus};
use plinth_spec::wire::{Account, ModelRow};
use serde::Deserialize;
use url::form_urlencoded::Serializer;

use super::overview::allow_files;
use super::sign_in::{go_home, signed_out_page};
use crate::destination::Destination;
use crate::error::Result;
use crate::format::{self, DisplayTime};
use crate::frame::{Frame, page};
use crate::live::LiveRender;
use crate::session::CurrentUser;
use crate::studio::Studio;

/// Number of models per page.
const MODELS: usize = 24;

#[derive(Template)]
#[template(path = "library.html")]
struct LibraryPage {
    frame: Frame,
    account: Account,
    low_balance: u64,
    models: Vec<ModelCard>,
    /// Identifiers of the renders of these models that have not ended, separated by commas.
    following: String,
    filter: Filter,
    /// Filters by state: value and label. The first filter applies if the user has not chosen a filter.
    states: Vec<(&'static str, &'static str)>,
    /// Query string of the next page; `None` on the last page.
    older: Option<String>,
    /// Query string of the first page; `None` on the first page.
    newest: Option<String>,
    /// This page, to which a change of several models leads back.
    list: Destination,
    /// Identifier of the workspace whose models are shown.
    workspace: String,
}

/// A model in the grid.
pub(super) struct ModelCard {
    pub(super) id: String,
    pub(super) name: String,
    sku: Option<String>,
    tags: Vec<String>,
    pub(super) is_archived: bool,
    size: String,
    created: DisplayTime,
    pub(super) cover: Option<Cover>,
    /// Progress of the newest render that has not ended.
    pub(super) live: Option<LiveRender>,
}

/// Query parameters of the library.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Filter {
    #[serde(default)]
    search: String,
    #[serde(default)]
    tags: String,
    #[serde(default)]
    status: String,
    after: Option<String>,
}

const fn states_label(states: ModelStates) -> &'static str {
    match states {
        ModelStates::Active => "Active",
        ModelStates::Archived => "Archived",
        ModelStates::Any => "All",
    }
}

impl Filter {
    /// Returns whether any filter is set. If none is set and the list is empty, the workspace has no active models.
    fn is_set(&self) -> bool {
        !self.search.trim().is_empty()
            || !self.tags.trim().is_empty()
            || !["", ModelStates::DEFAULT.as_str()].contains(&self.status.as_str())
    }

    /// Returns the query string that requests a page of the filtered list. `after` is the cursor of the page.
    fn query(&self, after: Option<&str>) -> String {
        let filters = [("search", self.search.as_str()), ("tags", &self.tags), ("status", &self.status)];
        let set =
            filters.into_iter().chain(after.map(|after| ("after", after))).filter(|(_key, value)| !value.is_empty());
        Serializer::new(String::new()).extend_pairs(set).finish()
    }
}

pub(crate) async fn home(State(studio): State<Studio>) -> Redirect {
    go_home(&studio)
}

pub(crate) async fn show(
    State(studio): State<Studio>,
    user: Option<CurrentUser>,
    Query(filter): Query<Filter>,
    uri: Uri,
) -> Result<Response> {
    let Some(user) = user else { return Ok(signed_out_page(&studio, Destination::of(&uri))) };
    let (service, caller) = (&studio.service, user.caller());
    let query = ModelQuery {
        status: Some(filter.status.clone()).filter(|status| !status.is_empty()),
        tags: Some(filter.tags.clone()),
        search: Some(filter.search.clone()),
        limit: Some(MODELS.to_string()),
        cursor: Some(filter.after.clone().unwrap_or_default()),
        ..ModelQuery::default()
    };
    let models = service.list_models(caller, &query).await?;
    let older = match models.meta {
        PageMeta::Cursor { next_cursor, .. } => next_cursor,
        PageMeta::Offset { .. } => None,
    };
    let models = cards(&studio, &user, models.data).await?;
    let following: Vec<&str> = models.iter().filter_map(|model| Some(model.live.as_ref()?.id.as_str())).collect();
    let mut response = page(&LibraryPage {
        frame: Frame::new(&studio, "Models", Some(&user)).at("models").with_scripts(&["library.js", "upload.js"]),
        account: service.account(caller).await?,
        low_balance: service.options().low_balance,
        following: following.join(","),
        models,
        older: older.map(|after| filter.query(Some(&after))),
        newest: filter.after.is_some().then(|| filter.query(None)),
        filter,
        list: Destination::of(&uri),
        workspace: caller.workspace_id.to_string(),
        states: ModelStates::ALL.iter().map(|states| (states.as_str(), states_label(*states))).collect(),
    });
    allow_files(&studio, &mut response).await?;
    Ok(response)
}

/// Builds the cards of models for the grid.
pub(super) async fn cards(studio: &Studio, user: &CurrentUser, rows: Vec<ModelRow>) -> Result<Vec<ModelCard>> {
    let ids: Vec<_> = rows.iter().map(|row| row.id.clone()).collect();
    let covers = studio.service.model_covers(user.caller(), &ids).await?;
    let unfinished = studio.service.unfinished_renders(user.caller(), &ids).await?;
    let card = |(row, cover): (ModelRow, _)| {
        let live = unfinished.get(&row.id).map(LiveRender::of);
        card(row, cover, live)
    };
    Ok(rows.into_iter().zip(covers).map(card).collect())
}

fn card(row: ModelRow, cover: Option<Cover>, live: Option<LiveRender>) -> ModelCard {
    ModelCard {
        live,
        id: row.id.to_string(),
        name: row.title.unwrap_or(row.original_name),
        sku: row.sku,
        tags: row.tags,
        is_archived: row.status == ModelStatus::Archived,
        size: format::size(row.file_size),
        created: DisplayTime::of(row.created_at.0),
        cover,
    }
}
