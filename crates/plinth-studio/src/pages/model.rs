//! The page of a model, with its contents, its renders, and forms to change it.

use std::collections::BTreeMap;

use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Redirect, Response};
use plinth_service::ServiceError;
use plinth_service::delivery::Cover;
use plinth_service::models::ModelContents;
use plinth_service::renders::RenderProgress;
use plinth_spec::id::RenderId;
use plinth_spec::settings::Output;
use plinth_spec::state::ModelStatus;
use plinth_spec::wire::{Animation, Change, RenderSummary, UpdateModel};
use plinth_spec::{RenderSettings, limits};
use serde::Deserialize;

use super::events;
use super::overview::allow_files;
use super::sign_in::go_home;
use crate::error::Result;
use crate::form::{EmptyForm, SessionForm};
use crate::format::{self, DisplayTime, sentence};
use crate::frame::{Frame, page, page_with_memory};
use crate::live::LiveRender;
use crate::session::CurrentUser;
use crate::studio::Studio;

#[derive(Template)]
#[template(path = "model.html")]
struct ModelPage {
    frame: Frame,
    id: String,
    /// Name of the uploaded file.
    file: String,
    /// The values that the fields of the form had when the page was first shown.
    stored: Fields,
    /// The values that the form shows. After a rejected edit, these are the values that the user sent.
    shown: Fields,
    /// Why the edit was rejected.
    problem: Option<String>,
    is_archived: bool,
    size: String,
    sha256: String,
    created: DisplayTime,
    updated: DisplayTime,
    cover: Option<Cover>,
    animations: Vec<Animation>,
    meshes: Option<Vec<String>>,
    materials: Option<Vec<String>>,
    /// Other contents of the model; `None` if they are not known.
    contents: Option<ModelContents>,
    renders: Vec<RenderRow>,
    /// Identifiers of the newest renders that have not ended, separated by commas.
    following: String,
    title_chars: usize,
}

/// A render in the list.
struct RenderRow {
    id: String,
    kind: String,
    status: &'static str,
    status_name: &'static str,
    created: DisplayTime,
    /// Progress of a render that has not ended.
    live: Option<LiveRender>,
}

#[derive(Template)]
#[template(path = "model_delete.html")]
struct DeletePage {
    frame: Frame,
    id: String,
    name: String,
}

/// The fields of a model that the form can change.
#[derive(Clone)]
struct Fields {
    title: String,
    sku: String,
    /// Tags, separated by commas.
    tags: String,
}

/// Form fields of an edit. The fields whose names begin with `stored_` contain the values that the page showed at
/// first. A field whose value equals its stored value has not been edited. A form without stored values edits all
/// fields.
#[derive(Deserialize)]
pub(crate) struct Edit {
    title: String,
    sku: String,
    tags: String,
    stored_title: Option<String>,
    stored_sku: Option<String>,
    stored_tags: Option<String>,
}

impl Edit {
    /// Returns the edited fields only, so that edits of other fields that somebody else has made in the meantime are
    /// kept.
    fn change(&self) -> UpdateModel {
        let is_edited = |sent: &str, stored: &Option<String>| stored.as_deref().map(str::trim) != Some(sent.trim());
        let change = |sent: &str, stored: &Option<String>| match sent.trim() {
            _ if !is_edited(sent, stored) => Change::Keep,
            "" => Change::Clear,
            text => Change::Set(text.to_owned()),
        };
        UpdateModel {
            title: change(&self.title, &self.stored_title),
            sku: change(&self.sku, &self.stored_sku),
            tags: is_edited(&self.tags, &self.stored_tags).then(|| self.tags.split(',').map(str::to_owned).collect()),
        }
    }
}

pub(crate) async fn show(State(studio): State<Studio>, user: CurrentUser, Path(id): Path<String>) -> Result<Response> {
    page_of(&studio, &user, &id, None).await
}

/// Shows the page of a model. After a rejected edit, shows the values that the user sent and the reason.
async fn page_of(
    studio: &Studio,
    user: &CurrentUser,
    id: &str,
    rejected: Option<(Edit, ServiceError)>,
) -> Result<Response> {
    let service = &studio.service;
    let (model, memory) = service.model_with_renders(user.caller(), id).await?;
    let row = model.row;
    let cover = service.model_covers(user.caller(), std::slice::from_ref(&row.id)).await?.pop().flatten();
    let contents = service.model_contents(&row.id).await?;
    let (renders, following) = render_rows(studio, user, &model.renders).await?;
    let name = row.title.clone().unwrap_or_else(|| row.original_name.clone());
    let now = Fields {
        title: row.title.clone().unwrap_or_default(),
        sku: row.sku.clone().unwrap_or_default(),
        tags: row.tags.join(", "),
    };
    // After a rejected edit, the page keeps the stored values of the first page, so that the corrected form still edits
    // the same fields.
    let stored = rejected.as_ref().map_or_else(
        || now.clone(),
        |(edit, _)| Fields {
            title: edit.stored_title.clone().unwrap_or_else(|| now.title.clone()),
            sku: edit.stored_sku.clone().unwrap_or_else(|| now.sku.clone()),
            tags: edit.stored_tags.clone().unwrap_or_else(|| now.tags.clone()),
        },
    );
    let status = rejected.as_ref().and_then(|(_, error)| StatusCode::from_u16(error.status).ok());
    let problem = rejected.as_ref().map(|(_, error)| sentence(&error.message));
    let shown =
        rejected.map_or_else(|| now.clone(), |(edit, _)| Fields { title: edit.title, sku: edit.sku, tags: edit.tags });
    let shown_page = ModelPage {
        frame: Frame::new(studio, &name, Some(user)).at("models").with_scripts(&["library.js"]),
        id: row.id.to_string(),
        file: row.original_name,
        stored,
        shown,
        problem,
        is_archived: row.status == ModelStatus::Archived,
        size: format::size(row.file_size),
        sha256: row.sha256,
        created: DisplayTime::of(row.created_at.0),
        updated: DisplayTime::of(row.updated_at.0),
        cover,
        animations: model.animations,
        meshes: model.mesh_names,
        materials: model.material_names,
        contents,
        renders,
        following,
        title_chars: limits::TITLE_CHARS,
    };
    let mut response = page_with_memory(&shown_page, memory);
    if let Some(status) = status {
        *response.status_mut() = status;
    }
    allow_files(studio, &mut response).await?;
    Ok(response)
}

fn kind_of(settings: &RenderSettings) -> String {
    match settings.video().output {
        Output::Dataset => format!("dataset {}", settings.dataset().quality.as_str()),
        Output::Video => format!("{} · {}", settings.video().quality.as_str(), settings.camera().effect.as_str()),
    }
}

/// Builds the rows of the list of renders. Also returns the identifiers of the newest ones that have not ended, separated by commas.
async fn render_rows(
    studio: &Studio,
    user: &CurrentUser,
    renders: &[RenderSummary],
) -> Result<(Vec<RenderRow>, String)> {
    let unfinished = renders.iter().filter(|render| !render.status.is_final()).take(events::MOST);
    let unfinished: Vec<RenderId> = unfinished.map(|render| render.id.clone()).collect();
    let progress = studio.service.render_progress(user.caller(), &unfinished).await?;
    let unfinished = progress.into_iter().filter(|render| !render.status.is_final());
    let live: BTreeMap<_, _> = unfinished.map(|render| (render.id.clone(), render)).collect();
    let following: Vec<&str> = live.keys().map(RenderId::as_str).collect();
    let rows = renders.iter().map(|render| render_row(render, live.get(&render.id))).collect();
    Ok((rows, following.join(",")))
}

fn render_row(render: &RenderSummary, progress: Option<&RenderProgress>) -> RenderRow {
    let kind = match RenderSettings::from_echoed(&render.render_settings) {
        Ok(settings) => kind_of(&settings),
        Err(_unknown) => "with settings of another version".to_owned(),
    };
    RenderRow {
        id: render.id.to_string(),
        kind,
        status: format::status(render.status),
        status_name: render.status.as_str(),
        created: DisplayTime::of(render.created_at.0),
        live: progress.map(LiveRender::of),
    }
}

pub(crate) async fn edit(
    State(studio): State<Studio>,
    Path(id): Path<String>,
    sent: SessionForm<Edit>,
) -> Result<Response> {
    let SessionForm { user, form } = sent;
    let change = form.change();
    if change == UpdateModel::default() {
        studio.service.model(user.editor()?, &id).await?;
        return Ok(back(&studio, &id).into_response());
    }
    match studio.service.update_model(user.editor()?, &id, change).await {
        Ok(_edited) => Ok(back(&studio, &id).into_response()),
        Err(error) if error.status == 400 => page_of(&studio, &user, &id, Some((form, error))).await,
        Err(error) => Err(error.into()),
    }
}

pub(crate) async fn archive(
    State(studio): State<Studio>,
    Path(id): Path<String>,
    sent: SessionForm<EmptyForm>,
) -> Result<Redirect> {
    studio.service.archive_model(sent.user.editor()?, &id).await?;
    Ok(back(&studio, &id))
}

pub(crate) async fn unarchive(
    State(studio): State<Studio>,
    Path(id): Path<String>,
    sent: SessionForm<EmptyForm>,
) -> Result<Redirect> {
    studio.service.unarchive_model(sent.user.editor()?, &id).await?;
    Ok(back(&studio, &id))
}

pub(crate) async fn ask_to_delete(
    State(studio): State<Studio>,
    user: CurrentUser,
    Path(id): Path<String>,
) -> Result<Response> {
    let row = studio.service.model(user.editor()?, &id).await?.row;
    let frame = Frame::new(&studio, "Delete this model?", Some(&user)).at("models");
    Ok(page(&DeletePage { frame, id, name: row.title.unwrap_or(row.original_name) }))
}

pub(crate) async fn delete(
    State(studio): State<Studio>,
    Path(id): Path<String>,
    sent: SessionForm<EmptyForm>,
) -> Result<Redirect> {
    studio.service.delete_model(sent.user.editor()?, &id).await?;
    Ok(go_home(&studio))
}

/// Redirects to a temporary download link of the model's file.
pub(crate) async fn file(State(studio): State<Studio>, user: CurrentUser, Path(id): Path<String>) -> Result<Redirect> {
    let link = studio.service.model_file_url(user.caller(), &id, None).await?;
    Ok(Redirect::temporary(&link.url))
}

/// Redirects to the page of a model. The service must have found a model with this identifier, so that the URL is
/// valid.
fn back(studio: &Studio, id: &str) -> Redirect {
    Redirect::to(&format!("{}/models/{id}", studio.site.path))
}
