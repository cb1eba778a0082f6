//! Prometheus metrics on a separate listener.

use std::time::Duration;

use anyhow::{Context as _, Result};
use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use plinth_service::Service;
use plinth_spec::WorkerState;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::config::Config;

/// Upper bounds of the buckets of duration histograms, in seconds. They range from a cached response to the longest
/// render.
const SECONDS: [f64; 16] =
    [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0];
/// Interval at which recorded durations are aggregated into the histograms. Without it, they would accumulate in memory
/// until Prometheus reads the metrics.
const AGGREGATION_INTERVAL: Duration = Duration::from_secs(5);

/// A bound listener and an installed recorder of metrics. [`Self::serve`] serves them.
pub(crate) struct Metrics {
    listener: TcpListener,
    recorded: PrometheusHandle,
}

#[derive(Clone)]
struct Shared {
    recorded: PrometheusHandle,
    service: Service,
}

impl Metrics {
    /// Binds the listener and installs the recorder. Returns `None` if no address for metrics is configured.
    pub(crate) async fn begin(config: &Config) -> Result<Option<Self>> {
        let Some(address) = config.metrics_listen else { return Ok(None) };
        let listener = TcpListener::bind(address).await;
        let listener = listener.with_context(|| {
            format!("metrics cannot be served at {address}; choose another address with --metrics-listen")
        })?;
        let recorder =
            PrometheusBuilder::new().set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), &SECONDS);
        let recorded = recorder.and_then(PrometheusBuilder::install_recorder).context("metrics cannot be recorded")?;
        tracing::info!(address = %listener.local_addr()?, "metrics are served");
        Ok(Some(Self { listener, recorded }))
    }

    /// Serves `GET /metrics` until `stop` is cancelled.
    pub(crate) async fn serve(self, service: Service, stop: CancellationToken) -> Result<()> {
        let recorded = self.recorded.clone();
        let maintenance = async move {
            let mut timer = tokio::time::interval(AGGREGATION_INTERVAL);
            loop {
                timer.tick().await;
                recorded.run_upkeep();
            }
        };
        let shared = Shared { recorded: self.recorded, service };
        let router = Router::new().route("/metrics", get(scrape)).with_state(shared);
        let serving = axum::serve(self.listener, router).into_future();
        tokio::select! {
            served = serving => served.context("the metrics server failed"),
            () = maintenance => Ok(()),
            () = stop.cancelled() => Ok(()),
        }
    }
}

async fn scrape(State(shared): State<Shared>) -> Response {
    match shared.service.queue().await {
        Ok(queue) => {
            for (status, renders) in queue.renders {
                ::metrics::gauge!("plinth_queue_renders", "status" => status.as_str()).set(renders as f64);
            }
            ::metrics::gauge!("plinth_queue_packagings").set(queue.packagings as f64);
        }
        Err(error) => {
            tracing::error!(error = %error, "the queued renders could not be counted");
            return StatusCode::SERVICE_UNAVAILABLE.into_response();
        }
    }
    match shared.service.fleet().await {
        Ok(fleet) => {
            for state in WorkerState::ALL {
                ::metrics::gauge!("plinth_workers", "state" => state.as_str()).set(fleet.count(*state) as f64);
            }
            ::metrics::gauge!("plinth_workers", "state" => "lost").set(fleet.lost() as f64);
        }
        Err(error) => {
            // A worker of a newer version may be in a state that this program does not know.
            tracing::error!(error = %error, "the workers could not be counted");
        }
    }
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], shared.recorded.render()).into_response()
}
