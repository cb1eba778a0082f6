//! Counters of a worker for Prometheus.

use metrics::{Counter, counter};
use plinth_spec::FailureCode;

/// Label of failed packagings, which have no failure code.
pub(crate) const PACKAGING: &str = "packaging";
const RENDER: &str = "render";
const PACKAGE: &str = "package";

/// Creates all counters with the value 0. If the first event created its counter, Prometheus would not see an increase from
/// 0 to 1, and alerts that test for an increase would miss this event.
pub(crate) fn create() {
    for kind in [RENDER, PACKAGE] {
        claims(kind).increment(0);
    }
    for code in FailureCode::ALL.iter().map(|code| code.as_str()).chain([PACKAGING]) {
        failures(code).increment(0);
    }
    encoder_failures().increment(0);
}

pub(crate) fn render_claims() -> Counter {
    claims(RENDER)
}

pub(crate) fn packaging_claims() -> Counter {
    claims(PACKAGE)
}

fn claims(kind: &'static str) -> Counter {
    counter!("plinth_worker_claims_total", "kind" => kind)
}

pub(crate) fn failures(code: &'static str) -> Counter {
    counter!("plinth_worker_failures_total", "code" => code)
}

pub(crate) fn encoder_failures() -> Counter {
    counter!("plinth_worker_encoder_failures_total")
}
