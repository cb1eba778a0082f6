//! Sends traces to an OpenTelemetry collector, by OTLP over HTTP.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result};
use opentelemetry::trace::TracerProvider as _;
use opentelemetry::{Key, KeyValue, global};
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tokio::runtime::Runtime;
use tracing::{Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{LevelFilter, filter_fn};
use tracing_subscriber::registry::LookupSpan;

use crate::config::{Config, variable};

/// Name of this program in traces, unless `OTEL_SERVICE_NAME` sets another name.
const SERVICE: &str = "plinth";
/// Path of traces below the base URL of a collector (OpenTelemetry Protocol Exporter, "Endpoint URLs for OTLP/HTTP").
const PATH: &str = "v1/traces";
/// Time limit for sending the last spans when the program ends.
const LAST_SPANS_TIMEOUT: Duration = Duration::from_secs(5);

/// The sender of traces. It sends the last spans when it is dropped.
pub(crate) struct Traces(SdkTracerProvider);

impl Traces {
    /// Starts to send traces. Returns `None` if no collector is configured.
    /// Errors: the URL of the collector or a variable of OpenTelemetry is invalid.
    pub(crate) fn begin(config: &Config) -> Result<Option<Self>> {
        let named = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"];
        let is_disabled = variable("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true"));
        if is_disabled || (config.otlp_endpoint.is_none() && named.into_iter().all(|name| variable(name).is_none())) {
            return Ok(None);
        }
        let mut exporter = SpanExporter::builder().with_http().with_http_client(Client::new()?);
        if let Some(base) = &config.otlp_endpoint {
            exporter = exporter.with_endpoint(format!("{}/{PATH}", base.as_str().trim_end_matches('/')));
        }
        let exporter = exporter.build().context("the collector of traces is not configured correctly")?;
        let provider = SdkTracerProvider::builder().with_batch_exporter(exporter).with_resource(resource()).build();
        global::set_tracer_provider(provider.clone());
        Ok(Some(Self(provider)))
    }

    /// Returns the layer that records spans, and that records log lines as events of these spans.
    pub(crate) fn layer<S: Subscriber + for<'a> LookupSpan<'a>>(&self) -> impl Layer<S> + use<S> {
        let wanted = filter_fn(|about| {
            let is_event = about.is_event() && about.target().starts_with("plinth") && *about.level() <= Level::INFO;
            is_event || (about.is_span() && about.target() == plinth_trace::TARGET)
        });
        tracing_opentelemetry::layer()
            .with_tracer(self.0.tracer(SERVICE))
            .with_location(false)
            .with_threads(false)
            .with_filter(wanted.with_max_level_hint(LevelFilter::INFO))
    }
}

impl Drop for Traces {
    fn drop(&mut self) {
        if let Err(error) = self.0.shutdown_with_timeout(LAST_SPANS_TIMEOUT) {
            tracing::warn!(error = %error, "the last traces could not be sent");
        }
    }
}

/// Describes this program in traces.
fn resource() -> Resource {
    let version = KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
    let found = Resource::builder().with_attribute(version.clone()).build();
    let name = found.get(&Key::from_static_str("service.name"));
    if name.is_some_and(|name| !name.as_str().starts_with("unknown_service")) {
        return found;
    }
    Resource::builder().with_service_name(SERVICE).with_attribute(version).build()
}

/// The HTTP client of the exporter. The exporter calls the client from its own thread, which has no async runtime, so
/// the client has its own runtime.
#[derive(Debug)]
struct Client {
    runtime: Runtime,
    http: reqwest::Client,
    /// Whether the last request failed. Prevents that an outage of the collector is logged more than once.
    is_failing: AtomicBool,
}

impl Client {
    fn new() -> Result<Self> {
        let _chosen_before = rustls::crypto::ring::default_provider().install_default();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let http = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build()?;
        Ok(Self { runtime, http, is_failing: AtomicBool::new(false) })
    }

    async fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let mut answer = self.http.execute(request.try_into()?).await?.error_for_status()?;
        let (status, headers) = (answer.status(), std::mem::take(answer.headers_mut()));
        let mut response = Response::new(answer.bytes().await?);
        *response.status_mut() = status;
        *response.headers_mut() = headers;
        Ok(response)
    }
}

#[async_trait::async_trait]
impl HttpClient for Client {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let sent = self.runtime.block_on(self.send(request));
        let was_failing = self.is_failing.swap(sent.is_err(), Ordering::Relaxed);
        match &sent {
            Err(error) if !was_failing => {
                tracing::warn!(error = %error, "traces cannot be sent; further failures are not logged until one is sent");
            }
            Ok(_sent) if was_failing => tracing::info!("traces are sent again"),
            _ => {}
        }
        sent
    }
}
