//! Patience with request bodies: one that stalls or trickles is given up, and one that is refused is read on for a while.
//!
//! A client that is still sending when it is refused would see a broken connection instead of the answer. So what a
//! handler leaves unread is read and thrown away, up to a bound.

use std::io::{Error, ErrorKind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::http::header;
use axum::middleware::Next;
use axum::response::Response;
use bytes::Bytes;
use futures_util::StreamExt as _;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use plinth_spec::limits;
use tokio::time::{Instant, Sleep, sleep};
use tower_http::timeout::TimeoutBody;

/// The next piece of a body comes within this time.
const STALL: Duration = Duration::from_secs(30);
/// A body is waited for so long in all, and a second longer for each of so many bytes that have come.
const GRACE: Duration = Duration::from_secs(30);
const BYTES_PER_SECOND: u64 = 4096;
/// A body is waited for so long in all where the client has shown neither a key nor a signed link: it can only be a form.
const UNKNOWN_CLIENT_TIME: Duration = Duration::from_secs(10);
/// All that is thrown away of a known client comes within this time.
const THROWN_AWAY_TIME: Duration = Duration::from_mins(5);
/// Bytes that are thrown away for a client that nobody knows.
const UNKNOWN_CLIENT: u64 = 1 << 20;

/// How much of a body is read for nothing, at most.
#[derive(Clone, Debug)]
pub(crate) struct Courtesy(Arc<AtomicU64>);

impl Courtesy {
    /// The client has shown a key or a signed link: a whole model of it is read on.
    pub(crate) fn extend(&self) {
        self.0.store(limits::MODEL_FILE_BYTES, Ordering::Relaxed);
    }

    /// How long a body is waited for in all, of which so many bytes have come.
    fn time(&self, received: u64) -> Duration {
        if self.0.load(Ordering::Relaxed) == UNKNOWN_CLIENT {
            return UNKNOWN_CLIENT_TIME;
        }
        GRACE + Duration::from_secs(received / BYTES_PER_SECOND)
    }
}

/// Has patience with a request's body.
pub(crate) async fn patient(mut request: Request, next: Next) -> Response {
    let courtesy = Courtesy(Arc::new(AtomicU64::new(UNKNOWN_CLIENT)));
    request.extensions_mut().insert(courtesy.clone());
    // Such a client sends nothing before it is asked to; one that is refused never is.
    let is_waiting = request.headers().contains_key(header::EXPECT);
    let request = request.map(|body| {
        let inner = Some(Body::new(TimeoutBody::new(STALL, body)));
        let (waited, waiting, received) = (Duration::ZERO, None, 0);
        Body::new(Patient { inner, is_coming: !is_waiting, courtesy, waited, waiting, received })
    });
    next.run(request).await
}

/// A body that is read on when it is dropped.
struct Patient {
    inner: Option<Body>,
    /// Whether the client sends it, or was asked to.
    is_coming: bool,
    courtesy: Courtesy,
    /// How long the client was waited for. Time in which nobody wanted more is the server's own.
    waited: Duration,
    /// Since when the next piece is waited for, and until when.
    waiting: Option<(Instant, Pin<Box<Sleep>>)>,
    /// Bytes that have come.
    received: u64,
}

impl HttpBody for Patient {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let this = self.get_mut();
        this.is_coming = true;
        let Some(inner) = &mut this.inner else { return Poll::Ready(None) };
        let mut polled = Pin::new(inner).poll_frame(cx);
        if polled.is_pending() {
            let (courtesy, waited, received) = (&this.courtesy, this.waited, this.received);
            let (_since, end) = this.waiting.get_or_insert_with(|| {
                let left = courtesy.time(received).saturating_sub(waited);
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

impl Drop for Patient {
    fn drop(&mut self) {
        let rest = self.inner.take().filter(|body| self.is_coming && !body.is_end_stream());
        if let (Some(rest), Ok(runtime)) = (rest, tokio::runtime::Handle::try_current()) {
            let most = self.courtesy.0.load(Ordering::Relaxed);
            let time = if most > UNKNOWN_CLIENT { THROWN_AWAY_TIME } else { UNKNOWN_CLIENT_TIME };
            runtime.spawn(tokio::time::timeout(time, throw_away(rest, most)));
        }
    }
}

async fn throw_away(body: Body, most: u64) {
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
    fn a_body_may_take_longer_the_more_has_come_once_its_client_is_known() {
        let courtesy = Courtesy(Arc::new(AtomicU64::new(UNKNOWN_CLIENT)));
        assert_eq!(courtesy.time(1 << 20), UNKNOWN_CLIENT_TIME);
        courtesy.extend();
        assert_eq!(courtesy.time(0), GRACE);
        assert_eq!(courtesy.time(1 << 20), GRACE + Duration::from_secs(256));
    }
}
