//! Limits the time for receiving request bodies, and drains bodies that a handler does not read completely.
//!
//! If the server rejected a request and closed the connection while the client was still sending, the client would see
//! a broken connection instead of the response. Therefore the server drains the rest of the body: it reads and discards
//! the rest, up to a limit of bytes and time.

use std::io::{Error, ErrorKind};
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Wake, Waker};
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
use tokio::time::{Instant, Sleep, sleep, timeout};

use crate::connections::ConnectionScarcity;
use crate::state::Api;

/// Maximum time for which the server waits for the next chunk of a body.
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
        let (inner, waits, received) = (Some(body), Waits::default(), 0);
        Body::new(TimedBody { inner, is_coming: !is_waiting, drain_limit, scarcity, waits, received })
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
    waits: Waits,
    /// Number of bytes received so far.
    received: u64,
}

/// The times for which a body had no data although the handler had asked for it. Time in which the body has data and the
/// handler does not read it is not included.
#[derive(Default)]
struct Waits {
    /// Total time of the waits that have ended.
    total: Duration,
    current: Option<Wait>,
}

/// A wait for the next chunk.
struct Wait {
    since: Instant,
    /// The timer that ends the wait.
    end: Pin<Box<Sleep>>,
    arrival: Arc<Arrival>,
}

/// Wakes the task that reads the body, and records the time at which the body got data.
struct Arrival {
    task: Waker,
    at: OnceLock<Instant>,
}

impl Wake for Arrival {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let _at = self.at.get_or_init(Instant::now);
        self.task.wake_by_ref();
    }
}

impl Waits {
    /// Polls the body. Returns an error if the body has no data, and the current wait has taken longer than [`STALL`], or
    /// all waits together longer than `limit` returns. A late handler thus gets the data that have arrived meanwhile.
    fn poll_frame(
        &mut self,
        body: &mut Body,
        cx: &mut Context<'_>,
        limit: impl FnOnce() -> Duration,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let arrival = Arc::new(Arrival { task: cx.waker().clone(), at: OnceLock::new() });
        let waker = Waker::from(Arc::clone(&arrival));
        let polled = Pin::new(body).poll_frame(&mut Context::from_waker(&waker));
        if polled.is_ready() {
            if let Some(wait) = self.current.take() {
                let arrived_at = wait.arrival.at.get().copied().unwrap_or_else(Instant::now);
                self.total += arrived_at.saturating_duration_since(wait.since);
            }
            return polled;
        }
        let total = self.total;
        let wait = self.current.get_or_insert_with(|| {
            let left = limit().saturating_sub(total).min(STALL);
            Wait { since: Instant::now(), end: Box::pin(sleep(left)), arrival: Arc::clone(&arrival) }
        });
        wait.arrival = arrival;
        wait.end.as_mut().poll(cx).map(|()| Some(Err(axum::Error::new(Error::from(ErrorKind::TimedOut)))))
    }
}

impl HttpBody for TimedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let this = self.get_mut();
        this.is_coming = true;
        let Some(inner) = &mut this.inner else { return Poll::Ready(None) };
        let (drain_limit, scarcity, received) = (&this.drain_limit, &this.scarcity, this.received);
        let limit = || total_time(drain_limit, received, scarcity.is_scarce());
        let polled = this.waits.poll_frame(inner, cx, limit);
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
            runtime.spawn(timeout(time, drain(rest, most)));
        }
    }
}

async fn drain(body: Body, most: u64) {
    let mut left = most;
    let mut pieces = body.into_data_stream();
    while let Ok(Some(Ok(piece))) = timeout(STALL, pieces.next()).await {
        let Some(rest) = left.checked_sub(piece.len() as u64) else { return };
        left = rest;
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::future::poll_fn;

    use futures_util::stream;
    use tokio::sync::mpsc;

    use super::*;

    type Polled = Poll<Option<Result<Frame<Bytes>, axum::Error>>>;

    async fn poll(waits: &mut Waits, body: &mut Body) -> Polled {
        poll_fn(|cx| Poll::Ready(waits.poll_frame(body, cx, || GRACE))).await
    }

    /// Lets the current wait end after 20 ms, and sleeps until then without reading the body.
    async fn delay(waits: &mut Waits) {
        let end = &mut waits.current.as_mut().unwrap().end;
        *end = Box::pin(sleep(Duration::from_millis(20)));
        end.as_mut().await;
    }

    #[tokio::test]
    async fn only_time_without_data_counts_as_a_wait_for_the_client() {
        let (client, mut pieces) = mpsc::unbounded_channel::<Result<Bytes, Infallible>>();
        let mut body = Body::from_stream(stream::poll_fn(move |cx| pieces.poll_recv(cx)));
        let mut waits = Waits::default();
        let begin = Instant::now();
        assert!(poll(&mut waits, &mut body).await.is_pending());
        client.send(Ok(Bytes::from_static(b"late"))).unwrap();
        let sent = begin.elapsed();
        delay(&mut waits).await;
        let Poll::Ready(Some(Ok(frame))) = poll(&mut waits, &mut body).await else { panic!("the data were lost") };
        assert_eq!(frame.into_data().unwrap(), "late");
        assert!(waits.total <= sent, "{:?}", waits.total);
        assert!(poll(&mut waits, &mut body).await.is_pending());
        delay(&mut waits).await;
        let stalled = poll(&mut waits, &mut body).await;
        assert!(matches!(stalled, Poll::Ready(Some(Err(_)))), "{stalled:?}");
    }

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
