//! Distributed traces: one trace follows an order from its request through the queue to its files.
//!
//! Spans with the target [`TARGET`] are sent to a collector, and are not part of log lines. Without a collector they are
//! disabled and cost nothing. The W3C trace context connects processes: a request may bring one, a render keeps that of the
//! request that ordered it, and the worker continues it.

mod context;
mod past;

pub use context::{continue_trace, current, fail, link};
pub use past::record_past;

/// Target of the spans that are sent to a collector.
pub const TARGET: &str = "plinth_trace";
