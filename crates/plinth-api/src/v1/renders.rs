//! Endpoints of renders.

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use plinth_service::delivery::attachment;
use plinth_service::renders::RenderQuery;
use plinth_spec::OutputFile;
use plinth_spec::state::RenderStatus;
use plinth_spec::wire::{
    AssetUrl, BatchRender, CreateBatch, CreateRender, CreatedRender, Data, DownloadAsset, HlsView, Page, Render,
    RenderCancelled, RenderDeleted, RenderDismissed,
};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::by_id::by_id;
use super::{created, ok, with_memory};

use crate::access::{Editor, Reader};
use crate::error::Result;
use crate::extract::{IdempotencyKey, JsonBody, Path, Query, whole_number};
use crate::file::{guard, respond, set, set_media_type, sized};
use crate::state::Api;

/// Returns the endpoints of this file.
pub(super) fn routes() -> OpenApiRouter<Api> {
    OpenApiRouter::new()
        .routes(routes!(list_renders, create_render))
        .routes(routes!(create_batch))
        .routes(routes!(get_render, delete_render))
        .routes(routes!(dismiss_render))
        .routes(routes!(cancel_render))
        .routes(routes!(get_video))
        .routes(routes!(get_poster))
        .routes(routes!(get_thumb))
        .routes(routes!(get_bundle))
        .routes(routes!(get_dataset))
        .routes(routes!(get_hls))
        .routes(routes!(get_hls_file))
        .routes(routes!(get_download_url))
}

/// Creates a render
#[utoipa::path(post, path = "/renders", tag = "renders", request_body = CreateRender,
    params(("Idempotency-Key" = Option<String>, Header, description = "Repeats with the same key within 30 minutes return the first render.")),
    responses(
    (status = 201, description = "The render was created and charged.", body = Data<CreatedRender>),
    (status = 200, description = "An earlier request created this render.", body = Data<CreatedRender>),
))]
pub(crate) async fn create_render(
    State(api): State<Api>,
    Editor(caller): Editor,
    IdempotencyKey(key): IdempotencyKey,
    JsonBody(request, _memory): JsonBody<CreateRender>,
) -> Result<Response> {
    let render = api.service.create_render(&caller, request, key).await?;
    Ok(if render.deduped.is_some() { ok(render) } else { created(render) })
}

/// Creates up to 100 renders, all or none
#[utoipa::path(post, path = "/renders/batch", tag = "renders", request_body = CreateBatch,
    params(("Idempotency-Key" = Option<String>, Header, description = "One key for the whole batch.")),
    responses((status = 201, description = "The renders were created and charged.", body = Data<Vec<BatchRender>>)))]
pub(crate) async fn create_batch(
    State(api): State<Api>,
    Editor(caller): Editor,
    IdempotencyKey(key): IdempotencyKey,
    JsonBody(request, _memory): JsonBody<CreateBatch>,
) -> Result<Response> {
    Ok(created(api.service.create_batch(&caller, request, key).await?))
}

/// Query parameters that select renders.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query, rename_all = "camelCase")]
pub(crate) struct ListQuery {
    /// Only renders of this model.
    model: Option<String>,
    /// Only renders in this state.
    #[param(value_type = Option<RenderStatus>)]
    status: Option<String>,
    /// Maximum number of rows on the page.
    #[param(value_type = Option<u32>)]
    limit: Option<String>,
    /// Number of rows to skip before the page; ignored if `cursor` is given.
    #[param(value_type = Option<u64>, minimum = 0, default = 0)]
    offset: Option<String>,
    /// Empty for the first page; for each following page, `nextCursor` of the previous response.
    cursor: Option<String>,
    /// Only renders that were changed at or after this time.
    #[param(value_type = Option<String>, format = DateTime)]
    updated_since: Option<String>,
}

/// Lists renders, newest first
#[utoipa::path(get, path = "/renders", tag = "renders", params(ListQuery), responses(
    (status = 200, description = "One page.", body = Page<Render>),
))]
pub(crate) async fn list_renders(
    State(api): State<Api>,
    Reader(caller): Reader,
    Query(query): Query<ListQuery>,
) -> Result<Response> {
    let ListQuery { model, status, limit, offset, cursor, updated_since } = query;
    let query = RenderQuery { model, status, updated_since, limit, offset, cursor };
    let (page, memory) = api.service.list_renders(&caller, &query).await?;
    with_memory(&page, memory)
}

by_id! {
    tag "renders", parameter "id";
    /// Returns a render
    get "/renders/{id}" get_render = Reader.render -> Render, "The render.";
    /// Deletes a render that has ended
    delete "/renders/{id}" delete_render = Editor.delete_render -> RenderDeleted, "The render is deleted.";
    /// Dismisses a failed render: marks it as seen by the user
    patch "/renders/{id}/dismiss" dismiss_render = Editor.dismiss_render -> RenderDismissed, "The render is dismissed.";
    /// Cancels a queued render
    post "/renders/{id}/cancel" cancel_render = Editor.cancel_render -> RenderCancelled, "The render is cancelled and refunded.";
}

/// Query parameter that selects one of several versions of the video.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct VideoQuery {
    /// `web` selects the web video. All other values select the video.
    quality: Option<String>,
}

/// Downloads the video
#[utoipa::path(get, path = "/renders/{id}/video", tag = "files", params(("id" = String, Path), VideoQuery),
    responses(
    (status = 200, description = "The video.", content_type = "video/mp4"),
))]
pub(crate) async fn get_video(
    State(api): State<Api>,
    Reader(caller): Reader,
    Path(id): Path<String>,
    Query(query): Query<VideoQuery>,
    headers: HeaderMap,
) -> Result<Response> {
    let output = if query.quality.as_deref() == Some("web") { OutputFile::Web } else { OutputFile::Video };
    respond(&api, &headers, api.service.render_file(&caller, &id, output).await?).await
}

/// Query parameter that selects one of several versions of the poster.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct PosterQuery {
    /// `full` selects the poster in full size. All other values select the small poster.
    quality: Option<String>,
}

/// Downloads the poster
#[utoipa::path(get, path = "/renders/{id}/poster", tag = "files", params(("id" = String, Path), PosterQuery),
    responses((status = 200, description = "The poster.", content_type = "image/png")))]
pub(crate) async fn get_poster(
    State(api): State<Api>,
    Reader(caller): Reader,
    Path(id): Path<String>,
    Query(query): Query<PosterQuery>,
    headers: HeaderMap,
) -> Result<Response> {
    let output = if query.quality.as_deref() == Some("full") { OutputFile::FullPoster } else { OutputFile::Poster };
    respond(&api, &headers, api.service.render_file(&caller, &id, output).await?).await
}

/// Downloads the thumbnail video
#[utoipa::path(get, path = "/renders/{id}/thumb", tag = "files", params(("id" = String, Path)), responses(
    (status = 200, description = "The video.", content_type = "video/mp4"),
))]
pub(crate) async fn get_thumb(
    State(api): State<Api>,
    Reader(caller): Reader,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response> {
    respond(&api, &headers, api.service.render_file(&caller, &id, OutputFile::Thumb).await?).await
}

/// Downloads the dataset
#[utoipa::path(get, path = "/renders/{id}/dataset", tag = "files", params(("id" = String, Path)), responses(
    (status = 200, description = "The dataset.", content_type = "application/zip"),
))]
pub(crate) async fn get_dataset(
    State(api): State<Api>,
    Reader(caller): Reader,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response> {
    respond(&api, &headers, api.service.render_file(&caller, &id, OutputFile::Dataset).await?).await
}

/// Downloads video, web video, poster and thumbnail video in one ZIP
#[utoipa::path(get, path = "/renders/{id}/bundle", tag = "files", params(("id" = String, Path)), responses(
    (status = 200, description = "The ZIP.", content_type = "application/zip"),
))]
pub(crate) async fn get_bundle(
    State(api): State<Api>,
    Reader(caller): Reader,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response> {
    let bundle = api.service.render_bundle(&caller, &id).await?;
    let mut response = sized(StatusCode::OK, bundle.length, Body::from_stream(bundle.content));
    guard(&mut response);
    set_media_type(&mut response, &headers, "application/zip");
    set(&mut response, header::CONTENT_DISPOSITION, &attachment(&bundle.name));
    // The files of a finished render never change, so clients may cache them forever.
    set(&mut response, header::CACHE_CONTROL, "private, max-age=31536000, immutable");
    Ok(response)
}

/// Returns the URLs of a render's HLS stream
#[utoipa::path(get, path = "/renders/{id}/hls", tag = "files", params(("id" = String, Path)), responses(
    (status = 200, description = "The state of the packaging and the stream URLs.", body = Data<HlsView>),
))]
pub(crate) async fn get_hls(
    State(api): State<Api>,
    Reader(caller): Reader,
    Path(id): Path<String>,
) -> Result<Response> {
    let base = format!("{}/v1/renders", api.public_url);
    Ok(ok(api.service.hls(&caller, &id, &base).await?))
}

/// Downloads a playlist, a segment, the thumbnail track or its pictures
#[utoipa::path(get, path = "/renders/{id}/hls/{*path}", tag = "files",
    params(("id" = String, Path), ("path" = String, Path)), responses(
    (status = 200, description = "The file.", content_type = "application/octet-stream"),
))]
pub(crate) async fn get_hls_file(
    State(api): State<Api>,
    Reader(caller): Reader,
    Path((id, path)): Path<(String, String)>,
    headers: HeaderMap,
) -> Result<Response> {
    respond(&api, &headers, api.service.hls_file(&caller, &id, &path).await?).await
}

/// Query parameters that select a file, and the lifetime of the link to it.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct LinkQuery {
    /// Name of the file.
    #[param(value_type = Option<DownloadAsset>)]
    asset: Option<String>,
    /// Lifetime of the link in seconds.
    #[param(value_type = Option<i64>)]
    expires: Option<String>,
}

/// Creates a link to download a file of a render
#[utoipa::path(get, path = "/renders/{id}/download-url", tag = "files", params(("id" = String, Path), LinkQuery),
    responses((status = 200, description = "The link.", body = Data<AssetUrl>)))]
pub(crate) async fn get_download_url(
    State(api): State<Api>,
    Reader(caller): Reader,
    Path(id): Path<String>,
    Query(query): Query<LinkQuery>,
) -> Result<Response> {
    let expires = whole_number("expires", query.expires.as_deref())?;
    Ok(ok(api.service.download_url(&caller, &id, query.asset.as_deref(), expires).await?))
}
