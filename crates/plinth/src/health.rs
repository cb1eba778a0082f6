//! Health checks for load balancers and orchestrators. `/livez` responds as long as the process runs. `/readyz` tells
//! whether the process accepts new work.

use std::sync::Arc;

use anyhow::{Context as _, Result};
use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use plinth_service::Service;
use plinth_worker::Phase;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::listener;

/// A function that returns `Ok` if the process accepts new work, and otherwise the reason why it does not.
type Takes = Arc<dyn Fn() -> Result<(), &'static str> + Send + Sync>;

#[derive(Clone)]
struct Shared {
    service: Service,
    takes: Takes,
}

/// Returns the health checks of a server. The server is not ready any more as soon as `stop` is cancelled.
pub(crate) fn of_server(service: Service, stop: CancellationToken) -> Router {
    router(service, Arc::new(move || if stop.is_cancelled() { Err("the server is stopping") } else { Ok(()) }))
}

/// Returns the health checks of a worker. The worker is ready while it claims renders.
pub(crate) fn of_worker(service: Service, phase: watch::Receiver<Phase>) -> Router {
    router(
        service,
        Arc::new(move || match *phase.borrow() {
            Phase::Starting => Err("the worker is starting"),
            Phase::Claiming => Ok(()),
            Phase::Draining => Err("the worker is stopping"),
        }),
    )
}

/// Opens a listener for [`serve`].
pub(crate) async fn listen(address: std::net::SocketAddr) -> Result<TcpListener> {
    let listener = listener::bind(address).await;
    let listener = listener.with_context(|| {
        format!("health checks cannot be served at {address}; choose another address with --health-listen")
    })?;
    tracing::info!(address = %listener.local_addr()?, "health checks are served");
    Ok(listener)
}

/// Serves health checks until `ended` is cancelled.
pub(crate) async fn serve(listener: TcpListener, router: Router, ended: CancellationToken) -> Result<()> {
    let serving = axum::serve(listener, router).into_future();
    tokio::select! {
        served = serving => served.context("health checks are no longer served"),
        () = ended.cancelled() => Ok(()),
    }
}

fn router(service: Service, takes: Takes) -> Router {
    liveness().route("/readyz", get(readiness)).with_state(Shared { service, takes })
}

/// Returns the check that responds as long as the process runs.
pub(crate) fn liveness<S: Clone + Send + Sync + 'static>() -> Router<S> {
    Router::new().route("/livez", get(async || "alive\n"))
}

async fn readiness(State(shared): State<Shared>) -> (StatusCode, &'static str) {
    match (shared.takes)() {
        Err(reason) => (StatusCode::SERVICE_UNAVAILABLE, reason),
        Ok(()) if shared.service.database_responds().await => (StatusCode::OK, "ready\n"),
        Ok(()) => (StatusCode::SERVICE_UNAVAILABLE, "the database does not respond"),
    }
}
