//! Responses that contain a file. They support byte ranges and conditional requests.

use std::ops::Range;

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http_range_header::{EndPosition, StartPosition, SyntacticallyCorrectRange, parse_range_header};
use plinth_service::delivery::Delivery;
use plinth_spec::ErrorCode;

use crate::error::{ApiError, Result};
use crate::state::Api;

/// Media type of files in responses to clients that accept only this type.
pub(crate) const BYTES: &str = "application/octet-stream";

/// The range of bytes that a `Range` header requests.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Wanted {
    Whole,
    Part(Range<u64>),
    Nothing,
}

/// Builds a response that contains a file, or the range of its bytes that the client requests.
pub(crate) async fn respond(api: &Api, headers: &HeaderMap, delivery: Delivery) -> Result<Response> {
    let size = delivery.blob.size;
    let etag = delivery.blob.etag.as_ref().map(|tag| format!("\"{}\"", tag.trim_matches('"')));
    let etag_bytes = etag.as_ref().map(String::as_bytes);
    let known = headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|tags| tags.to_str().ok());
    let mut response = if etag.as_deref().is_some_and(|tag| known.into_iter().any(|tags| lists(tags, tag))) {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        let is_same = headers.get(header::IF_RANGE).is_none_or(|tag| Some(tag.as_bytes()) == etag_bytes);
        let range = headers.get(header::RANGE).filter(|_range| is_same).and_then(|range| range.to_str().ok());
        match range.map_or(Wanted::Whole, |range| wanted(range, size)) {
            Wanted::Nothing => return Ok(not_satisfiable(size)),
            Wanted::Whole => {
                let content = api.service.open_delivery(&delivery, None).await?;
                sized(StatusCode::OK, size, Body::from_stream(content))
            }
            Wanted::Part(part) => {
                let content = api.service.open_delivery(&delivery, Some(part.clone())).await?;
                let content_range = format!("bytes {}-{}/{size}", part.start, part.end - 1);
                let mut response =
                    sized(StatusCode::PARTIAL_CONTENT, part.end - part.start, Body::from_stream(content));
                set(&mut response, header::CONTENT_RANGE, &content_range);
                response
            }
        }
    };
    set_media_type(&mut response, headers, &delivery.content_type);
    set(&mut response, header::ACCEPT_RANGES, "bytes");
    guard(&mut response);
    set(&mut response, header::CACHE_CONTROL, "private, no-cache");
    if let Some(etag) = &etag {
        set(&mut response, header::ETAG, etag);
    }
    if let Some(disposition) = &delivery.disposition {
        set(&mut response, header::CONTENT_DISPOSITION, disposition);
    }
    Ok(response)
}

/// Removes the headers that request a range from a HEAD request (RFC 9110, section 14.2: only GET has ranges).
pub(crate) async fn ignore_range_of_head(mut request: Request, next: Next) -> Response {
    if request.method() == Method::HEAD {
        request.headers_mut().remove(header::RANGE);
    }
    next.run(request).await
}

/// Sets `Content-Type` to `own`, the media type of the file. If the client accepts only [`BYTES`], sets that type
/// instead.
pub(crate) fn set_media_type(response: &mut Response, request: &HeaderMap, own: &str) {
    let wants_bytes = request.get(header::ACCEPT).is_some_and(|accepted| accepted == BYTES);
    set(response, header::CONTENT_TYPE, if wants_bytes { BYTES } else { own });
    set(response, header::VARY, "accept");
}

/// Sets headers that prevent browsers from executing an uploaded file as a web page of this server.
pub(crate) fn guard(response: &mut Response) {
    set(response, header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    set(response, header::CONTENT_SECURITY_POLICY, "default-src 'none'; sandbox");
}

pub(crate) fn set(response: &mut Response, name: header::HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        response.headers_mut().insert(name, value);
    }
}

pub(crate) fn sized(status: StatusCode, length: u64, body: Body) -> Response {
    let mut response = (status, body).into_response();
    response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(length));
    response
}

fn not_satisfiable(size: u64) -> Response {
    let message = format!("the range lies outside of the file, which has {size} bytes");
    let mut response = ApiError::new(ErrorCode::RangeNotSatisfiable, message).into_response();
    set(&mut response, header::CONTENT_RANGE, &format!("bytes */{size}"));
    response
}

fn lists(header: &str, etag: &str) -> bool {
    header.split(',').map(|tag| tag.trim().trim_start_matches("W/")).any(|tag| tag == "*" || tag == etag)
}

/// Parses a `Range` header. The whole file is sent if the header is malformed (RFC 9110, sections 14.1.2 and 14.2) or
/// requests several ranges.
fn wanted(range: &str, size: u64) -> Wanted {
    let Some((unit, ranges)) = range.split_once('=') else { return Wanted::Whole };
    if !unit.eq_ignore_ascii_case("bytes") {
        return Wanted::Whole;
    }
    if ranges == "-0" {
        return Wanted::Nothing;
    }
    let Ok(parsed) = parse_range_header(&format!("bytes={ranges}")) else { return Wanted::Whole };
    let [SyntacticallyCorrectRange { start, end }] = parsed.ranges.as_slice() else { return Wanted::Whole };
    let (start, end) = match (*start, *end) {
        (StartPosition::Index(start), EndPosition::Index(last)) if last < start => return Wanted::Whole,
        (StartPosition::Index(start), EndPosition::Index(last)) => (start, last.saturating_add(1).min(size)),
        (StartPosition::Index(start), EndPosition::LastByte) => (start, size),
        // A suffix that is longer than the file selects the whole file.
        (StartPosition::FromLast(count), _) => (size.saturating_sub(count), size),
    };
    if start < end { Wanted::Part(start..end) } else { Wanted::Nothing }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_parsed_per_rfc_9110() {
        let cases = [
            ("bytes=0-3", Wanted::Part(0..4)),
            ("bytes=9-9", Wanted::Part(9..10)),
            ("bytes=4-", Wanted::Part(4..10)),
            ("bytes=-3", Wanted::Part(7..10)),
            ("bytes=-10", Wanted::Part(0..10)),
            ("bytes=-500", Wanted::Part(0..10)),
            ("bytes=5-100", Wanted::Part(5..10)),
            ("bytes=10-", Wanted::Nothing),
            ("bytes=10-12", Wanted::Nothing),
            ("bytes=-0", Wanted::Nothing),
            ("Bytes=0-3", Wanted::Part(0..4)),
            ("bytes=0-1,3-4", Wanted::Whole),
            ("bytes=3-1", Wanted::Whole),
            ("pages=0-1", Wanted::Whole),
            ("nonsense", Wanted::Whole),
        ];
        for (range, expected) in cases {
            assert_eq!(wanted(range, 10), expected, "{range}");
        }
    }
}
