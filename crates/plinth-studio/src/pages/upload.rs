//! Uploads of models. A script sends one file per request; a form without scripts sends all files in one request.

use askama::Template;
use axum::Json;
use axum::extract::multipart::Field;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Redirect, Response};
use plinth_service::models::{Upload, Uploaded};
use plinth_service::{Meter, ServiceError};
use plinth_spec::wire::{CheckHash, HashMatch};
use plinth_spec::{ErrorCode, limits};
use serde::Deserialize;
use serde_json::json;

use crate::error::Result;
use crate::form::{SessionForm, check_file_form};
use crate::format::sentence;
use crate::frame::{Frame, page};
use crate::multipart::{FileForm, chunk, skip};
use crate::response::{wants_json, with_retry};
use crate::session::CurrentUser;
use crate::studio::Studio;

/// Maximum length of the form field with the CSRF token, in bytes.
const TOKEN_BYTES: usize = 256;

#[derive(Template)]
#[template(path = "uploaded.html")]
struct UploadedPage {
    frame: Frame,
    files: Vec<FileRow>,
}

/// The result for one file.
struct FileRow {
    name: String,
    /// Identifier of the file's model; `None` if the file was rejected.
    model: Option<String>,
    is_duplicate: bool,
    /// The reason why the file was rejected.
    problem: String,
}

/// A file of the form, and the result of its upload.
struct Received {
    name: String,
    outcome: plinth_service::Result<Uploaded>,
}

/// Creates models from the files of a form. The CSRF token must come before the files.
pub(crate) async fn upload(State(studio): State<Studio>, user: CurrentUser, request: Request) -> Result<Response> {
    user.editor()?;
    let is_script = wants_json(request.headers());
    let mut form = FileForm::from(request).await?;
    let length = form.length();
    let mut is_checked = false;
    let mut received = Vec::new();
    while let Some(mut field) = form.next().await? {
        match field.name() {
            Some("form_token") => {
                check_file_form(&user, Some(&token(&mut field).await?))?;
                is_checked = true;
            }
            Some("file") if !is_checked => check_file_form(&user, None)?,
            Some("file") if received.len() == limits::FORM_FILES => {
                let message = format!("choose at most {} files at once", limits::FORM_FILES);
                return Err(ServiceError::new(ErrorCode::BadRequest, message).into());
            }
            Some("file") => received.extend(Box::pin(receive(&studio, &user, field, (received.len(), length))).await?),
            _ => skip(field).await?,
        }
    }
    if received.is_empty() {
        return Err(
            ServiceError::new(ErrorCode::NoFile, "choose at least one file, a .glb or a .zip with an OBJ").into()
        );
    }
    Ok(if is_script { json_of(received) } else { page_of(&studio, &user, received) })
}

pub(super) async fn token(field: &mut Field<'_>) -> Result<String> {
    let mut text = Vec::new();
    while let Some(piece) = chunk(field).await? {
        text.extend_from_slice(&piece);
        if text.len() > TOKEN_BYTES {
            break;
        }
    }
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// Receives a file and creates its model. Returns `None` for the empty field that browsers send if the user has chosen
/// no file. `before` is the number of earlier files in the form, `length` the size of the request in bytes. Each further file counts as a
/// request toward the rate limit; the first file is already counted with the request itself.
async fn receive(
    studio: &Studio,
    user: &CurrentUser,
    mut field: Field<'_>,
    (before, length): (usize, Option<u64>),
) -> Result<Option<Received>> {
    let (service, caller) = (&studio.service, user.caller());
    // Keeps one character more than a name may have, so that the service rejects a longer name.
    let name: String = field.file_name().unwrap_or_default().chars().take(limits::TITLE_CHARS + 1).collect();
    let mut file = service.incoming_model(caller, length).await?;
    let mut stored = Ok(());
    // The rest of a file that is too large is read and discarded, because other files may follow.
    while let Some(piece) = chunk(&mut field).await? {
        if stored.is_ok() {
            stored = file.write(&piece).await;
        }
    }
    if file.size() == 0 && name.is_empty() {
        return Ok(None);
    }
    let create = async {
        stored?;
        if before > 0 {
            service.count_request(caller, Meter::Requests).await?.check()?;
        }
        service.upload_model(caller, Upload { file, name: name.clone(), settings: None }).await
    };
    let outcome = create.await;
    match outcome {
        Err(error) if error.status >= 500 => Err(error.into()),
        outcome => Ok(Some(Received { name, outcome })),
    }
}

/// Returns the JSON response to a script, which sends one file per request.
fn json_of(received: Vec<Received>) -> Response {
    let Some(first) = received.into_iter().next() else { return StatusCode::BAD_REQUEST.into_response() };
    match first.outcome {
        Ok(uploaded) => Json(uploaded.result).into_response(),
        Err(error) => {
            let status = StatusCode::from_u16(error.status).unwrap_or(StatusCode::BAD_REQUEST);
            let body = json!({"error": {"code": error.code.as_str(), "message": sentence(&error.message)}});
            with_retry((status, Json(body)).into_response(), error.retry_after_secs)
        }
    }
}

fn page_of(studio: &Studio, user: &CurrentUser, received: Vec<Received>) -> Response {
    if let [Received { outcome: Ok(only), .. }] = received.as_slice() {
        let path = format!("{}/models/{}", studio.site.path, only.result.model_id);
        return Redirect::to(&path).into_response();
    }
    let files: Vec<FileRow> = received.into_iter().map(row).collect();
    let is_rejected = files.iter().all(|file| file.model.is_none());
    let frame = Frame::new(studio, "Your upload", Some(user)).at("models");
    let mut response = page(&UploadedPage { frame, files });
    if is_rejected {
        *response.status_mut() = StatusCode::UNPROCESSABLE_ENTITY;
    }
    response
}

fn row(received: Received) -> FileRow {
    let Received { name, outcome } = received;
    match outcome {
        Ok(Uploaded { result, is_new }) => {
            FileRow { name, model: Some(result.model_id.to_string()), is_duplicate: !is_new, problem: String::new() }
        }
        Err(error) => FileRow { name, model: None, is_duplicate: false, problem: sentence(&error.message) },
    }
}

/// Form fields for finding a model by the hash of its file.
#[derive(Deserialize)]
pub(crate) struct Hash {
    sha256: String,
}

/// Returns whether the workspace has a model with this file. If so, a script does not upload the file.
pub(crate) async fn check_hash(State(studio): State<Studio>, sent: SessionForm<Hash>) -> Result<Json<HashMatch>> {
    let request = CheckHash { sha256: Some(sent.form.sha256) };
    Ok(Json(studio.service.check_hash(sent.user.in_page_workspace()?, &request).await?))
}
