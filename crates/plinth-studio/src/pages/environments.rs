//! The page of environments: list, upload, picture, delete.

use askama::Template;
use axum::Json;
use axum::body::Body;
use axum::extract::multipart::Field;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Redirect, Response};
use plinth_service::ServiceError;
use plinth_service::assets::{EnvPartFile, NewEnv, NewPanorama};
use plinth_service::models::Incoming;
use plinth_spec::wire::AssetRow;
use plinth_spec::{EnvPart, limits};
use serde_json::json;

use super::composer::rejected;
use crate::composer::named;
use crate::error::{PageError, Result};
use crate::form::{EmptyForm, SessionForm, check_file_form};
use crate::format::{self, DisplayTime, sentence};
use crate::frame::{Frame, page};
use crate::multipart::{FileForm, chunk, skip};
use crate::response::wants_json;
use crate::session::CurrentUser;
use crate::studio::Studio;

/// Maximum length of a text field of the form, in bytes.
const TEXT_BYTES: usize = 1024;
/// The header `Cache-Control` of a picture. Browsers may cache it, because the files of an environment do not change.
const CACHE: &str = "private, max-age=3600";

#[derive(Template)]
#[template(path = "environments.html")]
struct EnvironmentsPage {
    frame: Frame,
    environments: Vec<EnvironmentCard>,
    /// Environments that are available to all workspaces.
    system: Vec<EnvironmentCard>,
    used: String,
    /// Why the upload failed.
    problem: Option<String>,
    /// Name that the user entered for the failed upload.
    name: String,
    name_chars: usize,
    most: u64,
    most_size: String,
    panorama_size: String,
    part_size: String,
}

#[derive(Template)]
#[template(path = "environment_delete.html")]
struct DeletePage {
    frame: Frame,
    id: String,
    name: String,
}

/// An environment in the list.
struct EnvironmentCard {
    id: String,
    name: String,
    /// Width and height in pixels; empty if they are not known.
    pixels: String,
    size: String,
    /// Whether an administrator has published the environment to all workspaces.
    is_system: bool,
    created: DisplayTime,
}

impl EnvironmentCard {
    fn of(row: AssetRow) -> Self {
        let pixels = row.width.zip(row.height).map_or_else(String::new, |(width, height)| format!("{width}×{height}"));
        let name = if row.name.is_empty() { row.id.clone() } else { row.name };
        Self {
            id: row.id,
            name,
            pixels,
            size: format::size(row.file_size),
            is_system: row.is_system == Some(true),
            created: DisplayTime::of(row.created_at.0),
        }
    }
}

/// The fields of an upload form.
#[derive(Default)]
struct Sent {
    name: String,
    panorama: Option<(Incoming, String)>,
    parts: Vec<EnvPartFile>,
}

pub(crate) async fn list(State(studio): State<Studio>, user: CurrentUser) -> Result<Response> {
    show(&studio, &user, None, "").await
}

async fn show(studio: &Studio, user: &CurrentUser, problem: Option<String>, name: &str) -> Result<Response> {
    let rows = studio.service.list_envs(user.caller()).await?.data;
    let (system, own): (Vec<_>, Vec<_>) = rows.into_iter().partition(|row| row.is_system == Some(true));
    let used: u64 = own.iter().map(|row| row.file_size).sum();
    let cards = |rows: Vec<AssetRow>| rows.into_iter().map(EnvironmentCard::of).collect();
    Ok(page(&EnvironmentsPage {
        frame: Frame::new(studio, "Environments", Some(user)).at("environments").with_scripts(&["environments.js"]),
        environments: cards(own),
        system: cards(system),
        used: format::size(used),
        problem,
        name: name.to_owned(),
        name_chars: limits::ASSET_NAME_CHARS,
        most: limits::ENVS,
        most_size: format::size(limits::ENVS_BYTES),
        panorama_size: format::size(limits::PANORAMA_BYTES),
        part_size: format::size(limits::ENV_PART_BYTES),
    }))
}

/// Creates an environment from a panorama, or from a gain map in three files. A script gets the identifier and the name of
/// the environment as JSON. The CSRF token must come before the files.
pub(crate) async fn upload(State(studio): State<Studio>, user: CurrentUser, request: Request) -> Result<Response> {
    let caller = user.editor()?;
    let is_script = wants_json(request.headers());
    studio.service.check_env_count(caller).await?;
    let form = FileForm::from(request).await?;
    let Sent { name, panorama, parts } = receive(&studio, &user, form).await?;
    let created = if let Some((file, file_name)) = panorama {
        studio.service.create_env_from_panorama(caller, NewPanorama { file, file_name, name: name.clone() }).await
    } else {
        let new = NewEnv { files: parts, name: Some(name.clone()), width: None, height: None };
        studio.service.create_env(caller, new).await
    };
    match created {
        Ok(created) if is_script => {
            let name = studio.service.env_name(caller, &created.id).await?;
            let (id, name) = named(created.id, name);
            Ok(Json(json!({"id": id, "name": name})).into_response())
        }
        Ok(_created) => Ok(to_list(&studio).into_response()),
        Err(error) if is_script => Ok(rejected(&error)),
        Err(error) if error.status >= 500 => Err(error.into()),
        Err(error) => {
            let mut response = show(&studio, &user, Some(sentence(&error.message)), &name).await?;
            *response.status_mut() = StatusCode::from_u16(error.status).unwrap_or(StatusCode::BAD_REQUEST);
            Ok(response)
        }
    }
}

async fn receive(studio: &Studio, user: &CurrentUser, mut form: FileForm) -> Result<Sent> {
    let (mut sent, length) = (Sent::default(), form.length());
    let mut room = None;
    let mut is_checked = false;
    while let Some(field) = form.next().await? {
        let part = match field.name() {
            Some("form_token") => {
                check_file_form(user, Some(&text(field).await?))?;
                is_checked = true;
                continue;
            }
            Some("name") => {
                sent.name = text(field).await?;
                continue;
            }
            Some("panorama") => None,
            other => {
                let part = other.and_then(EnvPart::from_name);
                if part.is_none() {
                    skip(field).await?;
                    continue;
                }
                part
            }
        };
        if !is_checked {
            check_file_form(user, None)?;
        }
        let file_name = field.file_name().unwrap_or_default().to_owned();
        let service = &studio.service;
        let to = if part.is_none() {
            // A request has room for one panorama, so an earlier one is dropped before the next is received.
            sent.panorama = None;
            service.incoming_panorama(user.caller(), length).await?
        } else {
            if room.is_none() {
                room = Some(service.room(user.caller(), 4 * limits::ENV_PART_BYTES, length).await?);
            }
            let room = room.as_ref().ok_or_else(|| ServiceError::internal("no room for a file"))?;
            service.incoming_file(room, limits::ENV_PART_BYTES)?
        };
        let file = received(field, to).await?;
        // Browsers send an empty field if no file was chosen.
        if file.size() == 0 && file_name.is_empty() {
            continue;
        }
        match part {
            None => sent.panorama = Some((file, file_name)),
            Some(part) => {
                sent.parts.retain(|known| known.part != part);
                sent.parts.push(EnvPartFile { part, file });
            }
        }
    }
    if !is_checked {
        check_file_form(user, None)?;
    }
    Ok(sent)
}

async fn received(mut field: Field<'_>, mut file: Incoming) -> Result<Incoming> {
    while let Some(piece) = chunk(&mut field).await? {
        file.write(&piece).await?;
    }
    Ok(file)
}

async fn text(mut field: Field<'_>) -> Result<String> {
    let mut text = Vec::new();
    while let Some(piece) = chunk(&mut field).await? {
        text.extend_from_slice(&piece);
        if text.len() > TEXT_BYTES {
            return Err(PageError::new(StatusCode::BAD_REQUEST, "a text in the form is too long"));
        }
    }
    String::from_utf8(text)
        .map_err(|_invalid| PageError::new(StatusCode::BAD_REQUEST, "a text in the form is not UTF-8"))
}

/// Sends a picture of an environment.
pub(crate) async fn picture(
    State(studio): State<Studio>,
    user: CurrentUser,
    Path(id): Path<String>,
) -> Result<Response> {
    let delivery = studio.service.env_picture(user.caller(), &id).await?;
    let content = studio.service.open_delivery(&delivery, None).await?;
    let mut response = Body::from_stream(content).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(delivery.blob.size));
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("image/webp"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(CACHE));
    Ok(response)
}

pub(crate) async fn ask_to_delete(
    State(studio): State<Studio>,
    user: CurrentUser,
    Path(id): Path<String>,
) -> Result<Response> {
    let name = studio.service.env_name(user.editor()?, &id).await?;
    let frame = Frame::new(&studio, "Delete this environment?", Some(&user)).at("environments");
    Ok(page(&DeletePage { frame, id, name }))
}

pub(crate) async fn delete(
    State(studio): State<Studio>,
    Path(id): Path<String>,
    sent: SessionForm<EmptyForm>,
) -> Result<Redirect> {
    studio.service.delete_env(sent.user.editor()?, &id).await?;
    Ok(to_list(&studio))
}

fn to_list(studio: &Studio) -> Redirect {
    Redirect::to(&format!("{}/environments", studio.site.path))
}
