//! Logging of commands that run as servers: lines on stderr, as text or JSON, and traces.

use std::io::{IsTerminal as _, stderr};

use anyhow::Result;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::layer;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer as _, registry};

use crate::config::Config;
use crate::traces::Traces;

/// Installs the logger, in the format and with the levels of the configuration, and the sender of traces if a collector
/// is configured. The caller must keep the result until the program ends: dropping it sends the last traces.
/// Errors: the collector is not configured correctly.
pub(crate) fn begin(config: &Config) -> Result<Option<Traces>> {
    let traces = Traces::begin(config)?;
    // Spans of traces are not context of log lines.
    let level = config.log_level.clone().with_target(plinth_trace::TARGET, LevelFilter::OFF);
    let subscriber = registry().with(traces.as_ref().map(Traces::layer));
    if config.logs_are_json {
        let lines = layer().json().flatten_event(true).with_span_list(false).with_writer(stderr);
        subscriber.with(lines.with_filter(level)).init();
    } else {
        let lines = layer().with_ansi(stderr().is_terminal()).with_target(false).with_writer(stderr);
        subscriber.with(lines.with_filter(level)).init();
    }
    Ok(traces)
}
