//! Spans of operations that have already ended, such as the time for which a render waited in the queue.

use std::time::{Duration, SystemTime};

use opentelemetry::trace::{Span as _, Tracer as _};
use opentelemetry::{KeyValue, global};

use crate::context::parse;

/// Records a span between two Unix times in milliseconds, in the trace that `trace_parent` refers to.
pub fn record_past(
    name: &'static str,
    trace_parent: Option<&str>,
    from_ms: i64,
    until_ms: i64,
    attributes: &[(&'static str, &str)],
) {
    let Some(parent) = trace_parent.and_then(parse) else { return };
    let tracer = global::tracer("plinth");
    let attributes = attributes.iter().map(|(key, value)| KeyValue::new(*key, (*value).to_owned()));
    let builder = tracer.span_builder(name).with_start_time(time(from_ms)).with_attributes(attributes);
    builder.start_with_context(&tracer, &parent).end_with_timestamp(time(until_ms.max(from_ms)));
}

fn time(unix_ms: i64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(unix_ms.try_into().unwrap_or_default())
}
