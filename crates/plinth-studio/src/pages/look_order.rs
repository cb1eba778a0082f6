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
    /// Idempotency key, so that a form which is sent twice orders only once.
    key: String,
}

/// Shows the page for the models that were chosen in the library.
pub(crate) async fn choose(studio: &Studio, sent: &SessionFields) -> Result<Response> {
    let candidates = studio.service.order_candidates(sent.user.editor()?, &chosen_models(sent)?).await?;
    show(studio, sent, candidates, None, None).await
}

/// Shows the price of the renders, or orders them. A script gets the price as JSON.
pub(crate) async fn submit(State(studio): State<Studio>, headers: HeaderMap, sent: SessionFields) -> Result<Response> {
    let caller = sent.user.editor()?;
    let candidates = studio.service.order_candidates(caller, &chosen_models(&sent)?).await?;
    let ids: Vec<&str> = candidates.iter().filter(|one| one.problem.is_none()).map(|one| one.id.as_str()).collect();
    if ids.is_empty() {
        return show(&studio, &sent, candidates, None, None).await;
    }
    let is_script = wants_json(&headers);
    let settings = match settings(&studio, caller, &sent).await {
        Ok(settings) => settings,
        Err(error) if is_script => return Ok(rejected(&error)),
        Err(error) => return Err(error.into()),
    };
    if sent.text("action") != "order" {
        let renders = Some(vec![Value::Object(settings); ids.len()]);
        return match studio.service.price(caller, QuoteRequest { renders }).await {
            Ok(price) if is_script => {
                let note = watermark_note(&price);
                Ok(Json(json!({"quote": price.quote, "note": note})).into_response())
            }
            Err(error) if is_script => Ok(rejected(&error)),
            Ok(price) => show(&studio, &sent, candidates, Some(price), None).await,
            Err(error) if error.status < 500 => show(&studio, &sent, candidates, None, Some(error)).await,
            Err(error) => Err(error.into()),
        };
    }
    let item = |id: &&str| BatchItem {
        model_id: Some((*id).to_owned()),
        render_settings: Some(Value::Object(settings.clone())),
    };
    let request = CreateBatch { renders: Some(ids.iter().map(item).collect()) };
    match studio.service.create_batch(caller, request, ReplayKey::from_header(Some(sent.text("key")))).await {
        Ok(_renders) => Ok(Redirect::to(&format!("{}/renders", studio.site.path)).into_response()),
        Err(error) if error.status < 500 => show(&studio, &sent, candidates, None, Some(error)).await,
        Err(error) => Err(error.into()),
    }
}

/// Returns the settings of the chosen look, with the chosen quality if a quality was chosen.
async fn settings(studio: &Studio, caller: &Caller, sent: &SessionFields) -> ServiceResult<Map<String, Value>> {
    let mut settings = studio.service.look(caller, sent.text("look")).await?.settings;
    let quality = sent.text("quality");
    if !quality.is_empty() {
        settings.insert("quality".to_owned(), Value::from(quality));
    }
    Ok(settings)
}

async fn show(
    studio: &Studio,
    sent: &SessionFields,
    candidates: Vec<Candidate>,
    price: Option<Price>,
    error: Option<ServiceError>,
) -> Result<Response> {
    sent.release_memory();
    let (looks, memory) = cards(studio, sent.user.caller()).await?;
    let preferred = || looks.iter().find(|look| look.is_start).or(looks.first()).map(|look| look.id.clone());
    let chosen = Some(sent.text("look").to_owned()).filter(|id| !id.is_empty());
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
        key: key.unwrap_or_else(new_order_key),
        models,
        looks,
    };
    let mut response = page_with_memory(&shown, memory);
    if let Some(error) = error {
        *response.status_mut() = StatusCode::from_u16(error.status).unwrap_or(StatusCode::BAD_REQUEST);
    }
    allow_files(studio, &mut response).await?;
    Ok(response)
}
