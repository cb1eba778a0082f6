//! Distributed traces. One trace follows a render from the request that creates it, through the queue, to its files.
//!
//! Spans with the target [`TARGET`] are sent to a collector, and do not appear in log lines. Without a collector, they
//! are disabled and cost nothing. The W3C trace context connects processes: a request may contain a trace context, a
//! render stores the context of the request that created it, and the worker continues the trace.

mod context;
mod past;

pub use context::{continue_trace, current, fail, link};
pub use past::record_past;

/// Target of the spans that are sent to a collector.
pub const TARGET: &str = "plinth_trace";
