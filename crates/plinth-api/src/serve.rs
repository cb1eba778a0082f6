//! The connection loop. It limits the number of connections, closes slow connections, and limits the duration of a
//! graceful shutdown.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::Request;
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

use crate::client::{TrustedProxy, client_address};
use crate::connections::Connections;
use crate::write_timeout::with_write_timeout;

/// Maximum size of the head of a request, and of a chunk of its body, in bytes.
const BUFFER_BYTES: usize = 64 << 10;
/// Time limit for receiving the head of a request, from the end of the response before. It is also the time after which hyper
/// closes an idle connection, so it must be longer than the time for which reverse proxies keep idle connections, usually 60 s.
/// Otherwise a proxy may send a request at the moment at which the server closes the connection, and respond with 502. The
/// number of connections, and thus of clients that send their heads slowly, has a limit of its own.
const HEAD_TIME: Duration = Duration::from_secs(75);
/// Pause after `accept` has failed, for example because no file descriptor is left.
const ACCEPT_RETRY_PAUSE: Duration = Duration::from_millis(200);

/// Options of [`serve`].
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// Maximum number of open connections. Further connections wait in the backlog of the operating system. While few are free,
    /// connections of clients that have many are closed.
    pub max_connections: usize,
    /// Time that running requests get to finish during a shutdown.
    pub shutdown: Duration,
    /// Reverse proxies whose header `X-Forwarded-For` is trusted. Their connections are limited only in total.
    pub trusted_proxies: Vec<TrustedProxy>,
}

/// Serves connections until `stop` is cancelled, then waits for running requests to finish.
pub async fn serve(listener: TcpListener, router: Router, options: ServeOptions, stop: CancellationToken) {
    let mut builder = Builder::new(TokioExecutor::new()).http1_only();
    builder.http1().timer(TokioTimer::new()).header_read_timeout(HEAD_TIME).max_buf_size(BUFFER_BYTES);
    let trusted_proxies: Arc<[TrustedProxy]> = options.trusted_proxies.into();
    let mut connections = Connections::new(options.max_connections, Arc::clone(&trusted_proxies));
    let ending = GracefulShutdown::new();
    loop {
        let next = async {
            let permit = connections.reserve().await;
            (listener.accept().await, permit)
        };
        let (accepted, permit) = tokio::select! {
            next = next => next,
            () = stop.cancelled() => break,
        };
        let (socket, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(error = %error, "a connection could not be accepted");
                tokio::time::sleep(ACCEPT_RETRY_PAUSE).await;
                continue;
            }
        };
        let Some(open) = connections.open(peer.ip(), permit) else { continue };
        if let Err(error) = socket.set_nodelay(true) {
            tracing::debug!(error = %error, "a connection was closed before its first request");
            continue;
        }
        let (trusted_proxies, scarcity) = (Arc::clone(&trusted_proxies), connections.scarcity());
        let service = router.clone().map_request(move |mut request: Request<Incoming>| {
            let client = client_address(peer.ip(), request.headers(), &trusted_proxies);
            request.extensions_mut().insert(client);
            request.extensions_mut().insert(scarcity.clone());
            request
        });
        let service = TowerToHyperService::new(service);
        let connection = builder.serve_connection(TokioIo::new(with_write_timeout(socket)), service).into_owned();
        let connection = ending.watch(connection);
        tokio::spawn(async move {
            // Logged only at debug level, because clients may disconnect at any time.
            if let Err(error) = connection.await {
                tracing::debug!(error = %error, "a connection broke");
            }
            drop(open);
        });
    }
    drop(listener);
    if tokio::time::timeout(options.shutdown, ending.shutdown()).await.is_err() {
        tracing::warn!("requests were aborted because they did not finish within the shutdown time");
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use axum::routing::get;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{TcpSocket, TcpStream};
    use tokio::time::timeout;

    use super::*;

    const MAX_CONNECTIONS: usize = 16;
    /// Maximum time to wait for the server. It is shorter than [`HEAD_TIME`], after which the server closes each idle connection.
    const TIMEOUT: Duration = Duration::from_secs(30);

    /// Starts a server and returns its address.
    async fn start(trusted: &[&str]) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new().route("/", get(|| async { "served" }));
        let trusted_proxies = trusted.iter().map(|text| text.parse::<TrustedProxy>().unwrap()).collect();
        let options = ServeOptions { max_connections: MAX_CONNECTIONS, shutdown: TIMEOUT, trusted_proxies };
        tokio::spawn(serve(listener, router, options, CancellationToken::new()));
        address
    }

    /// Opens a connection from a local address. The server need not have accepted it yet, but it accepts connections in the
    /// order in which they were opened.
    async fn connect(from: &str, server: SocketAddr) -> TcpStream {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(format!("{from}:0").parse().unwrap()).unwrap();
        socket.connect(server).await.unwrap()
    }

    /// Returns whether a request on this connection is answered.
    async fn is_served(mut socket: TcpStream) -> bool {
        let mut response = String::new();
        let exchange = async {
            socket.write_all(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await?;
            socket.read_to_string(&mut response).await
        };
        timeout(TIMEOUT, exchange).await.is_ok_and(|received| received.is_ok()) && response.ends_with("served")
    }

    #[tokio::test]
    async fn a_client_that_opens_many_connections_leaves_some_to_others() {
        let server = start(&[]).await;
        let mut held = Vec::new();
        for _ in 0..MAX_CONNECTIONS - MAX_CONNECTIONS / 8 {
            held.push(connect("127.0.0.1", server).await);
        }
        for _ in 0..MAX_CONNECTIONS {
            let mut socket = connect("127.0.0.1", server).await;
            let closed = timeout(TIMEOUT, socket.read_u8()).await.expect("a further connection of the client is open");
            assert!(closed.is_err());
        }
        assert!(is_served(connect("127.0.0.2", server).await).await);
        for socket in held {
            assert!(is_served(socket).await, "a connection was closed after it had been accepted");
        }
    }

    #[tokio::test]
    async fn a_trusted_proxy_may_take_all_connections() {
        let server = start(&["127.0.0.1"]).await;
        let mut held = Vec::new();
        for _ in 0..MAX_CONNECTIONS {
            held.push(connect("127.0.0.1", server).await);
        }
        for socket in held.into_iter().rev() {
            assert!(is_served(socket).await);
        }
    }

    #[test]
    fn idle_connections_stay_open_longer_than_those_of_reverse_proxies() {
        // The default of `keepalive_timeout` of nginx for connections to servers.
        let proxy = Duration::from_mins(1);
        assert!(HEAD_TIME >= proxy + Duration::from_secs(10));
    }
}
