//! Endpoints of previews: single frames, drawn at once and free of charge.

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use plinth_spec::preview::{DatasetCameras, SurfacesAtPoint};
use plinth_spec::wire::{Data, DrawPreview, FindCameras, FindSurfaces};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::by_id::by_id;
use super::ok;

use crate::access::Editor;
use crate::error::Result;
use crate::extract::{JsonBody, Path};
use crate::file::{guard, set, set_media_type, sized};
use crate::state::Api;

/// Returns the endpoints of this file.
pub(super) fn routes() -> OpenApiRouter<Api> {
    OpenApiRouter::new().routes(routes!(draw_preview)).routes(routes!(find_surfaces)).routes(routes!(find_cameras))
}

/// Draws one frame of a video
///
/// The picture has a watermark. An account gets one preview at a time; further requests wait.
#[utoipa::path(post, path = "/models/{modelId}/preview", tag = "previews", params(("modelId" = String, Path)),
    request_body = DrawPreview, responses(
    (status = 200, description = "The frame.", content_type = "image/png"),
))]
pub(crate) async fn draw_preview(
    State(api): State<Api>,
    Editor(caller): Editor,
    Path(id): Path<String>,
    headers: HeaderMap,
    JsonBody(wanted, _memory): JsonBody<DrawPreview>,
) -> Result<Response> {
    let png = api.service.draw_preview(&caller, &id, wanted).await?;
    let mut response = sized(StatusCode::OK, png.len() as u64, Body::from(png));
    set_media_type(&mut response, &headers, "image/png");
    guard(&mut response);
    set(&mut response, header::CACHE_CONTROL, "no-store");
    Ok(response)
}

by_id! {
    tag "previews", parameter "modelId";
    /// Finds the surfaces that are visible at a point of a frame
    post "/models/{modelId}/preview/surfaces" find_surfaces(wanted: FindSurfaces) = Editor.find_surfaces -> SurfacesAtPoint,
        "The surfaces, and the camera of the frame.";
    /// Returns the cameras of a dataset
    post "/models/{modelId}/preview/cameras" find_cameras(wanted: FindCameras) = Editor.find_cameras -> DatasetCameras,
        "The cameras.";
}
