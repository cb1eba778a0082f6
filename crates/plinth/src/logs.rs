//! Logging of commands that run as servers: lines on stderr, as text or JSON, and traces.

use std::io::{IsTerminal as _, stderr};

use anyhow::Result;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::layer;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer as _, registry};

use crate::config::{self, Config};
use crate::traces::Traces;

/// Installs the logger, in the format and with the levels of the configuration, and the sender of traces if a collector
/// is configured. The caller must keep the result until the program ends: dropping it sends the last traces.
/// Errors: the collector is not configured correctly.
pub(crate) fn begin(config: &Config) -> Result<Option<Traces>> {
    let traces = Traces::begin(config)?;
    // Log lines do not contain the spans of traces, so their target is turned off. Lines that cannot be written are
    // dropped, because the layer would report the error with `eprintln!`, which panics if stderr cannot be written.
    let level = config.log_level.clone().with_target(plinth_trace::TARGET, LevelFilter::OFF);
    let subscriber = registry().with(traces.as_ref().map(Traces::layer));
    if config.logs_are_json {
        let lines = layer().json().flatten_event(true).with_span_list(false).with_writer(stderr);
        let lines = lines.log_internal_errors(false);
        subscriber.with(lines.with_filter(level)).init();
    } else {
        let lines = layer().with_ansi(is_colored()).with_target(false).with_writer(stderr);
        let lines = lines.log_internal_errors(false);
        subscriber.with(lines.with_filter(level)).init();
    }
    Ok(traces)
}

/// Returns whether lines are coloured: on a terminal, unless the user has set `NO_COLOR` (<https://no-color.org>).
fn is_colored() -> bool {
    stderr().is_terminal() && config::variable("NO_COLOR").is_none()
}
