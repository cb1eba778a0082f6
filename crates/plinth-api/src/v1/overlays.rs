//! Endpoints of overlay images.

use axum::Json;
use axum::extract::{Request, State};
use axum::response::Response;
use plinth_service::assets::NewOverlay;
use plinth_spec::wire::{
    Alignment, AssetDeleted, Data, Layer, OverlayCreated, OverlayResolved, OverlayRow, Page, ResolveOverlay,
};
use plinth_spec::{ErrorCode, limits};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::by_id::by_id;
use super::ok;

use crate::access::{Editor, Reader};
use crate::error::Result;
use crate::extract::{Form, JsonBody, Path, Query, content_length};
use crate::state::Api;

/// Returns the endpoints of this file.
pub(super) fn routes() -> OpenApiRouter<Api> {
    OpenApiRouter::new()
        .routes(routes!(list_overlays, create_overlay))
        .routes(routes!(resolve_overlay))
        .routes(routes!(delete_overlay))
}

/// Form fields with which an overlay is uploaded.
#[derive(ToSchema)]
#[expect(dead_code, reason = "describes the form")]
pub(crate) struct OverlayForm {
    /// PNG, JPEG or WebP of at most 25 MB.
    #[schema(value_type = String, format = Binary, content_media_type = "application/octet-stream")]
    file: Vec<u8>,
    /// Use of the image. Default: `background`.
    layer: Option<Layer>,
    /// At most 100 characters.
    name: Option<String>,
    /// At most 500 characters.
    description: Option<String>,
    /// Stored and returned; pictures depend on `bgAlign` of the settings instead. Default: `left`.
    alignment: Option<Alignment>,
    /// Stored and returned; pictures do not depend on it. From 0 to 1. Default: 1.
    opacity: Option<f64>,
}

/// Stores an overlay
#[utoipa::path(post, path = "/overlays", tag = "overlays",
    request_body(content = OverlayForm, content_type = "multipart/form-data"), responses(
    (status = 200, description = "The overlay is stored.", body = Data<OverlayCreated>),
))]
pub(crate) async fn create_overlay(
    State(api): State<Api>,
    Editor(caller): Editor,
    request: Request,
) -> Result<Response> {
    api.service.check_overlay_count(&caller).await?;
    let room = api.service.room(&caller, limits::IMAGE_BYTES, content_length(request.headers())).await?;
    let mut form = Form::from(request, ErrorCode::BadRequest, limits::IMAGE_BYTES).await?;
    let mut new = NewOverlay::default();
    while let Some(part) = form.next().await? {
        match part.name().as_str() {
            "file" => {
                new.filename = part.file_name();
                new.file = part.into_file(api.service.incoming_file(&room, limits::IMAGE_BYTES)?).await?;
            }
            "layer" => new.layer = Some(part.text().await?),
            "name" => new.name = Some(part.text().await?),
            "description" => new.description = Some(part.text().await?),
            "alignment" => new.alignment = Some(part.text().await?),
            "opacity" => new.opacity = Some(part.text().await?),
            _ => part.skip().await?,
        }
    }
    Ok(ok(api.service.create_overlay(&caller, new).await?))
}

/// Query parameter that selects overlays.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct OverlayQuery {
    /// Only overlays of this layer.
    #[param(value_type = Option<Layer>)]
    layer: Option<String>,
}

/// Lists the overlays of the workspace and the system overlays
#[utoipa::path(get, path = "/overlays", tag = "overlays", params(OverlayQuery), responses(
    (status = 200, description = "The overlays, newest first.", body = Page<OverlayRow>),
))]
pub(crate) async fn list_overlays(
    State(api): State<Api>,
    Reader(caller): Reader,
    Query(query): Query<OverlayQuery>,
) -> Result<Json<Page<OverlayRow>>> {
    Ok(Json(api.service.list_overlays(&caller, query.layer.as_deref()).await?))
}

/// Finds an overlay or texture by the hash of its file
#[utoipa::path(post, path = "/overlays/resolve", tag = "overlays", request_body = ResolveOverlay, responses(
    (status = 200, description = "Whether the workspace has such an image.", body = Data<OverlayResolved>),
))]
pub(crate) async fn resolve_overlay(
    State(api): State<Api>,
    Reader(caller): Reader,
    JsonBody(request, _memory): JsonBody<ResolveOverlay>,
) -> Result<Response> {
    Ok(ok(api.service.resolve_overlay(&caller, &request).await?))
}

by_id! {
    tag "overlays", parameter "id";
    /// Deletes an overlay
    delete "/overlays/{id}" delete_overlay = Editor.delete_overlay -> AssetDeleted, "The overlay is deleted.";
}
