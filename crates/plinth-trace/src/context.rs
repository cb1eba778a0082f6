//! The trace context of the current span, and spans that continue a trace from another process.

use std::collections::HashMap;

use opentelemetry::Context;
use opentelemetry::propagation::TextMapPropagator as _;
use opentelemetry::trace::{Status, TraceContextExt as _};
use opentelemetry_sdk::propagation::TraceContextPropagator;
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt as _;

/// Name of the header of the W3C trace context.
const TRACE_PARENT: &str = "traceparent";

/// Returns the W3C trace context (`traceparent`) of the current span. Returns `None` if no traces are recorded, or the
/// trace of this request is not recorded.
pub fn current() -> Option<String> {
    let context = Context::current();
    if !context.span().span_context().is_sampled() {
        return None;
    }
    let mut headers = HashMap::new();
    TraceContextPropagator::new().inject_context(&context, &mut headers);
    headers.remove(TRACE_PARENT)
}

/// Adds a span to the trace that `trace_parent` refers to. The span must be new: it must not have been entered yet. If
/// `trace_parent` is missing or malformed, the span does not change.
pub fn continue_trace(span: &Span, trace_parent: Option<&str>) {
    let Some(remote) = trace_parent.and_then(parse) else { return };
    // This fails if the span is disabled because no traces are recorded. The error is ignored.
    let _disabled = span.set_parent(remote);
}

/// Links a span to a span of another trace.
pub fn link(span: &Span, other: &Span) {
    span.add_link(other.context().span().span_context().clone());
}

/// Marks the current span as failed.
pub fn fail(message: &str) {
    Context::current().span().set_status(Status::error(message.to_owned()));
}

/// Returns the context that a `traceparent` refers to, or `None` if it is malformed.
pub(crate) fn parse(trace_parent: &str) -> Option<Context> {
    let headers = HashMap::from([(TRACE_PARENT.to_owned(), trace_parent.to_owned())]);
    let context = TraceContextPropagator::new().extract_with_context(&Context::new(), &headers);
    context.span().span_context().is_valid().then_some(context)
}

#[cfg(test)]
mod tests {
    use opentelemetry::trace::TracerProvider as _;
    use opentelemetry_sdk::trace::SdkTracerProvider;
    use tracing_subscriber::layer::SubscriberExt as _;

    use super::*;

    const REMOTE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    fn with_traces(work: impl FnOnce()) {
        let provider = SdkTracerProvider::builder().build();
        let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("test"));
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), work);
    }

    #[test]
    fn a_span_continues_the_trace_of_another_process() {
        with_traces(|| {
            let span = tracing::info_span!("job");
            continue_trace(&span, Some(REMOTE));
            let inside = span.in_scope(|| tracing::info_span!("upload").in_scope(current)).unwrap();
            assert_eq!(inside.split('-').nth(1), REMOTE.split('-').nth(1), "the trace");
            assert_ne!(inside.split('-').nth(2), REMOTE.split('-').nth(2), "the span");
        });
    }

    #[test]
    fn a_malformed_trace_context_is_ignored() {
        for wrong in [
            "",
            "nonsense",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b",
        ] {
            assert!(parse(wrong).is_none(), "{wrong}");
        }
        with_traces(|| {
            let span = tracing::info_span!("job");
            continue_trace(&span, Some("nonsense"));
            assert!(span.in_scope(current).is_some(), "the span has a trace of its own");
        });
    }

    #[test]
    fn a_trace_that_its_first_process_does_not_record_is_not_continued() {
        with_traces(|| {
            let span = tracing::info_span!("job");
            continue_trace(&span, Some(&REMOTE.replace("-01", "-00")));
            assert_eq!(span.in_scope(current), None);
        });
    }

    #[test]
    fn without_a_collector_there_is_no_trace_context() {
        let span = tracing::info_span!("job");
        continue_trace(&span, Some(REMOTE));
        assert_eq!(span.in_scope(current), None);
    }
}
