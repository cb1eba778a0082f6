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
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

use crate::client::{TrustedProxy, client_address};
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
    /// Maximum number of open connections. Further connections wait in the backlog of the operating system.
    pub max_connections: usize,
    /// Time that running requests get to finish during a shutdown.
    pub shutdown: Duration,
    /// Reverse proxies whose header `X-Forwarded-For` is trusted.
    pub trusted_proxies: Vec<TrustedProxy>,
}

/// Tells whether few connections are free. It is an extension of each request.
#[derive(Clone, Debug)]
pub(crate) struct ConnectionScarcity {
    connections: Arc<Semaphore>,
    /// Minimum number of free connections that do not count as scarce.
    scarce: usize,
}

impl ConnectionScarcity {
    /// Returns whether few connections are free.
    pub(crate) fn is_scarce(&self) -> bool {
        self.connections.available_permits() < self.scarce
    }
}

/// Serves connections until `stop` is cancelled, then waits for running requests to finish.
pub async fn serve(listener: TcpListener, router: Router, options: ServeOptions, stop: CancellationToken) {
    let mut builder = Builder::new(TokioExecutor::new()).http1_only();
    builder.http1().timer(TokioTimer::new()).header_read_timeout(HEAD_TIME).max_buf_size(BUFFER_BYTES);
    let connections = Arc::new(Semaphore::new(options.max_connections));
    let scarcity = ConnectionScarcity { connections: Arc::clone(&connections), scarce: options.max_connections / 8 };
    let trusted_proxies: Arc<[TrustedProxy]> = options.trusted_proxies.into();
    let ending = GracefulShutdown::new();
    loop {
        let next = async {
            let permit = Arc::clone(&connections).acquire_owned().await;
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
        if let Err(error) = socket.set_nodelay(true) {
            tracing::debug!(error = %error, "a connection was closed before its first request");
            continue;
        }
        let (trusted_proxies, scarcity) = (Arc::clone(&trusted_proxies), scarcity.clone());
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
            drop(permit);
        });
    }
    drop(listener);
    if tokio::time::timeout(options.shutdown, ending.shutdown()).await.is_err() {
        tracing::warn!("requests were aborted because they did not finish within the shutdown time");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_connections_stay_open_longer_than_those_of_reverse_proxies() {
        // The default of `keepalive_timeout` of nginx for connections to servers.
        let proxy = Duration::from_mins(1);
        assert!(HEAD_TIME >= proxy + Duration::from_secs(10));
    }
}
