//! Metrics of a worker for Prometheus.

use metrics::{Counter, Gauge, counter, gauge};
use plinth_spec::FailureCode;

/// Label of failed packagings, which have no failure code.
pub(crate) const PACKAGING: &str = "packaging";
/// Value of the label `kind` for renders.
pub(crate) const RENDER: &str = "render";
/// Value of the label `kind` for packagings.
pub(crate) const PACKAGE: &str = "package";

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

/// A running job. It is counted until it is dropped, so that a job that panics does not count for ever.
pub(crate) struct Running(Gauge);

impl Running {
    /// Counts a job of this kind, [`RENDER`] or [`PACKAGE`].
    pub(crate) fn begin(kind: &'static str) -> Self {
        Self::count(gauge!("plinth_worker_running", "kind" => kind))
    }

    fn count(gauge: Gauge) -> Self {
        gauge.increment(1);
        Self(gauge)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.decrement(1);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[test]
    fn a_job_counts_as_running_until_it_ends_or_panics() {
        let bits = Arc::new(AtomicU64::new(0));
        let read = || f64::from_bits(bits.load(Ordering::SeqCst)).to_string();
        let first = Running::count(Gauge::from_arc(Arc::clone(&bits)));
        let second = Running::count(Gauge::from_arc(Arc::clone(&bits)));
        assert_eq!(read(), "2");
        drop(first);
        assert_eq!(read(), "1");
        let job = std::thread::spawn::<_, ()>(move || {
            let _second = second;
            panic!("a job panics")
        });
        assert!(job.join().is_err());
        assert_eq!(read(), "0");
    }
}
