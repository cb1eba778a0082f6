//! Spans of jobs, in the traces of the requests that ordered the renders.

use plinth_pipeline::Stage;
use plinth_service::jobs::Claim;
use tracing::Span;

use crate::options::WorkerOptions;

/// The spans of a job, one for each claim, in the trace of the request that ordered the render. The job runs in `span`,
/// the span of the first claim; the other spans are linked to `span`. All spans end when this value is dropped.
pub(crate) struct JobTrace {
    span: Span,
    _others: Vec<Span>,
}

impl JobTrace {
    /// Begins the spans of a job. `what` is `render` or `package`.
    pub(crate) fn begin(what: &'static str, claims: &[Claim], options: &WorkerOptions) -> Self {
        let mut spans = claims.iter().map(|claim| {
            let render = &claim.render;
            // Only the first attempt of a render has waited since `created_at`. Retries and packagings are queued later.
            if what == "render" && render.attempt == 1 {
                let id = [("render.id", render.id.as_str())];
                let (from, until) = (render.created_at, render.updated_at);
                plinth_trace::record_past("wait", render.trace_parent.as_deref(), from, until, &id);
            }
            let span = tracing::info_span!(
                target: plinth_trace::TARGET,
                "job",
                otel.name = what,
                otel.kind = "consumer",
                render.id = %render.id,
                render.attempt = render.attempt,
                render.class = render.work_class.map(plinth_spec::WorkClass::as_str),
                worker.name = options.name,
                worker.pool = options.pool,
            );
            plinth_trace::continue_trace(&span, render.trace_parent.as_deref());
            span
        });
        let span = spans.next().unwrap_or_else(Span::none);
        let others: Vec<Span> = spans.collect();
        for other in &others {
            plinth_trace::link(other, &span);
        }
        Self { span, _others: others }
    }

    /// Returns the span in which the job runs.
    pub(crate) fn span(&self) -> &Span {
        &self.span
    }
}

/// Creates the span of a part of a job, for example of its upload.
pub(crate) fn part(name: &'static str) -> Span {
    tracing::info_span!(target: plinth_trace::TARGET, "part", otel.name = name)
}

/// Spans of the stages that a child process reports.
#[derive(Default)]
pub(crate) struct StageSpans(Option<(Stage, Span)>);

impl StageSpans {
    /// If `stage` is a new stage, ends the span of the previous stage and begins the span of `stage`.
    pub(crate) fn reach(&mut self, stage: Stage) {
        if self.0.as_ref().is_none_or(|(current, _span)| *current != stage) {
            // Ends the previous span before the next one begins.
            self.0 = None;
            self.0 = Some((stage, part(stage.as_str())));
        }
    }
}
