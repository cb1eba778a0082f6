//! Logging of commands that run as servers: lines on stderr, as text or JSON.

use std::io::{IsTerminal as _, stderr};

use tracing_subscriber::fmt::layer;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer as _, registry};

use crate::config::Config;

/// Installs the logger, in the format and with the levels of the configuration.
pub(crate) fn begin(config: &Config) {
    let level = config.log_level.clone();
    if config.logs_are_json {
        let lines = layer().json().flatten_event(true).with_span_list(false).with_writer(stderr);
        registry().with(lines.with_filter(level)).init();
    } else {
        let lines = layer().with_ansi(stderr().is_terminal()).with_target(false).with_writer(stderr);
        registry().with(lines.with_filter(level)).init();
    }
}
