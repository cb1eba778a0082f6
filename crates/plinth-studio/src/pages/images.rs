//! Uploads of images from the composer, such as for decals.

use axum::Json;
use axum::extract::{Request, State};
use axum::response::{IntoResponse as _, Response};
use plinth_service::ServiceError;
use plinth_service::assets::NewOverlay;
use plinth_spec::wire::Layer;
use plinth_spec::{ErrorCode, limits};
use serde_json::json;

use super::composer::rejected;
use super::upload::token;
use crate::error::Result;
use crate::form::check_file_form;
use crate::multipart::{FileForm, chunk, skip};
use crate::session::CurrentUser;
use crate::studio::Studio;

/// Stores an image for decals. Returns its identifier and its name as JSON. The CSRF token must come before the file.
pub(crate) async fn upload(State(studio): State<Studio>, user: CurrentUser, request: Request) -> Result<Response> {
    let caller = user.editor()?;
    // Before the file is read.
    if let Err(error) = studio.service.check_overlay_count(caller).await {
        return Ok(rejected(&error));
    }
    let mut form = FileForm::from(request).await?;
    let (mut is_checked, mut stored) = (false, Ok(()));
    let mut new = NewOverlay { layer: Some(Layer::Decal.as_str().to_owned()), ..NewOverlay::default() };
    while let Some(mut field) = form.next().await? {
        match field.name() {
            Some("form_token") => {
                check_file_form(&user, Some(&token(&mut field).await?))?;
                is_checked = true;
            }
            Some("file") if !is_checked => check_file_form(&user, None)?,
            Some("file") => {
                field.file_name().unwrap_or_default().clone_into(&mut new.filename);
                let mut file = studio.service.incoming_file(limits::IMAGE_BYTES)?;
                // The rest of a file that is too large is read and discarded, so that the browser receives the answer.
                while let Some(piece) = chunk(&mut field).await? {
                    if stored.is_ok() {
                        stored = file.write(&piece).await;
                    }
                }
                new.file = Some(file);
            }
            _ => skip(field).await?,
        }
    }
    if !is_checked {
        check_file_form(&user, None)?;
    }
    if let Err(error) = stored {
        return Ok(rejected(&error));
    }
    if new.file.is_none() {
        return Ok(rejected(&ServiceError::new(ErrorCode::NoFile, "choose an image: PNG, JPEG or WebP")));
    }
    match studio.service.create_overlay(caller, new).await {
        Ok(image) => Ok(Json(json!({"id": image.id, "name": image.name})).into_response()),
        Err(error) => Ok(rejected(&error)),
    }
}
