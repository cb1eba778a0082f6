//! The page of images: list, upload, picture, delete. The composer uploads images, too.

use askama::Template;
use axum::Json;
use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Redirect, Response};
use plinth_service::access::Caller;
use plinth_service::assets::{NewOverlay, NewTexture};
use plinth_service::delivery::Delivery;
use plinth_service::models::Incoming;
use plinth_service::{Result as ServiceResult, ServiceError};
use plinth_spec::wire::{AssetRow, Layer, OverlayRow};
use plinth_spec::{ErrorCode, limits};
use serde_json::json;

use super::composer::rejected;
use super::upload::token;
use crate::composer::named;
use crate::error::{PageError, Result};
use crate::form::{EmptyForm, SessionForm, check_file_form};
use crate::format::{self, DisplayTime, sentence};
use crate::frame::{Frame, page};
use crate::multipart::{FileForm, chunk, skip};
use crate::response::wants_json;
use crate::session::CurrentUser;
use crate::studio::Studio;

/// The header `Cache-Control` of a picture. Browsers may cache it, because the file of an image does not change.
const CACHE: &str = "private, max-age=3600";

/// The purpose of an uploaded image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ImageKind {
    /// An overlay in this layer.
    Overlay(Layer),
    Texture,
}

impl ImageKind {
    /// The kind of an upload that names no kind.
    const DEFAULT: Self = Self::Overlay(Layer::Decal);

    /// Returns the kind with this name in the form.
    fn from_name(name: &str) -> Option<Self> {
        match Layer::from_name(name)? {
            Layer::Texture => Some(Self::Texture),
            layer @ (Layer::Decal | Layer::Background) => Some(Self::Overlay(layer)),
            Layer::Foreground => None,
        }
    }

    const fn layer(self) -> Layer {
        match self {
            Self::Overlay(layer) => layer,
            Self::Texture => Layer::Texture,
        }
    }
}

#[derive(Template)]
#[template(path = "images.html")]
struct ImagesPage {
    frame: Frame,
    sections: Vec<Section>,
    overlays: u64,
    most_overlays: u64,
    textures: u64,
    most_textures: u64,
    texture_size: String,
    most_texture_size: String,
    image_size: String,
    /// Kinds of images that can be uploaded: value and label.
    kinds: [(&'static str, &'static str); 3],
    /// Kind that is chosen at first. After a rejected upload, this is the kind that the user sent.
    kind: &'static str,
    /// Why the upload failed.
    problem: Option<String>,
}

#[derive(Template)]
#[template(path = "image_delete.html")]
struct DeletePage {
    frame: Frame,
    /// Path of the image below the page of images.
    image: String,
    name: String,
    is_texture: bool,
}

/// The images of one kind.
struct Section {
    title: &'static str,
    help: &'static str,
    images: Vec<ImageCard>,
}

/// An image in the list.
struct ImageCard {
    /// Path of the image below the page of images.
    path: String,
    id: String,
    name: String,
    pixels: String,
    size: String,
    /// Whether an administrator has published the image to all workspaces.
    is_system: bool,
    created: DisplayTime,
}

impl ImageCard {
    fn of_overlay(row: OverlayRow) -> Self {
        let (id, name) = named(row.id.to_string(), row.name);
        Self {
            path: format!("overlays/{id}"),
            id,
            name,
            pixels: format!("{}×{}", row.width, row.height),
            size: format::size(row.file_size),
            is_system: row.is_system,
            created: DisplayTime::of(row.created_at.0),
        }
    }

    fn of_texture(row: AssetRow) -> Self {
        let (id, name) = named(row.id, row.name);
        Self {
            path: format!("textures/{id}"),
            id,
            name,
            pixels: row.width.zip(row.height).map_or_else(String::new, |(width, height)| format!("{width}×{height}")),
            size: format::size(row.file_size),
            is_system: false,
            created: DisplayTime::of(row.created_at.0),
        }
    }
}

/// The fields of an upload form.
struct Sent {
    kind: ImageKind,
    /// Name and content of the file. An error if there is no file, or if it cannot be stored.
    file: ServiceResult<(String, Incoming)>,
}

pub(crate) async fn list(State(studio): State<Studio>, user: CurrentUser) -> Result<Response> {
    show(&studio, &user, ImageKind::DEFAULT, None).await
}

async fn show(studio: &Studio, user: &CurrentUser, kind: ImageKind, problem: Option<String>) -> Result<Response> {
    let (service, caller) = (&studio.service, user.caller());
    let mut overlays = service.list_overlays(caller, None).await?.data;
    let mut of_layer = |layer: Layer| -> Vec<ImageCard> {
        overlays.extract_if(.., |row| row.layer == layer).map(ImageCard::of_overlay).collect()
    };
    let mut sections = vec![
        Section {
            title: "Decals",
            help: "Lie on the surface of a model, such as a logo.",
            images: of_layer(Layer::Decal),
        },
        Section {
            title: "Backgrounds",
            help: "Fill the picture behind the model.",
            images: of_layer(Layer::Background),
        },
    ];
    let foregrounds = of_layer(Layer::Foreground);
    let textures = service.list_textures(caller).await?.data.into_iter().map(ImageCard::of_texture);
    sections.push(Section {
        title: "Textures",
        help: "Replace the colour map of a material.",
        images: textures.chain(of_layer(Layer::Texture)).collect(),
    });
    if !foregrounds.is_empty() {
        sections.push(Section { title: "Foregrounds", help: "Were uploaded through the API.", images: foregrounds });
    }
    let usage = service.image_usage(caller).await?;
    Ok(page(&ImagesPage {
        frame: Frame::new(studio, "Images", Some(user)).at("images"),
        sections,
        overlays: usage.overlays,
        most_overlays: limits::OVERLAYS,
        textures: usage.textures,
        most_textures: limits::TEXTURES,
        texture_size: format::size(usage.texture_bytes),
        most_texture_size: format::size(limits::TEXTURES_BYTES),
        image_size: format::size(limits::IMAGE_BYTES),
        kinds: [
            (Layer::Decal.as_str(), "Decal"),
            (Layer::Background.as_str(), "Background"),
            (Layer::Texture.as_str(), "Texture"),
        ],
        kind: kind.layer().as_str(),
        problem,
    }))
}

/// Stores an uploaded image. A script gets the image's identifier and name as JSON. The CSRF token and the kind must
/// come before the file.
pub(crate) async fn upload(State(studio): State<Studio>, user: CurrentUser, request: Request) -> Result<Response> {
    let caller = user.editor()?;
    let is_script = wants_json(request.headers());
    let form = FileForm::from(request).await?;
    let Sent { kind, file } = receive(&studio, &user, form).await?;
    let stored = match file {
        Ok(file) => store(&studio, caller, kind, file).await,
        Err(error) => Err(error),
    };
    match stored {
        Ok((id, name)) if is_script => Ok(Json(json!({"id": id, "name": name})).into_response()),
        Ok(_stored) => Ok(to_list(&studio).into_response()),
        Err(error) if is_script => Ok(rejected(&error)),
        Err(error) if error.status >= 500 => Err(error.into()),
        Err(error) => {
            let mut response = show(&studio, &user, kind, Some(sentence(&error.message))).await?;
            *response.status_mut() = StatusCode::from_u16(error.status).unwrap_or(StatusCode::BAD_REQUEST);
            Ok(response)
        }
    }
}

/// Reads a form with an image.
async fn receive(studio: &Studio, user: &CurrentUser, mut form: FileForm) -> Result<Sent> {
    let (service, caller) = (&studio.service, user.caller());
    let (mut is_checked, mut kind, mut sent) = (false, ImageKind::DEFAULT, None);
    let mut stored = Ok(());
    let room = service.room(caller, limits::IMAGE_BYTES, form.length()).await?;
    while let Some(mut field) = form.next().await? {
        match field.name() {
            Some("form_token") => {
                check_file_form(user, Some(&token(&mut field).await?))?;
                is_checked = true;
            }
            Some("kind") => {
                let unknown = || PageError::new(StatusCode::BAD_REQUEST, "the form names an unknown kind of image");
                kind = ImageKind::from_name(&token(&mut field).await?).ok_or_else(unknown)?;
            }
            Some("file") if !is_checked => check_file_form(user, None)?,
            Some("file") => {
                let file_name = field.file_name().unwrap_or_default().to_owned();
                if let ImageKind::Overlay(_layer) = kind {
                    stored = service.check_overlay_count(caller).await;
                }
                let mut file = service.incoming_file(&room, limits::IMAGE_BYTES)?;
                // The rest of a rejected file is read and discarded, because browsers show the response only after they
                // have sent everything.
                while let Some(piece) = chunk(&mut field).await? {
                    if stored.is_ok() {
                        stored = file.write(&piece).await;
                    }
                }
                // Browsers send an empty field if no file was chosen.
                sent = (file.size() > 0 || !file_name.is_empty()).then_some((file_name, file));
            }
            _ => skip(field).await?,
        }
    }
    if !is_checked {
        check_file_form(user, None)?;
    }
    let missing = || ServiceError::new(ErrorCode::NoFile, "choose an image: PNG, JPEG or WebP");
    Ok(Sent { kind, file: stored.and_then(|()| sent.ok_or_else(missing)) })
}

/// Stores an image. Returns the image's identifier and name.
async fn store(
    studio: &Studio,
    caller: &Caller,
    kind: ImageKind,
    (file_name, file): (String, Incoming),
) -> ServiceResult<(String, String)> {
    let service = &studio.service;
    if kind != ImageKind::Texture {
        let layer = Some(kind.layer().as_str().to_owned());
        let new = NewOverlay { layer, filename: file_name, file: Some(file), ..NewOverlay::default() };
        let overlay = service.create_overlay(caller, new).await?;
        return Ok(named(overlay.id.to_string(), overlay.name));
    }
    let name = file_name.chars().filter(|c| !c.is_control()).take(limits::ASSET_NAME_CHARS).collect();
    let texture = service.create_texture(caller, NewTexture { file: Some(file), name: Some(name) }).await?;
    // If the same file is stored already, the service returns its identifier, which may have another name.
    let name = service.texture_name(caller, &texture.id).await?;
    Ok(named(texture.id, name))
}

pub(crate) async fn overlay_picture(
    State(studio): State<Studio>,
    user: CurrentUser,
    Path(id): Path<String>,
) -> Result<Response> {
    send(&studio, studio.service.overlay_picture(user.caller(), &id).await?).await
}

pub(crate) async fn texture_picture(
    State(studio): State<Studio>,
    user: CurrentUser,
    Path(id): Path<String>,
) -> Result<Response> {
    send(&studio, studio.service.texture_picture(user.caller(), &id).await?).await
}

async fn send(studio: &Studio, delivery: Delivery) -> Result<Response> {
    let content = studio.service.open_delivery(&delivery, None).await?;
    let mut response = Body::from_stream(content).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(delivery.blob.size));
    if let Ok(content_type) = HeaderValue::from_str(&delivery.content_type) {
        headers.insert(header::CONTENT_TYPE, content_type);
    }
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(CACHE));
    Ok(response)
}

pub(crate) async fn ask_to_delete_overlay(
    State(studio): State<Studio>,
    user: CurrentUser,
    Path(id): Path<String>,
) -> Result<Response> {
    let name = studio.service.own_overlay_name(user.editor()?, &id).await?;
    Ok(ask(&studio, &user, format!("overlays/{id}"), name))
}

pub(crate) async fn ask_to_delete_texture(
    State(studio): State<Studio>,
    user: CurrentUser,
    Path(id): Path<String>,
) -> Result<Response> {
    let (id, name) = named(id.clone(), studio.service.texture_name(user.editor()?, &id).await?);
    Ok(ask(&studio, &user, format!("textures/{id}"), name))
}

fn ask(studio: &Studio, user: &CurrentUser, image: String, name: String) -> Response {
    let is_texture = image.starts_with("textures/");
    let frame = Frame::new(studio, "Delete this image?", Some(user)).at("images");
    page(&DeletePage { frame, image, name, is_texture })
}

pub(crate) async fn delete_overlay(
    State(studio): State<Studio>,
    Path(id): Path<String>,
    sent: SessionForm<EmptyForm>,
) -> Result<Redirect> {
    let caller = sent.user.editor()?;
    // Fails if the overlay belongs to another workspace.
    studio.service.own_overlay_name(caller, &id).await?;
    studio.service.delete_overlay(caller, &id).await?;
    Ok(to_list(&studio))
}

pub(crate) async fn delete_texture(
    State(studio): State<Studio>,
    Path(id): Path<String>,
    sent: SessionForm<EmptyForm>,
) -> Result<Redirect> {
    studio.service.delete_texture(sent.user.editor()?, &id).await?;
    Ok(to_list(&studio))
}

fn to_list(studio: &Studio) -> Redirect {
    Redirect::to(&format!("{}/images", studio.site.path))
}
