//! Sends files of results: parts of HLS streams and datasets, which pages show, and the ZIP archive of a video.

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use plinth_api::file_response;
use plinth_service::delivery::attachment;

use crate::error::Result;
use crate::session::CurrentUser;
use crate::studio::Studio;

/// The header `Cache-Control` of these parts. Browsers may cache them, because the parts of a finished result do not
/// change.
const CACHE: &str = "private, max-age=3600";

/// Returns whether this is the path of a part of an HLS stream or a dataset. Requests for such parts do not count
/// toward the rate limit.
pub(crate) fn is_media(path: &str) -> bool {
    path.starts_with("/renders/") && (path.contains("/hls/") || path.contains("/dataset/"))
}

/// Sends a file of the render's HLS stream, or the range of its bytes that the browser requests. Safari plays no media of a
/// server that ignores ranges.
pub(crate) async fn hls(
    State(studio): State<Studio>,
    user: CurrentUser,
    Path((id, name)): Path<(String, String)>,
    headers: HeaderMap,
) -> Result<Response> {
    let delivery = studio.service.hls_file(user.caller(), &id, &name).await?;
    let mut response = file_response(&studio.service, &headers, &delivery).await?;
    // Browsers must not cache the rejection of a range.
    if !response.status().is_client_error() {
        response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static(CACHE));
    }
    Ok(response)
}

/// Sends a file of the render's dataset.
pub(crate) async fn dataset_file(
    State(studio): State<Studio>,
    user: CurrentUser,
    Path((id, name)): Path<(String, String)>,
) -> Result<Response> {
    let file = studio.service.dataset_file(user.caller(), &id, &name).await?;
    let mut response = Body::from_stream(file.content).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(file.length));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(CACHE));
    set_type(headers, file.content_type);
    Ok(response)
}

/// Sends all files of a video as a ZIP archive.
pub(crate) async fn bundle(
    State(studio): State<Studio>,
    user: CurrentUser,
    Path(id): Path<String>,
) -> Result<Response> {
    let bundle = studio.service.render_bundle(user.caller(), &id).await?;
    let mut response = Body::from_stream(bundle.content).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(bundle.length));
    set_type(headers, "application/zip");
    if let Ok(disposition) = HeaderValue::from_str(&attachment(&bundle.name)) {
        headers.insert(header::CONTENT_DISPOSITION, disposition);
    }
    Ok(response)
}

fn set_type(headers: &mut HeaderMap, content_type: &str) {
    if let Ok(value) = HeaderValue::from_str(content_type) {
        headers.insert(header::CONTENT_TYPE, value);
    }
}
