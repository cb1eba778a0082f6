//! Resumes reads from the store after their connection broke.

use std::ops::Range;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use tokio::time::sleep;

/// Maximum number of consecutive attempts in which no byte is received.
const TRIES: u32 = 8;
/// Pause before the first retry of [`resuming`]. The pause doubles with each further retry.
pub(crate) const PAUSE: Duration = Duration::from_millis(100);

/// Chunks of an object, as received from the store.
pub(crate) type Pieces = BoxStream<'static, object_store::Result<Bytes>>;

/// Opens the remaining range of an object. Returns an error if the object has changed since it was first opened.
pub(crate) trait Reopen: Send + Sync + 'static {
    fn reopen(&self, rest: Range<u64>) -> impl Future<Output = object_store::Result<Pieces>> + Send;
}

/// Returns a stream that resumes a read after its connection broke. Received bytes are not requested again. Therefore
/// even a slow client gets the whole content of a large object, however often the store closes the connection.
pub(crate) fn resuming(pieces: Pieces, range: Range<u64>, source: impl Reopen, pause: Duration) -> Pieces {
    let begin = Reading { pieces, rest: range, source, pause, tries: 0 };
    stream::try_unfold(begin, async |mut reading| Ok(reading.next().await?.map(|bytes| (bytes, reading)))).boxed()
}

struct Reading<S> {
    pieces: Pieces,
    rest: Range<u64>,
    source: S,
    pause: Duration,
    /// Number of attempts since a byte was last received.
    tries: u32,
}

impl<S: Reopen> Reading<S> {
    async fn next(&mut self) -> object_store::Result<Option<Bytes>> {
        loop {
            let broke = match self.pieces.next().await {
                Some(Ok(bytes)) => {
                    self.rest.start += bytes.len() as u64;
                    self.tries = 0;
                    return Ok(Some(bytes));
                }
                None => return Ok(None),
                Some(Err(error)) => error,
            };
            self.reopen(broke).await?;
        }
    }

    async fn reopen(&mut self, broke: object_store::Error) -> object_store::Result<()> {
        let mut error = broke;
        while self.tries < TRIES {
            sleep(self.pause * 2_u32.pow(self.tries)).await;
            self.tries += 1;
            tracing::debug!(error = %error, at = self.rest.start, "a read from the store broke and is resumed");
            match self.source.reopen(self.rest.clone()).await {
                Ok(pieces) => {
                    self.pieces = pieces;
                    return Ok(());
                }
                // The object was replaced or deleted, so the read cannot be resumed.
                Err(gone @ (object_store::Error::Precondition { .. } | object_store::Error::NotFound { .. })) => {
                    return Err(gone);
                }
                Err(again) => error = again,
            }
        }
        Err(error)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    const SIZE: u64 = 1000;

    /// A source whose connections fail after each has sent a fixed number of bytes.
    struct Breaking {
        bytes_a_time: u64,
        opened: Arc<AtomicU32>,
    }

    fn broken() -> object_store::Error {
        object_store::Error::Generic { store: "test", source: "the connection broke".into() }
    }

    impl Breaking {
        fn pieces(&self, rest: Range<u64>) -> Pieces {
            let end = rest.end.min(rest.start + self.bytes_a_time);
            let piece: Bytes = (rest.start..end).map(|at| (at % 251) as u8).collect();
            let mut sent = vec![Ok(piece)];
            sent.retain(|piece: &object_store::Result<Bytes>| piece.as_ref().is_ok_and(|bytes| !bytes.is_empty()));
            if end < rest.end {
                sent.push(Err(broken()));
            }
            stream::iter(sent).boxed()
        }
    }

    impl Reopen for Breaking {
        async fn reopen(&self, rest: Range<u64>) -> object_store::Result<Pieces> {
            self.opened.fetch_add(1, Ordering::Relaxed);
            Ok(self.pieces(rest))
        }
    }

    async fn read(bytes_a_time: u64) -> (object_store::Result<Vec<u8>>, u32) {
        let opened = Arc::default();
        let source = Breaking { bytes_a_time, opened: Arc::clone(&opened) };
        let mut pieces = resuming(source.pieces(0..SIZE), 0..SIZE, source, Duration::ZERO);
        let mut whole = Vec::new();
        while let Some(piece) = pieces.next().await {
            match piece {
                Ok(bytes) => whole.extend_from_slice(&bytes),
                Err(error) => return (Err(error), opened.load(Ordering::Relaxed)),
            }
        }
        (Ok(whole), opened.load(Ordering::Relaxed))
    }

    #[tokio::test]
    async fn a_read_is_resumed_while_bytes_arrive_and_fails_after_repeated_empty_attempts() {
        let expected: Vec<u8> = (0..SIZE).map(|at| (at % 251) as u8).collect();
        for (bytes_a_time, opened) in [(SIZE, 0), (100, 9), (10, 99)] {
            let (read, times) = read(bytes_a_time).await;
            assert_eq!((read.unwrap(), times), (expected.clone(), opened));
        }
        let (given_up, times) = read(0).await;
        assert!(given_up.is_err());
        assert_eq!(times, TRIES);
    }
}
