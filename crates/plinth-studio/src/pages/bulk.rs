//! Changes or deletes several models with one form.

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use plinth_service::ServiceError;
use plinth_service::access::Caller;
use plinth_spec::state::ModelStatus;
use plinth_spec::{ErrorCode, limits};

use super::look_order;
use crate::destination::Destination;
use crate::error::{PageError, Result};
use crate::form::SessionFields;
use crate::format::sentence;
use crate::frame::{Frame, page};
use crate::studio::Studio;

/// Maximum number of models in one change, and of renders in one order.
const MODELS: usize = limits::BATCH_ITEMS;

#[derive(Template)]
#[template(path = "bulk_delete.html")]
struct ConfirmPage {
    frame: Frame,
    /// Identifier and name of each model.
    models: Vec<(String, String)>,
    /// Identifiers of the chosen models that do not exist any more.
    missing: Vec<String>,
    /// The page of the library on which the models were chosen.
    list: Destination,
}

#[derive(Template)]
#[template(path = "bulk_failed.html")]
struct FailedPage {
    frame: Frame,
    changed: usize,
    /// Name or identifier of each model that was not changed, and the reason.
    failures: Vec<(String, String)>,
    /// The page of the library on which the models were chosen.
    list: Destination,
}

/// The change to make to each model.
enum Change {
    Archive,
    Unarchive,
    Delete,
    AddTags(Vec<String>),
}

impl Change {
    /// Returns the state to which the change brings a model; `None` if the model keeps its state or is deleted.
    const fn state(&self) -> Option<ModelStatus> {
        match self {
            Self::Archive => Some(ModelStatus::Archived),
            Self::Unarchive => Some(ModelStatus::Active),
            Self::Delete | Self::AddTags(_) => None,
        }
    }
}

/// Changes the chosen models. Before a deletion, shows a page that asks for confirmation.
pub(crate) async fn change(State(studio): State<Studio>, sent: SessionFields) -> Result<Response> {
    let caller = sent.user.editor()?;
    let ids = chosen_models(&sent)?;
    let change = match sent.text("action") {
        "render" => return look_order::choose(&studio, &sent).await,
        "archive" => Change::Archive,
        "unarchive" => Change::Unarchive,
        "delete" if sent.text("sure") == "yes" => Change::Delete,
        "delete" => return confirm(&studio, &sent, &ids).await,
        "tag" => Change::AddTags(tags_of(sent.text("tag"))?),
        _ => return Err(PageError::new(StatusCode::BAD_REQUEST, "choose what to do with the models")),
    };
    let mut failures = Vec::new();
    for id in &ids {
        match apply(&studio, caller, id, &change).await {
            Ok(()) => {}
            Err(error) if error.status < 500 => {
                failures.extend(failure(&studio, caller, (*id, &change), &error).await?);
            }
            Err(error) => return Err(error.into()),
        }
    }
    if failures.is_empty() {
        return Ok(list_page(&sent).redirect(&studio).into_response());
    }
    let frame = Frame::new(&studio, "Not everything was changed", Some(&sent.user)).at("models");
    let changed = ids.len() - failures.len();
    let mut response = page(&FailedPage { frame, changed, failures, list: list_page(&sent) });
    *response.status_mut() = StatusCode::CONFLICT;
    Ok(response)
}

/// Returns the identifiers of the models that were chosen in the library.
/// Errors: no models were chosen, or too many.
pub(super) fn chosen_models(sent: &SessionFields) -> Result<Vec<&str>> {
    let ids: Vec<&str> = sent.all("model").collect();
    if ids.is_empty() || ids.len() > MODELS {
        let message = format!("choose 1 to {MODELS} models first");
        return Err(PageError::new(StatusCode::BAD_REQUEST, &message));
    }
    Ok(ids)
}

/// Splits a text at commas into tags, as the form of a model does.
/// Errors: there are no tags.
fn tags_of(text: &str) -> Result<Vec<String>> {
    let tags: Vec<String> = text.split(',').map(str::trim).filter(|tag| !tag.is_empty()).map(str::to_owned).collect();
    if tags.is_empty() {
        return Err(PageError::new(StatusCode::BAD_REQUEST, "write the tag to add"));
    }
    Ok(tags)
}

/// Returns the page of the library on which the models were chosen, with its filter and its place in the list.
fn list_page(sent: &SessionFields) -> Destination {
    Destination::parse(sent.text("list"))
}

/// Returns name and reason for a model that was not changed; `None` if the model is in the wanted state already.
async fn failure(
    studio: &Studio,
    caller: &Caller,
    (id, change): (&str, &Change),
    error: &ServiceError,
) -> Result<Option<(String, String)>> {
    let reason = sentence(&error.message);
    match studio.service.model(caller, id).await {
        Ok(model) if change.state() == Some(model.row.status) => Ok(None),
        Ok(model) => Ok(Some((model.row.title.unwrap_or(model.row.original_name), reason))),
        Err(missing) if missing.code == ErrorCode::ModelNotFound => Ok(Some((id.to_owned(), reason))),
        Err(other) => Err(other.into()),
    }
}

async fn confirm(studio: &Studio, sent: &SessionFields, ids: &[&str]) -> Result<Response> {
    let (mut models, mut missing) = (Vec::new(), Vec::new());
    for id in ids {
        match studio.service.model(sent.user.caller(), id).await {
            Ok(model) => models.push(((*id).to_owned(), model.row.title.unwrap_or(model.row.original_name))),
            Err(error) if error.code == ErrorCode::ModelNotFound => missing.push((*id).to_owned()),
            Err(error) => return Err(error.into()),
        }
    }
    let title = if models.is_empty() { "None of the chosen models is left" } else { "Delete these models?" };
    let frame = Frame::new(studio, title, Some(&sent.user)).at("models");
    let status = if models.is_empty() { StatusCode::NOT_FOUND } else { StatusCode::OK };
    Ok((status, page(&ConfirmPage { frame, models, missing, list: list_page(sent) })).into_response())
}

async fn apply(studio: &Studio, caller: &Caller, id: &str, change: &Change) -> plinth_service::Result<()> {
    let service = &studio.service;
    match change {
        Change::Archive => service.archive_model(caller, id).await.map(drop),
        Change::Unarchive => service.unarchive_model(caller, id).await.map(drop),
        Change::Delete => service.delete_model(caller, id).await.map(drop),
        Change::AddTags(tags) => service.add_model_tags(caller, id, tags).await.map(drop),
    }
}
