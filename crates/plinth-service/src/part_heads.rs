//! Limits the memory for the heads of the parts of a multipart form. The parser of forms keeps the head of a part in memory:
//! all bytes before the content of the part, which are preambles, boundaries and headers.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::Stream;
use plinth_spec::limits;

/// Value of [`PartHeads::received`] while the content of a part is read. The bytes of the content are not counted.
const CONTENT: usize = usize::MAX;

/// Counts the bytes that are received before the content of the next part. The body of a form and the code that reads the
/// form share this value.
#[derive(Clone, Debug)]
pub struct PartHeads {
    received: Arc<AtomicUsize>,
    is_exceeded: Arc<AtomicBool>,
}

impl Default for PartHeads {
    fn default() -> Self {
        Self { received: Arc::new(AtomicUsize::new(CONTENT)), is_exceeded: Arc::default() }
    }
}

impl PartHeads {
    /// Returns a body whose bytes are counted. The body is pending once after each chunk, so that the parser processes each chunk
    /// before it receives the next one.
    /// Errors: those of `body`, and an error when the head of a part has more than [`limits::FORM_HEAD_BYTES`].
    pub fn limit<S, E>(
        &self,
        body: S,
    ) -> impl Stream<Item = Result<Bytes, Box<dyn std::error::Error + Send + Sync>>> + use<S, E>
    where
        S: Stream<Item = Result<Bytes, E>> + Unpin,
        E: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        Limited { body, heads: self.clone(), has_yielded: false }
    }

    /// Runs `read`, which reads up to the content of the next part. The content of the previous part must have been read.
    pub async fn read<T>(&self, read: impl Future<Output = T>) -> T {
        self.received.store(0, Ordering::Relaxed);
        let head = read.await;
        self.received.store(CONTENT, Ordering::Relaxed);
        head
    }

    /// If the body ended early because the head of a part was too long, returns a message for the caller.
    pub fn problem(&self) -> Option<String> {
        let message = || format!("the headers of a part have more than {} bytes", limits::FORM_HEAD_BYTES);
        self.is_exceeded.load(Ordering::Relaxed).then(message)
    }

    /// Counts a chunk. Returns whether the chunks before this chunk were within the limit.
    fn count(&self, bytes: usize) -> bool {
        let received = self.received.load(Ordering::Relaxed);
        if received == CONTENT {
            return true;
        }
        self.received.store(received.saturating_add(bytes).min(CONTENT - 1), Ordering::Relaxed);
        let is_within = received <= limits::FORM_HEAD_BYTES;
        self.is_exceeded.fetch_or(!is_within, Ordering::Relaxed);
        is_within
    }
}

/// A body whose bytes are counted.
struct Limited<S> {
    body: S,
    heads: PartHeads,
    /// Whether the last poll yielded a chunk.
    has_yielded: bool,
}

impl<S, E> Stream for Limited<S>
where
    S: Stream<Item = Result<Bytes, E>> + Unpin,
    E: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Item = Result<Bytes, Box<dyn std::error::Error + Send + Sync>>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if std::mem::take(&mut self.has_yielded) {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let Poll::Ready(next) = Pin::new(&mut self.body).poll_next(cx) else { return Poll::Pending };
        Poll::Ready(next.map(|chunk| {
            let chunk = chunk.map_err(Into::into)?;
            self.has_yielded = true;
            if self.heads.count(chunk.len()) {
                Ok(chunk)
            } else {
                Err(io::Error::from(io::ErrorKind::InvalidData).into())
            }
        }))
    }
}

#[cfg(test)]
mod tests {
    use futures_util::{StreamExt as _, stream};

    use super::*;

    /// Returns how many of a thousand chunks of 1000 bytes are received.
    async fn received(heads: &PartHeads) -> usize {
        let chunks = stream::iter((0..1000).map(|_| Ok::<_, io::Error>(Bytes::from_static(&[b'a'; 1000]))));
        let mut body = heads.limit(chunks);
        let mut count = 0;
        while let Some(Ok(_chunk)) = body.next().await {
            count += 1;
        }
        count
    }

    #[tokio::test]
    async fn only_heads_are_limited() {
        let heads = PartHeads::default();
        assert_eq!(received(&heads).await, 1000);
        // The chunk that exceeds the limit is still received.
        assert_eq!(heads.read(received(&heads)).await, limits::FORM_HEAD_BYTES / 1000 + 1);
        assert_eq!(received(&heads).await, 1000);
    }

    #[tokio::test]
    async fn each_poll_yields_at_most_one_chunk() {
        let chunks = stream::iter((0..3).map(|_| Ok::<_, io::Error>(Bytes::from_static(b"a"))));
        let mut body = PartHeads::default().limit(chunks);
        let polled = |body: &mut (dyn Stream<Item = _> + Unpin)| {
            let mut cx = Context::from_waker(std::task::Waker::noop());
            Pin::new(body).poll_next(&mut cx).is_ready()
        };
        assert_eq!([(); 5].map(|()| polled(&mut body)), [true, false, true, false, true]);
    }
}
