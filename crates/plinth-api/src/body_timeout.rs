//! Limits the time for receiving request bodies, and drains bodies that a handler does not read completely.
//!
//! If the server rejected a request and closed the connection while the client was still sending, the client would see
//! a broken connection instead of the response. Therefore the server drains the rest of the body: it reads and discards
//! the rest, up to a limit of bytes and time.

use std::io::{Error, ErrorKind};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header;
use axum::middleware::Next;
use axum::response::Response;
use bytes::Bytes;
use futures_util::StreamExt as _;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use plinth_service::{DrainLimit, Service};
use tokio::time::{Instant, Sleep, sleep};
use tower_http::timeout::TimeoutBody;

use crate::serve::ConnectionScarcity;
use crate::state::Api;

/// Maximum time between two chunks of a body.
const STALL: Duration = Duration::from_secs(30);
/// Total time that the server waits for the body of an authenticated client. The time grows with the received bytes.
const GRACE: Duration = Duration::from_secs(30);
/// Minimum rate of an upload. The total time grows by one second each time the server has received this number of
/// bytes.
const BYTES_PER_SECOND: u64 = 4096;
/// Minimum rate of an upload while few connections are free, or little of the space for incoming files is left. It
/// applies after [`SCARCE_GRACE`].
const SCARCE_BYTES_PER_SECOND: u64 = 64 << 10;
/// Total time that the server waits for the body of an authenticated client while few connections are free, or little
/// of the space for incoming files is left. The time grows with the received bytes.
const SCARCE_GRACE: Duration = Duration::from_mins(1);
/// Maximum time that the server waits for any body. The largest accepted file arrives in this time at a rate of 12
/// kB/s.
const MAX_TIME: Duration = Duration::from_hours(24);
/// Total time that the server waits for the body of an unauthenticated client. The only such bodies are small forms,
/// such as the form of the sign-in page.
const UNAUTHENTICATED_TIME: Duration = Duration::from_secs(10);
/// Time limit for draining the body of an authenticated client.
const DRAIN_TIME: Duration = Duration::from_mins(5);

/// Middleware that applies the time limits to the body of a request, and drains the rest of a body that the handler
/// does not read.
pub(crate) async fn limit_body_time(State(api): State<Api>, mut request: Request, next: Next) -> Response {
    let connections = request.extensions().get::<ConnectionScarcity>().cloned();
    let scarcity = Scarcity { connections, service: api.service };
    let drain_limit = DrainLimit::default();
    request.extensions_mut().insert(drain_limit.clone());
    // A client that sends `Expect: 100-continue` sends its body only after it has received `100 Continue`. The server
    // does not send `100 Continue` for a request that it rejects.
    let is_waiting = request.headers().contains_key(header::EXPECT);
    let request = request.map(|body| {
        let inner = Some(Body::new(TimeoutBody::new(STALL, body)));
        let (waited, waiting, received) = (Duration::ZERO, None, 0);
        Body::new(TimedBody { inner, is_coming: !is_waiting, drain_limit, scarcity, waited, waiting, received })
    });
    next.run(request).await
}

/// The resources that may be scarce while bodies are received.
struct Scarcity {
    connections: Option<ConnectionScarcity>,
    service: Service,
}

impl Scarcity {
    fn is_scarce(&self) -> bool {
        self.connections.as_ref().is_some_and(ConnectionScarcity::is_scarce) || self.service.is_room_scarce()
    }
}

/// Returns the total time that the server waits for a body of which it has received `received` bytes.
fn total_time(drain_limit: &DrainLimit, received: u64, is_scarce: bool) -> Duration {
    if drain_limit.is_extended() && is_scarce {
        MAX_TIME.min(SCARCE_GRACE + Duration::from_secs(received / SCARCE_BYTES_PER_SECOND))
    } else if drain_limit.is_extended() {
        MAX_TIME.min(GRACE + Duration::from_secs(received / BYTES_PER_SECOND))
    } else {
        UNAUTHENTICATED_TIME
    }
}

/// A body with time limits. When it is dropped, the unread rest of the body is drained.
struct TimedBody {
    inner: Option<Body>,
    /// Whether the client sends the body. This is not the case while the client waits for `100 Continue`.
    is_coming: bool,
    drain_limit: DrainLimit,
    scarcity: Scarcity,
    /// Time for which the server has waited for the client. Time in which the handler did not read is not included.
    waited: Duration,
    /// Start of the current wait for a chunk, and the timer that ends the wait.
    waiting: Option<(Instant, Pin<Box<Sleep>>)>,
    /// Number of bytes received so far.
    received: u64,
}

impl HttpBody for TimedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let this = self.get_mut();
        this.is_coming = true;
        let Some(inner) = &mut this.inner else { return Poll::Ready(None) };
        let mut polled = Pin::new(inner).poll_frame(cx);
        if polled.is_pending() {
            let (drain_limit, waited, received) = (&this.drain_limit, this.waited, this.received);
            let scarcity = &this.scarcity;
            let (_since, end) = this.waiting.get_or_insert_with(|| {
                let left = total_time(drain_limit, received, scarcity.is_scarce()).saturating_sub(waited);
                (Instant::now(), Box::pin(sleep(left)))
            });
            if end.as_mut().poll(cx).is_ready() {
                polled = Poll::Ready(Some(Err(axum::Error::new(Error::from(ErrorKind::TimedOut)))));
            }
        } else if let Some((since, _end)) = this.waiting.take() {
            this.waited += since.elapsed();
        }
        match &polled {
            Poll::Ready(None | Some(Err(_))) => this.inner = None,
            Poll::Ready(Some(Ok(frame))) => this.received += frame.data_ref().map_or(0, |data| data.len() as u64),
            Poll::Pending => {}
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.inner.as_ref().is_none_or(HttpBody::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.as_ref().map_or_else(|| SizeHint::with_exact(0), HttpBody::size_hint)
    }
}

impl Drop for TimedBody {
    fn drop(&mut self) {
        let rest = self.inner.take().filter(|body| self.is_coming && !body.is_end_stream());
        if let (Some(rest), Ok(runtime)) = (rest, tokio::runtime::Handle::try_current()) {
            let most = self.drain_limit.bytes();
            let time = if self.drain_limit.is_extended() { DRAIN_TIME } else { UNAUTHENTICATED_TIME };
            runtime.spawn(tokio::time::timeout(time, drain(rest, most)));
        }
    }
}

async fn drain(body: Body, most: u64) {
    let mut left = most;
    let mut pieces = body.into_data_stream();
    while let Some(Ok(piece)) = pieces.next().await {
        let Some(rest) = left.checked_sub(piece.len() as u64) else { return };
        left = rest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_authenticated_client_gains_time_with_each_received_byte_up_to_a_day() {
        let drain_limit = DrainLimit::default();
        let total = |received, is_scarce| total_time(&drain_limit, received, is_scarce);
        assert_eq!([total(1 << 20, false), total(1 << 20, true)], [UNAUTHENTICATED_TIME; 2]);
        drain_limit.extend();
        assert_eq!(total(0, false), GRACE);
        assert_eq!(total(1 << 20, false), GRACE + Duration::from_secs(256));
        assert_eq!(total(1 << 30, false), MAX_TIME);
        assert_eq!(total(0, true), SCARCE_GRACE);
        assert_eq!(total(1 << 20, true), SCARCE_GRACE + Duration::from_secs(16));
        // A gigabyte at 10 Mbit/s takes 859 s.
        assert!(total(1 << 30, true) > Duration::from_secs(859));
    }
}
