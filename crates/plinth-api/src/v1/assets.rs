//! Endpoints of textures and environments.

use axum::Json;
use axum::extract::{Request, State};
use axum::response::Response;
use plinth_service::assets::{EnvPartFile, NewEnv, NewTexture};
use plinth_spec::wire::{AssetCreated, AssetDeleted, AssetRow, Data, Page};
use plinth_spec::{EnvPart, ErrorCode, limits};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::by_id::by_id;
use super::{created, ok};

use crate::access::{Editor, Reader};
use crate::error::Result;
use crate::extract::{Form, Path, content_length};
use crate::state::Api;

/// Returns the endpoints of this file.
pub(super) fn routes() -> OpenApiRouter<Api> {
    OpenApiRouter::new()
        .routes(routes!(list_textures, create_texture))
        .routes(routes!(delete_texture))
        .routes(routes!(list_envs, create_env))
        .routes(routes!(delete_env))
}

/// Form fields with which a texture is uploaded.
#[derive(ToSchema)]
#[expect(dead_code, reason = "describes the form")]
pub(crate) struct TextureForm {
    /// PNG, JPEG or WebP of at most 25 MB.
    #[schema(value_type = String, format = Binary, content_media_type = "application/octet-stream")]
    file: Vec<u8>,
    /// At most 100 characters.
    name: Option<String>,
}

/// Form fields with which an environment is uploaded.
#[derive(ToSchema)]
#[expect(dead_code, reason = "describes the form")]
pub(crate) struct EnvForm {
    /// WebP of at most 48 MB.
    #[schema(value_type = String, format = Binary, content_media_type = "application/octet-stream")]
    sdr: Vec<u8>,
    /// WebP of at most 48 MB.
    #[schema(value_type = String, format = Binary, content_media_type = "application/octet-stream")]
    gainmap: Vec<u8>,
    /// JSON object of at most 48 MB.
    #[schema(value_type = String, format = Binary, content_media_type = "application/octet-stream")]
    metadata: Vec<u8>,
    /// WebP of at most 48 MB.
    #[schema(value_type = Option<String>, format = Binary, content_media_type = "application/octet-stream")]
    thumb: Option<Vec<u8>>,
    /// At most 100 characters.
    name: Option<String>,
    /// Width of the environment in pixels.
    width: Option<u32>,
    /// Height of the environment in pixels.
    height: Option<u32>,
}

/// Maximum total size of the four files of an environment, in bytes.
const ENV_BYTES: u64 = 4 * limits::ENV_PART_BYTES;

/// Stores a texture
#[utoipa::path(post, path = "/assets/textures", tag = "assets",
    request_body(content = TextureForm, content_type = "multipart/form-data"), responses(
    (status = 201, description = "The texture is stored.", body = Data<AssetCreated>),
    (status = 200, description = "The workspace has a texture with the same content already.", body = Data<AssetCreated>),
))]
pub(crate) async fn create_texture(
    State(api): State<Api>,
    Editor(caller): Editor,
    request: Request,
) -> Result<Response> {
    let room = api.service.room(&caller, limits::IMAGE_BYTES, content_length(request.headers())).await?;
    let mut form = Form::from(request, ErrorCode::BadRequest, limits::IMAGE_BYTES).await?;
    let mut new = NewTexture::default();
    while let Some(part) = form.next().await? {
        match part.name().as_str() {
            "file" => new.file = part.into_file(api.service.incoming_file(&room, limits::IMAGE_BYTES)?).await?,
            "name" => new.name = Some(part.text().await?),
            _ => part.skip().await?,
        }
    }
    let made = api.service.create_texture(&caller, new).await?;
    Ok(if made.deduped.is_some() { ok(made) } else { created(made) })
}

/// Lists the workspace's textures
#[utoipa::path(get, path = "/assets/textures", tag = "assets", responses(
    (status = 200, description = "The textures, newest first.", body = Page<AssetRow>),
))]
pub(crate) async fn list_textures(State(api): State<Api>, Reader(caller): Reader) -> Result<Json<Page<AssetRow>>> {
    Ok(Json(api.service.list_textures(&caller).await?))
}

/// Stores an environment
#[utoipa::path(post, path = "/assets/envs", tag = "assets",
    request_body(content = EnvForm, content_type = "multipart/form-data"), responses(
    (status = 201, description = "The environment is stored.", body = Data<AssetCreated>),
))]
pub(crate) async fn create_env(State(api): State<Api>, Editor(caller): Editor, request: Request) -> Result<Response> {
    api.service.check_env_count(&caller).await?;
    let room = api.service.room(&caller, ENV_BYTES, content_length(request.headers())).await?;
    let mut form = Form::from(request, ErrorCode::BadRequest, ENV_BYTES).await?;
    let mut new = NewEnv::default();
    while let Some(part) = form.next().await? {
        let name = part.name();
        match (EnvPart::from_name(&name), name.as_str()) {
            (Some(kind), _) => {
                new.files.retain(|file| file.part != kind);
                let file = part.into_file(api.service.incoming_file(&room, limits::ENV_PART_BYTES)?).await?;
                new.files.extend(file.map(|file| EnvPartFile { part: kind, file }));
            }
            (None, "name") => new.name = Some(part.text().await?),
            (None, "width") => new.width = Some(part.text().await?),
            (None, "height") => new.height = Some(part.text().await?),
            _ => part.skip().await?,
        }
    }
    Ok(created(api.service.create_env(&caller, new).await?))
}

/// Lists the environments of the workspace and the system environments
#[utoipa::path(get, path = "/assets/envs", tag = "assets", responses(
    (status = 200, description = "The environments, newest first.", body = Page<AssetRow>),
))]
pub(crate) async fn list_envs(State(api): State<Api>, Reader(caller): Reader) -> Result<Json<Page<AssetRow>>> {
    Ok(Json(api.service.list_envs(&caller).await?))
}

by_id! {
    tag "assets", parameter "id";
    /// Deletes a texture
    delete "/assets/textures/{id}" delete_texture = Editor.delete_texture -> AssetDeleted, "The texture is deleted.";
    /// Deletes an environment
    delete "/assets/envs/{id}" delete_env = Editor.delete_env -> AssetDeleted, "The environment is deleted.";
}
