//! Closes connections whose clients stop reading.

use std::pin::Pin;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio_io_timeout::TimeoutStream;

/// Maximum time for which a write may make no progress.
const STALL: Duration = Duration::from_mins(1);

/// Wraps a connection so that a write fails if the client has read nothing for the time [`STALL`].
pub(crate) fn with_write_timeout(socket: TcpStream) -> Pin<Box<TimeoutStream<TcpStream>>> {
    limited(socket, STALL)
}

fn limited(socket: TcpStream, stall: Duration) -> Pin<Box<TimeoutStream<TcpStream>>> {
    let mut stream = TimeoutStream::new(socket);
    stream.set_write_timeout(Some(stall));
    Box::pin(stream)
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;

    use tokio::io::AsyncWriteExt as _;
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn writes_to_a_client_that_reads_nothing_fail() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (socket, _peer) = listener.accept().await.unwrap();
        let mut stream = limited(socket, Duration::from_millis(50));
        // Writes until the buffers at both ends of the connection are full.
        let error = loop {
            if let Err(error) = stream.write_all(&vec![0; 1 << 16]).await {
                break error;
            }
        };
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        drop(client);
    }
}
