//! Signed links to files of the local store. A request to such a link needs no API key, because the signature grants
//! access.

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::header::CONTENT_RANGE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt as _;
use plinth_service::DrainLimit;
use plinth_service::delivery::LocalLink;
use plinth_spec::ErrorCode;
use serde::Deserialize;

use crate::error::{ApiError, Result};
use crate::extract::{Path, Query, content_length};
use crate::file::respond;
use crate::state::Api;

/// Query parameters of a signed link.
#[derive(Debug, Deserialize)]
pub(crate) struct LinkQuery {
    exp: i64,
    #[serde(rename = "type")]
    content_type: String,
    disp: String,
    #[serde(default)]
    kid: String,
    sig: String,
}

fn link(path: String, query: LinkQuery) -> LocalLink {
    LocalLink {
        path,
        expires_at_secs: query.exp,
        content_type: query.content_type,
        disposition: query.disp,
        secret_id: query.kid,
        signature: query.sig,
    }
}

/// Downloads the file to which a signed link refers. The download counts as open until its response is sent.
pub(crate) async fn get_file(
    State(api): State<Api>,
    Path(path): Path<String>,
    Query(query): Query<LinkQuery>,
    headers: HeaderMap,
) -> Result<Response> {
    let delivery = api.service.local_file(link(path, query)).await?;
    let open = api.service.open_download(&delivery)?;
    let mut response = respond(&api, &headers, delivery).await?;
    response.extensions_mut().insert(open);
    Ok(response)
}

/// Uploads the file to which a signed link refers.
pub(crate) async fn put_file(
    State(api): State<Api>,
    Path(path): Path<String>,
    Query(query): Query<LinkQuery>,
    Extension(drain_limit): Extension<DrainLimit>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response> {
    // Otherwise a part would be stored as if it were the whole file (RFC 9110, section 14.5).
    if headers.contains_key(CONTENT_RANGE) {
        let message = "a file cannot be sent in parts; send the whole file, without the header Content-Range";
        return Err(ApiError::bad_request(message));
    }
    let link = link(path, query);
    let mut file = api.service.begin_local_put(&link, content_length(&headers)).await?;
    drain_limit.extend();
    let mut pieces = body.into_data_stream();
    while let Some(piece) = pieces.next().await {
        let broke = |_gone| ApiError::new(ErrorCode::BadRequest, "the connection was lost during the upload");
        api.service.write_local_put(&link, &mut file, &piece.map_err(broke)?).await?;
    }
    api.service.finish_local_put(&link, file).await?;
    Ok(StatusCode::OK.into_response())
}
