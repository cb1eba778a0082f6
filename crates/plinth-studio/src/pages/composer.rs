//! The composer: the page on which a user sets all render settings for one model, sees the price, and orders the
//! render.

use askama::Template;
use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Redirect, Response};
use plinth_service::access::Caller;
use plinth_service::billing::Price;
use plinth_service::delivery::Cover;
use plinth_service::looks::new_order_key;
use plinth_service::models::{ModelContents, texture_map_names};
use plinth_service::{Result as ServiceResult, ServiceError};
use plinth_spec::idempotency::ReplayKey;
use plinth_spec::pricing::Quote;
use plinth_spec::wire::{CreateRender, ModelDetail, QuoteRequest};
use plinth_spec::{RenderSettings, limits};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::looks::{LookCard, cards};
use crate::composer::{Assets, Kind, SettingsGroup, groups, read_settings, setting_of, with_label};
use crate::error::Result;
use crate::form::SessionFields;
use crate::format::{sentence, watermark_note};
use crate::frame::{Frame, page_with_memory};
use crate::response::{policy_with_previews, wants_json, with_retry};
use crate::session::CurrentUser;
use crate::studio::Studio;

#[derive(Template)]
#[template(path = "composer.html")]
struct ComposerPage {
    frame: Frame,
    id: String,
    name: String,
    cover: Option<Cover>,
    groups: Vec<SettingsGroup>,
    /// The model's materials, for controls that a script creates.
    materials: Vec<MaterialChoice>,
    /// Names of all texture maps.
    map_names: Vec<&'static str>,
    /// Identifiers and names of the images for decals.
    decals: Vec<(String, String)>,
    /// Identifiers and names of the images for materials.
    textures: Vec<(String, String)>,
    /// Names of the model's animations, and their lengths in seconds.
    clips: Vec<(String, f64)>,
    quote: Option<Quote>,
    /// Note that free credits pay.
    note: Option<String>,
    /// Why the settings were rejected.
    problem: Option<String>,
    looks: Vec<LookCard>,
    /// Identifier of the look with which the composer started; empty if it started without a look.
    chosen: String,
    /// Name that the user entered for a look that could not be saved.
    look_name: String,
    name_chars: usize,
    /// The settings as JSON.
    json: String,
    /// Base URL of the API.
    api: String,
    /// Idempotency key, so that a form which is sent twice orders only once.
    key: String,
}

/// A material of the model.
struct MaterialChoice {
    name: String,
    /// Names of the material's texture maps, separated by spaces. `None` if they are not known.
    maps: Option<String>,
}

impl MaterialChoice {
    fn of(name: String, contents: Option<&ModelContents>) -> Self {
        let maps =
            contents.map(|contents| contents.material_maps.get(&name).map(|maps| maps.join(" ")).unwrap_or_default());
        Self { name, maps }
    }
}

/// Query parameters of the composer.
#[derive(Deserialize)]
pub(crate) struct Start {
    /// Identifier of a render with whose settings the composer starts.
    from: Option<String>,
    /// Identifier of a look with whose settings the composer starts; empty for the default settings.
    look: Option<String>,
}

/// The data that the page shows in addition to the settings.
#[derive(Default)]
struct Shown {
    /// Identifier of the look with which the composer started; empty for none.
    look: String,
    /// Name that the user entered for a look that could not be saved.
    look_name: String,
    /// Idempotency key of the form that was sent; empty if the page is shown for the first time.
    key: String,
}

impl Shown {
    /// Returns the data for a page that shows a form again.
    fn of(sent: &SessionFields) -> Self {
        Self { key: sent.text("key").to_owned(), ..Self::default() }
    }
}

pub(crate) async fn show(
    State(studio): State<Studio>,
    user: CurrentUser,
    Path(id): Path<String>,
    Query(start): Query<Start>,
) -> Result<Response> {
    let model = studio.service.model(user.editor()?, &id).await?;
    let (look, settings) = match start.from.filter(|from| !from.is_empty()) {
        Some(from) => (String::new(), settings_of_render(&studio, user.caller(), &from).await?),
        None => start_settings(&studio, user.caller(), start.look.as_deref()).await?,
    };
    let priced = price(&studio, user.caller(), &settings).await;
    page_of(&studio, &user, model, &settings, priced, Shown { look, ..Shown::default() }).await
}

/// Returns identifier and settings of the look `asked`, or of the workspace's start look if no look is asked for.
async fn start_settings(
    studio: &Studio,
    caller: &Caller,
    asked: Option<&str>,
) -> ServiceResult<(String, Map<String, Value>)> {
    let look = match asked {
        Some("") => None,
        Some(id) => Some(studio.service.look(caller, id).await?),
        None => studio.service.start_look(caller).await?,
    };
    Ok(look.map(|look| (look.id, look.settings)).unwrap_or_default())
}

/// Returns the settings in the request of an earlier render, without settings that the server added.
async fn settings_of_render(studio: &Studio, caller: &Caller, id: &str) -> ServiceResult<Map<String, Value>> {
    let render = studio.service.render(caller, id).await?;
    let settings = RenderSettings::from_echoed(&render.render_settings).map_err(ServiceError::internal)?;
    Ok(settings.echoed().as_object().cloned().unwrap_or_default())
}

/// Shows the price for the settings of the form, orders a render with them, or saves them as a look. A script gets the
/// price as JSON.
pub(crate) async fn submit(
    State(studio): State<Studio>,
    Path(id): Path<String>,
    headers: HeaderMap,
    sent: SessionFields,
) -> Result<Response> {
    let caller = sent.user.editor()?;
    let model = studio.service.model(caller, &id).await?;
    let is_script = wants_json(&headers);
    let settings = match read_settings(&sent) {
        Ok(settings) => settings,
        Err(error) if is_script => return Ok(rejected(&error)),
        // A value that cannot be parsed cannot be shown in its control again, so an error page is shown.
        Err(error) => return Err(ServiceError { message: with_label(&error.message), ..error }.into()),
    };
    if sent.text("action") == "save-look" {
        return save_look(&studio, &sent, model, settings, is_script).await;
    }
    if sent.text("action") != "order" {
        let priced = price(&studio, caller, &settings).await;
        return match priced {
            Ok(price) if is_script => {
                let note = watermark_note(&price);
                Ok(Json(json!({"settings": settings, "quote": price.quote, "note": note})).into_response())
            }
            Err(error) if is_script => Ok(rejected(&error)),
            priced => {
                sent.release_memory();
                page_of(&studio, &sent.user, model, &settings, priced, Shown::of(&sent)).await
            }
        };
    }
    let request = CreateRender { model_id: Some(id), render_settings: Some(Value::Object(settings.clone())) };
    match studio.service.create_render(caller, request, ReplayKey::from_header(Some(sent.text("key")))).await {
        Ok(created) => Ok(Redirect::to(&format!("{}/renders/{}", studio.site.path, created.id)).into_response()),
        Err(error) if error.status < 500 => {
            sent.release_memory();
            page_of(&studio, &sent.user, model, &settings, Err(error), Shown::of(&sent)).await
        }
        Err(error) => Err(error.into()),
    }
}

/// Saves the settings of the form as a look. A script gets the look as JSON.
async fn save_look(
    studio: &Studio,
    sent: &SessionFields,
    model: ModelDetail,
    settings: Map<String, Value>,
    is_script: bool,
) -> Result<Response> {
    let (name, replaces) = (sent.text("look_name"), !sent.text("look_replace").is_empty());
    let given = Value::Object(settings.clone());
    match studio.service.save_look(sent.user.caller(), name, &given, replaces).await {
        Ok(look) if is_script => {
            Ok(Json(json!({"look": {"id": look.id, "name": look.name, "settings": look.settings}})).into_response())
        }
        Ok(look) => {
            let path = format!("{}/models/{}/compose?look={}", studio.site.path, model.row.id, look.id);
            Ok(Redirect::to(&path).into_response())
        }
        Err(error) if is_script => Ok(rejected(&error)),
        Err(error) if error.status < 500 => {
            let shown = Shown { look_name: name.to_owned(), ..Shown::of(sent) };
            sent.release_memory();
            page_of(studio, &sent.user, model, &settings, Err(error), shown).await
        }
        Err(error) => Err(error.into()),
    }
}

async fn price(studio: &Studio, caller: &Caller, settings: &Map<String, Value>) -> ServiceResult<Price> {
    let request = QuoteRequest { renders: Some(vec![Value::Object(settings.clone())]) };
    studio.service.price(caller, request).await
}

/// Returns the JSON response to a script whose settings were rejected.
pub(super) fn rejected(error: &ServiceError) -> Response {
    error.log();
    let status = StatusCode::from_u16(error.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let (message, setting) = (sentence(&with_label(&error.message)), setting_of(&error.message));
    let body = json!({"error": {"code": error.code.as_str(), "message": message, "setting": setting}});
    with_retry((status, Json(body)).into_response(), error.retry_after_secs)
}

async fn page_of(
    studio: &Studio,
    user: &CurrentUser,
    model: ModelDetail,
    settings: &Map<String, Value>,
    priced: ServiceResult<Price>,
    shown: Shown,
) -> Result<Response> {
    let (price, error) = match priced {
        Ok(price) => (Some(price), None),
        Err(error) if error.status < 500 => (None, Some(error)),
        Err(error) => return Err(error.into()),
    };
    let (service, caller) = (&studio.service, user.caller());
    let assets = Assets::of(service, caller, &model).await?;
    let cover = service.model_covers(caller, std::slice::from_ref(&model.row.id)).await?.pop().flatten();
    let contents = service.model_contents(&model.row.id).await?;
    let material_names = model.material_names.unwrap_or_default();
    let name = model.row.title.unwrap_or(model.row.original_name);
    let (looks, memory) = cards(studio, caller).await?;
    let shown_page = ComposerPage {
        frame: Frame::new(studio, &format!("Compose {name}"), Some(user)).at("models").with_scripts(&["composer.js"]),
        id: model.row.id.to_string(),
        name,
        cover,
        groups: groups(settings, &assets),
        decals: assets.decals,
        textures: assets.textures,
        clips: model.animations.into_iter().map(|clip| (clip.name, clip.duration)).collect(),
        materials: material_names.into_iter().map(|name| MaterialChoice::of(name, contents.as_ref())).collect(),
        map_names: texture_map_names().collect(),
        note: price.as_ref().and_then(watermark_note),
        quote: price.map(|price| price.quote),
        problem: error.as_ref().map(|error| sentence(&with_label(&error.message))),
        looks,
        chosen: shown.look,
        look_name: shown.look_name,
        name_chars: limits::LOOK_NAME_CHARS,
        json: serde_json::to_string_pretty(settings).unwrap_or_default(),
        api: format!("{}/v1", studio.site.url),
        key: Some(shown.key).filter(|key| !key.is_empty()).unwrap_or_else(new_order_key),
    };
    let mut response = page_with_memory(&shown_page, memory);
    if let Some(error) = error {
        *response.status_mut() = StatusCode::from_u16(error.status).unwrap_or(StatusCode::BAD_REQUEST);
    }
    let policy = policy_with_previews(&service.files_origin().await?);
    if let Ok(policy) = HeaderValue::from_str(&policy) {
        response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    Ok(response)
}

#[cfg(test)]
mod tests {
    use plinth_spec::ErrorCode;

    use super::*;

    #[test]
    fn a_script_learns_when_it_may_try_again() {
        let busy = ServiceError::new(ErrorCode::RateLimited, "too many requests");
        let busy = rejected(&ServiceError { retry_after_secs: Some(30), ..busy });
        assert_eq!(busy.headers().get(header::RETRY_AFTER), Some(&HeaderValue::from_static("30")));
        let full = rejected(&ServiceError::new(ErrorCode::LimitReached, "at most 20 environments"));
        assert_eq!((full.status(), full.headers().get(header::RETRY_AFTER)), (StatusCode::TOO_MANY_REQUESTS, None));
    }
}
