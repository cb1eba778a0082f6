//! Response bodies that count their request as open until they are sent.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use plinth_service::OpenRequest;

/// Middleware that moves the `OpenRequest` from the response to the response's body. The authentication middleware, or the
/// handler of a download by a signed link, added it to the response. It counts the request as open until it is dropped.
pub(crate) async fn keep_open(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    match response.extensions_mut().remove::<OpenRequest>() {
        Some(open) => response.map(|body| Body::new(OpenBody { body, _open: open })),
        None => response,
    }
}

struct OpenBody {
    body: Body,
    _open: OpenRequest,
}

impl HttpBody for OpenBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
