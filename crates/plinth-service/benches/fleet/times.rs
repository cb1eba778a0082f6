//! Times of the requests of all workers.

use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use plinth_spec::id::RenderId;

/// Times of one kind of request.
#[derive(Default)]
pub(super) struct Times(pub(super) Mutex<Vec<Duration>>);

impl Times {
    pub(super) async fn of<T>(&self, work: impl Future<Output = T>) -> T {
        let begin = Instant::now();
        let value = work.await;
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(begin.elapsed());
        value
    }

    /// Returns and forgets the times, sorted.
    pub(super) fn take(&self) -> Vec<Duration> {
        let mut times = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        times.sort_unstable();
        times
    }
}

#[derive(Default)]
pub(super) struct Measured {
    pub(super) claims: Times,
    pub(super) packagings: Times,
    pub(super) empty: Times,
    pub(super) renewals: Times,
    pub(super) reports: Times,
    pub(super) failures: AtomicU64,
    /// When each render was claimed, of the measurement with idle workers.
    pub(super) claimed: Mutex<Vec<(RenderId, Instant)>>,
}

fn ms(times: &[Duration], percent: usize) -> f64 {
    times.get((times.len() * percent / 100).min(times.len().saturating_sub(1))).map_or(0.0, Duration::as_secs_f64) * 1e3
}

pub(super) fn line(what: &str, times: &[Duration], seconds: f64) -> String {
    let largest = times.last().map_or(0.0, Duration::as_secs_f64) * 1e3;
    format!(
        "{what:<24}{:>10.1}/s{:>10.2}{:>10.2}{largest:>10.2}",
        times.len() as f64 / seconds,
        ms(times, 50),
        ms(times, 99)
    )
}
