//! The page that orders renders of several models with one look. It shows the price before the order.

use askama::Template;
use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Redirect, Response};
use plinth_service::access::Caller;
use plinth_service::billing::Price;
use plinth_service::looks::{Candidate, new_order_key};
use plinth_service::{Result as ServiceResult, ServiceError};
use plinth_spec::ErrorCode;
use plinth_spec::idempotency::ReplayKey;
use plinth_spec::pricing::Quote;
use plinth_spec::quality::Quality;
use plinth_spec::wire::{BatchItem, CreateBatch, QuoteRequest};
use serde_json::{Map, Value, json};

use super::bulk::chosen_models;
use super::composer::rejected;
use super::looks::{LookCard, cards};
use super::overview::allow_files;
use crate::composer::with_label;
use crate::error::Result;
use crate::form::SessionFields;
use crate::format::{sentence, watermark_note};
use crate::frame::{Frame, page_with_memory};
use crate::response::wants_json;
use crate::studio::Studio;

const LOOK_CHANGED: &str = "this look was changed after the page was opened";
const NO_MODEL_LEFT: &str = "none of the models can be rendered any more";
const MODELS_LEFT_OUT: &str =
    "some of the models cannot be rendered any more; check the price before you order renders of the others";

#[derive(Template)]
#[template(path = "look_order.html")]
struct OrderPage {
    frame: Frame,
    /// Models that can be rendered.
    models: Vec<Candidate>,
    /// Models that cannot be rendered: name or identifier, and the reason.
    rejected: Vec<(String, String)>,
    looks: Vec<LookCard>,
    /// Identifier of the chosen look.
    chosen: String,
    qualities: Vec<&'static str>,
    /// The chosen quality; empty for the quality of the look.
    quality: String,
    quote: Option<Quote>,
    /// Note that free credits pay.
    note: Option<String>,
    problem: Option<String>,
    /// What has changed since the page of the form was opened.
    notice: Option<String>,
    /// Idempotency key, so that a form which is sent twice orders only once.
    key: String,
}

/// The chosen look of a form.
struct ChosenLook {
    /// The settings, with the chosen quality if a quality was chosen.
    settings: Map<String, Value>,
    /// Whether the settings of the look are not those that the page showed.
    is_changed: bool,
}

/// The result of a form, which the page shows.
#[derive(Default)]
struct Shown {
    price: Option<Price>,
    error: Option<ServiceError>,
    notice: Option<String>,
}

/// Shows the page for the models that were chosen in the library.
pub(crate) async fn choose(studio: &Studio, sent: &SessionFields) -> Result<Response> {
    let candidates = studio.service.order_candidates(sent.user.editor()?, &chosen_models(sent)?).await?;
    show(studio, sent, candidates, Shown::default()).await
}

/// Shows the price of the renders, or orders them. A script gets the price as JSON. If the look or the models are not those of
/// the page any more, orders nothing.
pub(crate) async fn submit(State(studio): State<Studio>, headers: HeaderMap, sent: SessionFields) -> Result<Response> {
    let caller = sent.user.editor()?;
    let candidates = studio.service.order_candidates(caller, &chosen_models(&sent)?).await?;
    let count = candidates.iter().filter(|one| one.problem.is_none()).count();
    let is_script = wants_json(&headers);
    if count == 0 && is_script {
        return Ok(outdated(NO_MODEL_LEFT, "model"));
    }
    if count == 0 {
        return show(&studio, &sent, candidates, Shown::default()).await;
    }
    let look = match chosen_look(&studio, caller, &sent).await {
        Ok(look) if is_script && look.is_changed => {
            return Ok(outdated(&format!("{LOOK_CHANGED}; show the price again"), "look"));
        }
        Ok(look) => look,
        Err(error) if is_script => return Ok(rejected(&error)),
        Err(error) => return Err(error.into()),
    };
    let is_order = sent.text("action") == "order";
    let notice = if look.is_changed {
        Some(format!("{LOOK_CHANGED}; check it and the price before you order"))
    } else if is_order && count < candidates.len() {
        // The form contains only the models that could be rendered when its page was opened.
        Some(MODELS_LEFT_OUT.to_owned())
    } else {
        None
    };
    if is_order && notice.is_none() {
        return order(&studio, &sent, candidates, &look.settings).await;
    }
    let renders = Some(vec![Value::Object(look.settings); count]);
    match studio.service.price(caller, QuoteRequest { renders }).await {
        Ok(price) if is_script => {
            let note = watermark_note(&price);
            Ok(Json(json!({"quote": price.quote, "note": note})).into_response())
        }
        Err(error) if is_script => Ok(rejected(&error)),
        Ok(price) => show(&studio, &sent, candidates, Shown { price: Some(price), notice, error: None }).await,
        Err(error) if error.status < 500 => {
            show(&studio, &sent, candidates, Shown { error: Some(error), notice, price: None }).await
        }
        Err(error) => Err(error.into()),
    }
}

/// Orders a render of each model.
async fn order(
    studio: &Studio,
    sent: &SessionFields,
    candidates: Vec<Candidate>,
    settings: &Map<String, Value>,
) -> Result<Response> {
    let item = |model: &Candidate| BatchItem {
        model_id: Some(model.id.clone()),
        render_settings: Some(Value::Object(settings.clone())),
    };
    let request = CreateBatch { renders: Some(candidates.iter().map(item).collect()) };
    let key = ReplayKey::from_header(Some(sent.text("key")));
    match studio.service.create_batch(sent.user.editor()?, request, key).await {
        Ok(_renders) => Ok(Redirect::to(&format!("{}/renders", studio.site.path)).into_response()),
        Err(error) if error.status < 500 => {
            show(studio, sent, candidates, Shown { error: Some(error), ..Shown::default() }).await
        }
        Err(error) => Err(error.into()),
    }
}

/// Returns the identifier of the chosen look, and the SHA-256 of the settings that the page showed.
fn look_and_sha256(sent: &SessionFields) -> (&str, &str) {
    let look = sent.text("look");
    look.split_once('.').unwrap_or((look, ""))
}

async fn chosen_look(studio: &Studio, caller: &Caller, sent: &SessionFields) -> ServiceResult<ChosenLook> {
    let (id, shown) = look_and_sha256(sent);
    let look = studio.service.look(caller, id).await?;
    let is_changed = shown != look.settings_sha256();
    let mut settings = look.settings;
    let quality = sent.text("quality");
    if !quality.is_empty() {
        settings.insert("quality".to_owned(), Value::from(quality));
    }
    Ok(ChosenLook { settings, is_changed })
}

/// Returns the JSON response to a script whose page shows models or a look that have changed since. `field` is the name of their
/// field. The script then sends the form as a browser does, so that the response is the page with the present models and looks.
fn outdated(message: &str, field: &str) -> Response {
    let error = json!({"code": ErrorCode::BadRequest.as_str(), "message": sentence(message), "setting": field});
    (StatusCode::CONFLICT, Json(json!({"error": error}))).into_response()
}

async fn show(studio: &Studio, sent: &SessionFields, candidates: Vec<Candidate>, result: Shown) -> Result<Response> {
    let Shown { price, error, notice } = result;
    sent.release_memory();
    let (looks, memory) = cards(studio, sent.user.caller()).await?;
    let preferred = || looks.iter().find(|look| look.is_start).or(looks.first()).map(|look| look.id.clone());
    let chosen = Some(look_and_sha256(sent).0.to_owned()).filter(|id| !id.is_empty());
    let key = Some(sent.text("key").to_owned()).filter(|key| !key.is_empty());
    let (models, rejected): (Vec<_>, Vec<_>) = candidates.into_iter().partition(|one| one.problem.is_none());
    let reason = |one: Candidate| {
        let name = if one.name.is_empty() { one.id } else { one.name };
        (name, sentence(one.problem.unwrap_or_default()))
    };
    let title = format!("Render {} with a look", if models.len() == 1 { "a model" } else { "models" });
    let shown = OrderPage {
        frame: Frame::new(studio, &title, Some(&sent.user)).at("models").with_scripts(&["order.js"]),
        rejected: rejected.into_iter().map(reason).collect(),
        chosen: chosen.or_else(preferred).unwrap_or_default(),
        qualities: Quality::NAMES.to_vec(),
        quality: sent.text("quality").to_owned(),
        note: price.as_ref().and_then(watermark_note),
        quote: price.map(|price| price.quote),
        problem: error.as_ref().map(|error| sentence(&with_label(&error.message))),
        notice: notice.as_deref().map(sentence),
        key: key.unwrap_or_else(new_order_key),
        models,
        looks,
    };
    let mut response = page_with_memory(&shown, memory);
    let rejection = error.map(|error| StatusCode::from_u16(error.status).unwrap_or(StatusCode::BAD_REQUEST));
    if let Some(status) = rejection.or(notice.map(|_notice| StatusCode::CONFLICT)) {
        *response.status_mut() = status;
    }
    allow_files(studio, &mut response).await?;
    Ok(response)
}
