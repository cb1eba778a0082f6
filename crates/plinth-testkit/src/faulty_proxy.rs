//! A TCP proxy that injects faults.

use std::io;
use std::net::{SocketAddr, TcpListener as StdListener};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

/// Maximum number of bytes that are forwarded at once.
const PIECE: usize = 16 << 10;
/// Time for which the rest of a request is read after an error response was sent. Otherwise the client would see a
/// connection reset instead of the response.
const DISCARD: Duration = Duration::from_millis(200);

/// The behaviour of a [`FaultyProxy`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProxyFault {
    /// Forwards everything.
    None,
    /// Forwards each chunk of data after this delay.
    Delay(Duration),
    /// Forwards requests completely, but closes the connection after this number of response bytes.
    TruncateResponses(usize),
    /// Closes the connection after this number of request bytes.
    CutRequests(usize),
    /// Responds to each request with this HTTP status.
    Status(u16),
    /// Closes each connection immediately.
    Down,
}

/// A proxy in front of one server. When it is dropped, it closes its port.
pub struct FaultyProxy {
    fault: watch::Sender<ProxyFault>,
    task: JoinHandle<()>,
}

impl FaultyProxy {
    /// Starts a proxy that accepts connections on `listener` and forwards them to `server`.
    pub fn start(listener: StdListener, server: SocketAddr) -> Self {
        listener.set_nonblocking(true).expect("a socket");
        let listener = TcpListener::from_std(listener).expect("a socket");
        let (fault, watched) = watch::channel(ProxyFault::None);
        let task = tokio::spawn(async move {
            while let Ok((client, _peer)) = listener.accept().await {
                let mut watched = watched.clone();
                tokio::spawn(async move {
                    let now = *watched.borrow_and_update();
                    // When the fault changes, existing connections are closed.
                    tokio::select! {
                        _closed = serve(client, server, now) => {}
                        _changed = watched.changed() => {}
                    }
                });
            }
        });
        Self { fault, task }
    }

    /// Changes the fault, and closes all connections.
    pub fn set(&self, fault: ProxyFault) {
        self.fault.send_replace(fault);
    }
}

impl Drop for FaultyProxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(mut client: TcpStream, server: SocketAddr, fault: ProxyFault) -> io::Result<()> {
    match fault {
        ProxyFault::Down => return Ok(()),
        ProxyFault::Status(status) => return respond(&mut client, status).await,
        _ => {}
    }
    let mut server = TcpStream::connect(server).await?;
    let (client_out, client_in) = client.split();
    let (server_out, server_in) = server.split();
    let (requests, responses, delay) = match fault {
        ProxyFault::Delay(delay) => (usize::MAX, usize::MAX, delay),
        ProxyFault::TruncateResponses(bytes) => (usize::MAX, bytes, Duration::ZERO),
        ProxyFault::CutRequests(bytes) => (bytes, usize::MAX, Duration::ZERO),
        _ => (usize::MAX, usize::MAX, Duration::ZERO),
    };
    // The connection is closed as soon as one direction ends.
    tokio::select! {
        ended = forward(client_out, server_in, requests, delay) => ended,
        ended = forward(server_out, client_in, responses, delay) => ended,
    }
}

/// Forwards at most `left` bytes, each chunk after `delay`.
async fn forward(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    mut left: usize,
    delay: Duration,
) -> io::Result<()> {
    let mut piece = vec![0; PIECE];
    while left > 0 {
        let read = from.read(&mut piece).await?;
        let Some(data) = piece.get(..read.min(left)).filter(|data| !data.is_empty()) else { break };
        sleep(delay).await;
        to.write_all(data).await?;
        left -= data.len();
    }
    to.flush().await
}

async fn respond(client: &mut TcpStream, status: u16) -> io::Result<()> {
    let mut piece = vec![0; PIECE];
    if client.read(&mut piece).await? == 0 {
        return Ok(());
    }
    let body = "<Error><Code>InternalError</Code><Message>a fault of the test</Message></Error>";
    let length = body.len();
    let response = format!(
        "HTTP/1.1 {status} Fault\r\nContent-Type: application/xml\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    );
    client.write_all(response.as_bytes()).await?;
    client.shutdown().await?;
    while let Ok(Ok(1..)) = timeout(DISCARD, client.read(&mut piece)).await {}
    Ok(())
}
