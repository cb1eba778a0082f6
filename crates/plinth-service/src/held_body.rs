//! Bodies of responses that hold a reservation of memory. A client that reads too slowly loses its response, so that it
//! cannot keep the memory from others.

use std::io::{Error, ErrorKind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};

use crate::body_memory::BodyMemory;

/// Number of bytes that are passed to the connection at a time.
const PIECE_BYTES: usize = 64 << 10;
/// Time for which a client may read more slowly than the minimum rate.
const GRACE: Duration = Duration::from_secs(30);
/// Minimum rate at which a client must read a body with a reservation, in bytes per second.
const BYTES_PER_SECOND: u64 = 64 << 10;

/// The body of a response, as a stream of pieces. It holds its reservation of memory until the last piece was passed on, or
/// the client has read too slowly; then the stream ends with an error.
#[derive(Debug)]
pub struct HeldBody {
    content: Arc<Mutex<Content>>,
    /// The task that ends the body if the client reads too slowly. A body without reservation has none.
    watch: Option<JoinHandle<()>>,
}

#[derive(Debug)]
enum Content {
    Open {
        bytes: Vec<u8>,
        /// Number of bytes that were passed on.
        sent: usize,
        /// Held only to be dropped together with the bytes.
        _memory: BodyMemory,
    },
    Sent,
    /// The client has read too slowly. Bytes and reservation are gone.
    Late,
}

impl HeldBody {
    /// Creates a body of `bytes` that holds `memory`.
    pub fn new(bytes: Vec<u8>, memory: BodyMemory) -> Self {
        Self::limited(bytes, memory, GRACE, BYTES_PER_SECOND)
    }

    fn limited(bytes: Vec<u8>, memory: BodyMemory, grace: Duration, bytes_per_second: u64) -> Self {
        let is_watched = memory.is_held();
        let content = Arc::new(Mutex::new(Content::Open { bytes, sent: 0, _memory: memory }));
        let watch = is_watched.then(|| tokio::spawn(watch(Arc::downgrade(&content), grace, bytes_per_second)));
        Self { content, watch }
    }
}

impl Stream for HeldBody {
    type Item = Result<Bytes, Error>;

    fn poll_next(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut content = lock(&self.content);
        let Content::Open { bytes, sent, .. } = &mut *content else {
            return Poll::Ready(match *content {
                Content::Late => Some(Err(Error::from(ErrorKind::TimedOut))),
                _ => None,
            });
        };
        // The piece is copied, because a slice would keep all bytes in memory until it is written to the connection.
        let piece = &bytes[*sent..bytes.len().min(*sent + PIECE_BYTES)];
        let piece = Bytes::copy_from_slice(piece);
        *sent += piece.len();
        if *sent == bytes.len() {
            *content = Content::Sent;
        }
        Poll::Ready((!piece.is_empty()).then_some(Ok(piece)))
    }
}

impl Drop for HeldBody {
    fn drop(&mut self) {
        if let Some(watch) = &self.watch {
            watch.abort();
        }
    }
}

/// Waits until the body is sent, or ends it when the client has read too slowly. The body cannot do this itself, because
/// the connection does not ask for the next piece while the client reads nothing.
async fn watch(content: Weak<Mutex<Content>>, grace: Duration, bytes_per_second: u64) {
    let begin = Instant::now();
    while let Some(end) = content.upgrade().and_then(|content| end_if_late(&content, begin, grace, bytes_per_second)) {
        sleep_until(end).await;
    }
}

/// Ends the body if the client has read too slowly. Returns the time of the next check; `None` if the body has ended.
fn end_if_late(content: &Mutex<Content>, begin: Instant, grace: Duration, bytes_per_second: u64) -> Option<Instant> {
    let mut content = lock(content);
    let Content::Open { sent, .. } = *content else { return None };
    let end = begin + grace + Duration::from_secs(sent as u64 / bytes_per_second);
    if Instant::now() < end {
        return Some(end);
    }
    *content = Content::Late;
    None
}

fn lock(content: &Mutex<Content>) -> MutexGuard<'_, Content> {
    content.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use futures_util::StreamExt as _;
    use plinth_spec::id::AccountId;
    use tokio::time::{sleep, timeout};

    use super::*;
    use crate::fair_semaphore::FairSemaphore;

    const PIECES: usize = 16;

    /// A body of 16 pieces, and the semaphore of which it holds everything.
    async fn body(grace: Duration, bytes_per_second: u64) -> (HeldBody, FairSemaphore, AccountId) {
        let gate = FairSemaphore::new(1, 1);
        let account = AccountId::parse(&"a".repeat(plinth_spec::id::LENGTH)).unwrap();
        let memory = BodyMemory::of(gate.acquire(&account, 1).await.unwrap());
        (HeldBody::limited(vec![7; PIECES * PIECE_BYTES], memory, grace, bytes_per_second), gate, account)
    }

    #[tokio::test]
    async fn a_client_that_reads_too_slowly_loses_the_response_and_its_memory() {
        let (mut body, gate, account) = body(Duration::from_millis(50), u64::MAX).await;
        assert_eq!(body.next().await.unwrap().unwrap().len(), PIECE_BYTES);
        // Nobody asks for the next piece, and the body still exists.
        let free = timeout(Duration::from_mins(1), gate.acquire(&account, 1)).await;
        assert!(free.is_ok());
        assert_eq!(body.next().await.unwrap().unwrap_err().kind(), ErrorKind::TimedOut);
    }

    #[tokio::test]
    async fn a_client_that_reads_with_the_minimum_rate_gets_everything() {
        // Each piece gives the client another minute.
        let (mut body, gate, account) = body(Duration::from_millis(200), PIECE_BYTES as u64 / 60).await;
        let mut received = body.next().await.unwrap().unwrap().len();
        sleep(Duration::from_millis(400)).await;
        assert!(timeout(Duration::from_millis(10), gate.acquire(&account, 1)).await.is_err(), "it is still held");
        while let Some(piece) = body.next().await {
            received += piece.unwrap().len();
        }
        assert_eq!(received, PIECES * PIECE_BYTES);
        gate.acquire(&account, 1).await.unwrap();
    }
}
