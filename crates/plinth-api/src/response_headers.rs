//! The headers of responses. They are part of the OpenAPI document.

use axum::http::{HeaderName, StatusCode, header};
use utoipa::openapi::path::Operation;
use utoipa::openapi::{Header, HeaderBuilder, Object, Ref, RefOr, Type};

use crate::access::{LIMIT, REMAINING, RESET};
use crate::openapi::JSON;
use crate::trace::REQUEST_ID;

/// Operations whose file has a name under which clients save it.
const WITH_NAME: [&str; 2] = ["get_bundle", "get_model_file"];
/// The operation whose files may be compressed, because some are text.
const WITH_TEXT: &str = "get_hls_file";

/// Returns the headers of all responses with their descriptions, as reusable components of the document.
pub(crate) fn headers() -> impl Iterator<Item = (String, RefOr<Header>)> {
    let described = [
        (REQUEST_ID.clone(), Type::String, "Identifier of the request, which is also in the server's log."),
        (LIMIT.clone(), Type::Integer, "Number of requests that the rate limit allows per minute."),
        (REMAINING.clone(), Type::Integer, "Number of requests that the rate limit still allows."),
        (RESET.clone(), Type::Integer, "Seconds until the rate limit starts again."),
        (header::RETRY_AFTER, Type::Integer, "Seconds to wait before the request is sent again."),
        (header::WWW_AUTHENTICATE, Type::String, "`Bearer`: the request needs an API key."),
        (header::ETAG, Type::String, "Entity tag of the file, for `If-Match`, `If-None-Match` and `If-Range`."),
        (header::ACCEPT_RANGES, Type::String, "`bytes`: `Range` can request a part of the file."),
        (header::CONTENT_RANGE, Type::String, "The part of the file that the body contains, and the size of the file."),
        (header::CONTENT_DISPOSITION, Type::String, "Name under which to save the file."),
        (header::CACHE_CONTROL, Type::String, "How long the file may be cached."),
        (
            header::CONTENT_ENCODING,
            Type::String,
            "`gzip`: the file is compressed, because `Accept-Encoding` permits it.",
        ),
        (header::VARY, Type::String, "The headers of the request on which the response depends, such as `accept`."),
        (header::X_CONTENT_TYPE_OPTIONS, Type::String, "`nosniff`: browsers must not guess the media type."),
        (header::CONTENT_SECURITY_POLICY, Type::String, "Prevents browsers from running the file as a page."),
    ];
    described.into_iter().map(|(name, kind, description)| {
        let header = HeaderBuilder::new().schema(Some(Object::with_type(kind))).description(Some(description)).build();
        (name.to_string(), RefOr::T(header))
    })
}

/// Adds the headers that the responses of an operation may have. The errors of the operation must already be described.
pub(crate) fn describe_headers(operation: &mut Operation) {
    let has_name = operation.operation_id.as_deref().is_some_and(|id| WITH_NAME.contains(&id));
    let has_text = operation.operation_id.as_deref() == Some(WITH_TEXT);
    let responses = &mut operation.responses.responses;
    let needs_key = responses.contains_key(StatusCode::UNAUTHORIZED.as_str());
    let has_parts = responses.contains_key(StatusCode::PARTIAL_CONTENT.as_str());
    for (status, response) in responses {
        let RefOr::T(response) = response else { continue };
        let status = StatusCode::from_bytes(status.as_bytes()).unwrap_or_default();
        let mut names = vec![REQUEST_ID.clone()];
        if needs_key {
            names.extend([LIMIT.clone(), REMAINING.clone(), RESET.clone()]);
        }
        names.extend(of_status(status));
        if status == StatusCode::NOT_MODIFIED || response.content.keys().any(|media_type| media_type != JSON) {
            names.extend([
                header::CACHE_CONTROL,
                header::VARY,
                header::X_CONTENT_TYPE_OPTIONS,
                header::CONTENT_SECURITY_POLICY,
            ]);
            names.extend(has_name.then_some(header::CONTENT_DISPOSITION));
            names.extend((has_text && status == StatusCode::OK).then_some(header::CONTENT_ENCODING));
            if has_parts {
                names.extend([header::ETAG, header::ACCEPT_RANGES]);
            }
        }
        response.headers.extend(names.iter().map(|name| (name.to_string(), RefOr::Ref(reference(name)))));
    }
}

/// Returns the header that only responses with this status have.
fn of_status(status: StatusCode) -> Option<HeaderName> {
    match status {
        StatusCode::UNAUTHORIZED => Some(header::WWW_AUTHENTICATE),
        StatusCode::PARTIAL_CONTENT | StatusCode::RANGE_NOT_SATISFIABLE => Some(header::CONTENT_RANGE),
        // Errors with the status 500 have this header if the server is being stopped.
        StatusCode::TOO_MANY_REQUESTS | StatusCode::INTERNAL_SERVER_ERROR => Some(header::RETRY_AFTER),
        _ => None,
    }
}

fn reference(name: &HeaderName) -> Ref {
    Ref::new(format!("#/components/headers/{name}"))
}
