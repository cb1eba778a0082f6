//! Prometheus metrics on a separate listener, which also serves the liveness check.

use std::time::Duration;

use anyhow::{Context as _, Result};
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use metrics::{Gauge, gauge};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use plinth_service::Service;
use plinth_spec::WorkerState;
use plinth_spec::state::RenderStatus;
use tokio::net::TcpListener;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::config::Config;
use crate::health::liveness;
use crate::listener;

/// Upper bounds of the buckets of duration histograms, in seconds. The lowest suits a cached response, the highest the
/// longest render.
const SECONDS: [f64; 16] =
    [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0];
/// Interval at which recorded durations are aggregated into the histograms. Otherwise, the durations would accumulate in
/// memory until Prometheus reads the metrics.
const AGGREGATION_INTERVAL: Duration = Duration::from_secs(5);

/// Time limit of counting jobs and workers in the database. After 10 s, Prometheus by default would cancel the whole request
/// and get no metrics at all.
const COUNT_LIMIT: Duration = Duration::from_secs(3);
/// Label of workers that have stopped reporting their state.
const LOST: &str = "lost";

/// A bound listener and an installed recorder of metrics, which [`Self::serve`] serves.
pub(crate) struct Metrics {
    listener: TcpListener,
    recorded: PrometheusHandle,
}

#[derive(Clone)]
struct Shared {
    recorded: PrometheusHandle,
    /// The service whose queued jobs and workers are counted; `None` in a worker process, because each server counts those of
    /// all machines.
    counted: Option<Service>,
}

impl Metrics {
    /// Binds the listener and installs the recorder. Returns `None` if no address for metrics is configured.
    pub(crate) async fn begin(config: &Config) -> Result<Option<Self>> {
        let Some(address) = config.metrics_listen else { return Ok(None) };
        let listener = listener::bind(address).await;
        let listener = listener.with_context(|| {
            format!("metrics cannot be served at {address}; choose another address with --metrics-listen")
        })?;
        let recorder =
            PrometheusBuilder::new().set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), &SECONDS);
        let recorded = recorder.and_then(PrometheusBuilder::install_recorder).context("metrics cannot be recorded")?;
        tracing::info!(address = %listener.local_addr()?, "metrics are served");
        Ok(Some(Self { listener, recorded }))
    }

    /// Serves `GET /metrics` and the liveness check until `stop` is cancelled. Clients that hold all connections of the
    /// server cannot delay this liveness check. With `counted`, also counts the jobs and the workers of all machines.
    pub(crate) async fn serve(self, counted: Option<Service>, stop: CancellationToken) -> Result<()> {
        let recorded = self.recorded.clone();
        let maintenance = async move {
            let mut timer = tokio::time::interval(AGGREGATION_INTERVAL);
            loop {
                timer.tick().await;
                recorded.run_upkeep();
            }
        };
        let shared = Shared { recorded: self.recorded, counted };
        let router = liveness().route("/metrics", get(scrape)).with_state(shared);
        let serving = axum::serve(self.listener, router).into_future();
        tokio::select! {
            served = serving => served.context("the metrics server failed"),
            () = maintenance => Ok(()),
            () = stop.cancelled() => Ok(()),
        }
    }
}

async fn scrape(State(shared): State<Shared>) -> Response {
    if let Some(service) = &shared.counted {
        let counted = timeout(COUNT_LIMIT, count(service)).await;
        let is_up = match counted {
            Ok(Ok(())) => true,
            Ok(Err(error)) => {
                tracing::error!(error = %error, "the queue and the workers could not be counted");
                false
            }
            Err(_elapsed) => {
                tracing::error!(limit_secs = COUNT_LIMIT.as_secs(), "counting the queue and the workers took too long");
                false
            }
        };
        gauge!("plinth_database_up").set(if is_up { 1.0 } else { 0.0 });
        if !is_up {
            forget_jobs();
            forget_workers();
        }
    }
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], shared.recorded.render()).into_response()
}

/// Counts jobs and workers of all machines. Errors: the database does not respond.
async fn count(service: &Service) -> plinth_service::Result<()> {
    let queue = service.queue().await?;
    for (status, renders) in queue.renders {
        renders_in(status).set(renders as f64);
    }
    gauge!("plinth_queue_packagings").set(queue.packagings as f64);
    match service.fleet().await {
        Ok(fleet) => {
            for state in WorkerState::ALL {
                workers_in(state.as_str()).set(fleet.count(*state) as f64);
            }
            workers_in(LOST).set(fleet.lost() as f64);
        }
        Err(error) => {
            // Counting fails, for example, if a worker of a newer version has reported a state that this program does not
            // know.
            tracing::error!(error = %error, "the workers could not be counted");
            forget_workers();
        }
    }
    Ok(())
}

/// Sets the numbers of jobs to NaN, so that nobody takes an old number for a current one.
fn forget_jobs() {
    for status in RenderStatus::ALL.iter().filter(|status| !status.is_final()) {
        renders_in(*status).set(f64::NAN);
    }
    gauge!("plinth_queue_packagings").set(f64::NAN);
}

fn forget_workers() {
    for state in WorkerState::ALL.iter().map(|state| state.as_str()).chain([LOST]) {
        workers_in(state).set(f64::NAN);
    }
}

fn renders_in(status: RenderStatus) -> Gauge {
    gauge!("plinth_queue_renders", "status" => status.as_str())
}

fn workers_in(state: &'static str) -> Gauge {
    gauge!("plinth_workers", "state" => state)
}
