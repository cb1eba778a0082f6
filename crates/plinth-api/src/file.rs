//! Responses that contain a file. They support byte ranges and conditional requests.

use std::ops::Range;

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::TryStreamExt as _;
use http_range_header::{EndPosition, StartPosition, SyntacticallyCorrectRange, parse_range_header};
use plinth_service::delivery::Delivery;
use plinth_service::{Service, ServiceError};
use plinth_spec::ErrorCode;

use crate::error::{ApiError, Result};
use crate::gzip::{accepts_gzip, gzip, is_compressible};
use crate::state::Api;

/// Media type of files in responses to clients that accept only this type.
pub(crate) const BYTES: &str = "application/octet-stream";

/// The response that the headers of a request select.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Selected {
    PreconditionFailed,
    NotModified,
    Whole,
    Part(Range<u64>),
    NotSatisfiable,
}

/// Builds the response of [`file_response`] to a request of the API.
pub(crate) async fn respond(api: &Api, headers: &HeaderMap, delivery: Delivery) -> Result<Response> {
    Ok(file_response(&api.service, headers, &delivery).await?)
}

/// Builds a response that contains a file, or the range of its bytes that the client requests. `headers` are those of
/// the request; their preconditions are evaluated as RFC 9110, section 13.2.2, says. For a range outside of the file,
/// builds the response with the status 416.
/// Errors: `precondition_failed` if `If-Match` does not list the file, and the errors of
/// [`Service::open_delivery`].
pub async fn file_response(
    service: &Service,
    headers: &HeaderMap,
    delivery: &Delivery,
) -> std::result::Result<Response, ServiceError> {
    let size = delivery.blob.size;
    let is_compressible = is_compressible(&delivery.content_type, size);
    // A range consists of bytes of the stored file.
    let is_compressed = is_compressible && accepts_gzip(headers) && !headers.contains_key(header::RANGE);
    // Different contents have different tags (RFC 9110, section 8.8.3.3).
    let suffix = if is_compressed { "-gzip" } else { "" };
    let etag = delivery.blob.etag.as_ref().map(|tag| format!("\"{}{suffix}\"", tag.trim_matches('"')));
    let mut response = match selected(headers, etag.as_deref(), size) {
        Selected::PreconditionFailed => {
            let message = "the file is not the one that 'If-Match' names; download it again without this header";
            return Err(ServiceError::new(ErrorCode::PreconditionFailed, message));
        }
        Selected::NotSatisfiable => return Ok(not_satisfiable(size)),
        Selected::NotModified => StatusCode::NOT_MODIFIED.into_response(),
        Selected::Whole if is_compressed => {
            let content = service.open_delivery(delivery, None).await?;
            let content: Vec<Bytes> = content.try_collect().await?;
            let content = gzip(&content.concat()).map_err(ServiceError::internal)?;
            let mut response = sized(StatusCode::OK, content.len() as u64, Body::from(content));
            set(&mut response, header::CONTENT_ENCODING, "gzip");
            response
        }
        Selected::Whole => {
            let content = service.open_delivery(delivery, None).await?;
            sized(StatusCode::OK, size, Body::from_stream(content))
        }
        Selected::Part(part) => {
            let content = service.open_delivery(delivery, Some(part.clone())).await?;
            let content_range = format!("bytes {}-{}/{size}", part.start, part.end - 1);
            let mut response = sized(StatusCode::PARTIAL_CONTENT, part.end - part.start, Body::from_stream(content));
            set(&mut response, header::CONTENT_RANGE, &content_range);
            response
        }
    };
    set_media_type(&mut response, headers, &delivery.content_type);
    if is_compressible {
        set(&mut response, header::VARY, "accept, accept-encoding");
    }
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

pub(crate) fn set(response: &mut Response, name: HeaderName, value: &str) {
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

/// Evaluates the preconditions of a request, then its range, in the order of RFC 9110, section 13.2.2. Responses have no
/// `Last-Modified`, so `If-Unmodified-Since` and `If-Modified-Since` are ignored (sections 13.1.3 and 13.1.4), and a date
/// in `If-Range` matches no file.
fn selected(headers: &HeaderMap, etag: Option<&str>, size: u64) -> Selected {
    if names_file(headers, header::IF_MATCH, |tag| Some(tag) == etag) == Some(false) {
        return Selected::PreconditionFailed;
    }
    // Only this header may also list weak tags (section 13.1.2).
    let is_known = |tag: &str| Some(tag.strip_prefix("W/").unwrap_or(tag)) == etag;
    if names_file(headers, header::IF_NONE_MATCH, is_known) == Some(true) {
        return Selected::NotModified;
    }
    let is_same = headers.get(header::IF_RANGE).is_none_or(|tag| Some(tag.as_bytes()) == etag.map(str::as_bytes));
    let range = headers.get(header::RANGE).filter(|_range| is_same).and_then(|range| range.to_str().ok());
    range.map_or(Selected::Whole, |range| wanted(range, size))
}

/// Returns whether the headers with this name contain `*` or a tag for which `is_same` is true, or `None` if the request
/// has no such header.
fn names_file(headers: &HeaderMap, name: HeaderName, is_same: impl Fn(&str) -> bool) -> Option<bool> {
    let mut values = headers.get_all(name).iter().peekable();
    values.peek()?;
    let mut tags = values.filter_map(|value| value.to_str().ok()).flat_map(|tags| tags.split(',')).map(str::trim);
    Some(tags.any(|tag| tag == "*" || is_same(tag)))
}

/// Parses a `Range` header. The whole file is sent if the header is malformed (RFC 9110, sections 14.1.2 and 14.2) or
/// requests several ranges.
fn wanted(range: &str, size: u64) -> Selected {
    let Some((unit, ranges)) = range.split_once('=') else { return Selected::Whole };
    if !unit.eq_ignore_ascii_case("bytes") {
        return Selected::Whole;
    }
    if ranges == "-0" {
        return Selected::NotSatisfiable;
    }
    let Ok(parsed) = parse_range_header(&format!("bytes={ranges}")) else { return Selected::Whole };
    let [SyntacticallyCorrectRange { start, end }] = parsed.ranges.as_slice() else { return Selected::Whole };
    let (start, end) = match (*start, *end) {
        (StartPosition::Index(start), EndPosition::Index(last)) if last < start => return Selected::Whole,
        (StartPosition::Index(start), EndPosition::Index(last)) => (start, last.saturating_add(1).min(size)),
        (StartPosition::Index(start), EndPosition::LastByte) => (start, size),
        // A suffix that is longer than the file selects the whole file.
        (StartPosition::FromLast(count), _) => (size.saturating_sub(count), size),
    };
    if start < end { Selected::Part(start..end) } else { Selected::NotSatisfiable }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_parsed_per_rfc_9110() {
        let cases = [
            ("bytes=0-3", Selected::Part(0..4)),
            ("bytes=9-9", Selected::Part(9..10)),
            ("bytes=4-", Selected::Part(4..10)),
            ("bytes=-3", Selected::Part(7..10)),
            ("bytes=-10", Selected::Part(0..10)),
            ("bytes=-500", Selected::Part(0..10)),
            ("bytes=5-100", Selected::Part(5..10)),
            ("bytes=10-", Selected::NotSatisfiable),
            ("bytes=10-12", Selected::NotSatisfiable),
            ("bytes=-0", Selected::NotSatisfiable),
            ("Bytes=0-3", Selected::Part(0..4)),
            ("bytes=0-1,3-4", Selected::Whole),
            ("bytes=3-1", Selected::Whole),
            ("pages=0-1", Selected::Whole),
            ("nonsense", Selected::Whole),
        ];
        for (range, expected) in cases {
            assert_eq!(wanted(range, 10), expected, "{range}");
        }
    }

    /// The file has the tag "a" and 10 bytes.
    #[test]
    fn preconditions_are_evaluated_in_the_order_of_rfc_9110() {
        let range = || (header::RANGE, "bytes=0-3");
        let part = Selected::Part(0..4);
        for (sent, expected) in [
            (vec![(header::IF_MATCH, "\"a\"")], Selected::Whole),
            (vec![(header::IF_MATCH, "\"b\", \"a\"")], Selected::Whole),
            (vec![(header::IF_MATCH, "\"b\""), (header::IF_MATCH, "\"a\"")], Selected::Whole),
            (vec![(header::IF_MATCH, "*")], Selected::Whole),
            (vec![(header::IF_MATCH, "\"b\"")], Selected::PreconditionFailed),
            (vec![(header::IF_MATCH, "W/\"a\"")], Selected::PreconditionFailed),
            (vec![(header::IF_MATCH, "")], Selected::PreconditionFailed),
            (vec![(header::IF_MATCH, "\"b\""), (header::IF_NONE_MATCH, "\"a\"")], Selected::PreconditionFailed),
            (vec![(header::IF_MATCH, "\"b\""), range()], Selected::PreconditionFailed),
            (vec![(header::IF_MATCH, "\"a\""), (header::IF_NONE_MATCH, "\"a\"")], Selected::NotModified),
            (vec![(header::IF_MATCH, "\"a\""), range()], part.clone()),
            (vec![(header::IF_NONE_MATCH, "W/\"a\""), range()], Selected::NotModified),
            (vec![(header::IF_NONE_MATCH, "\"b\""), range()], part.clone()),
            (vec![(header::IF_RANGE, "\"a\""), range()], part.clone()),
            (vec![(header::IF_RANGE, "W/\"a\""), range()], Selected::Whole),
            (vec![(header::IF_RANGE, "Sat, 29 Oct 1994 19:43:31 GMT"), range()], Selected::Whole),
            (vec![(header::IF_UNMODIFIED_SINCE, "Sat, 29 Oct 1994 19:43:31 GMT"), range()], part),
        ] {
            let mut headers = HeaderMap::new();
            for (name, value) in sent {
                headers.append(name, HeaderValue::from_static(value));
            }
            assert_eq!(selected(&headers, Some("\"a\""), 10), expected, "{headers:?}");
        }
    }

    #[test]
    fn a_file_without_a_tag_matches_only_the_asterisk() {
        for (name, value, expected) in [
            (header::IF_MATCH, "*", Selected::Whole),
            (header::IF_MATCH, "\"a\"", Selected::PreconditionFailed),
            (header::IF_NONE_MATCH, "*", Selected::NotModified),
            (header::IF_NONE_MATCH, "\"a\"", Selected::Whole),
        ] {
            let headers = HeaderMap::from_iter([(name, HeaderValue::from_static(value))]);
            assert_eq!(selected(&headers, None, 10), expected, "{headers:?}");
        }
    }
}
