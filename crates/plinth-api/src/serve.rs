//! Serving connections: so many at a time, slow ones cut off, and an end that waits for requests but not for ever.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::steady::Steady;

/// The head of a request comes within this time.
const HEAD_TIME: Duration = Duration::from_secs(20);
/// The system lacks files or memory for a connection: it is asked again after this time.
const BREATH: Duration = Duration::from_millis(200);

/// How connections are served.
#[derive(Clone, Copy, Debug)]
pub struct ServeOptions {
    /// Connections at a time; more wait in the system's queue.
    pub max_connections: usize,
    /// How long requests may still take at the end.
    pub shutdown: Duration,
}

/// Serves connections until `stop`, then lets the requests at work end.
pub async fn serve(listener: TcpListener, router: Router, options: ServeOptions, stop: CancellationToken) {
    let mut builder = Builder::new(TokioExecutor::new()).http1_only();
    builder.http1().timer(TokioTimer::new()).header_read_timeout(HEAD_TIME);
    let connections = Arc::new(Semaphore::new(options.max_connections));
    let ending = GracefulShutdown::new();
    loop {
        let next = async {
            let place = Arc::clone(&connections).acquire_owned().await;
            (listener.accept().await, place)
        };
        let (accepted, place) = tokio::select! {
            next = next => next,
            () = stop.cancelled() => break,
        };
        let socket = match accepted {
            Ok((socket, _peer)) => socket,
            Err(error) => {
                tracing::warn!(error = %error, "a connection could not be accepted");
                tokio::time::sleep(BREATH).await;
                continue;
            }
        };
        if let Err(error) = socket.set_nodelay(true) {
            tracing::debug!(error = %error, "a connection was gone before it began");
            continue;
        }
        let service = TowerToHyperService::new(router.clone());
        let connection = builder.serve_connection(TokioIo::new(Steady::new(socket)), service).into_owned();
        let connection = ending.watch(connection);
        tokio::spawn(async move {
            // What a client does to its connection is its own affair.
            if let Err(error) = connection.await {
                tracing::debug!(error = %error, "a connection broke");
            }
            drop(place);
        });
    }
    drop(listener);
    if tokio::time::timeout(options.shutdown, ending.shutdown()).await.is_err() {
        tracing::warn!("requests that were still at work were cut off");
    }
}
