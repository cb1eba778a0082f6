//! Measures and reports the progress of jobs.

use std::convert::Infallible;
use std::time::{Duration, Instant};

use plinth_pipeline::Stage;
use plinth_service::Service;
use plinth_service::jobs::Claim;
use tokio::sync::watch;
use tokio::time::sleep;

/// Minimum time between two reports of a job.
const INTERVAL: Duration = Duration::from_secs(1);
/// Smallest change of [`Progress::fraction`] that is reported.
const STEP: f64 = 0.01;

/// Fraction of a job that is done when its model has been loaded.
const LOADED: f64 = 0.02;
/// Fraction that is done when the light has been prepared and frames are drawn.
const PREPARED: f64 = 0.05;
/// Fraction that is done when all frames have been drawn.
const DRAWN: f64 = 0.9;
/// Fraction that is done when all files have been written to the job's folder. Afterwards they are uploaded.
pub(crate) const WRITTEN: f64 = 0.95;

/// Progress of a job.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Progress {
    /// Fraction of the work that is done, from 0 to 1.
    pub(crate) fraction: f64,
    /// Estimated time until all frames are drawn; `None` if it is not known.
    pub(crate) left: Option<Duration>,
}

/// Computes the progress of a job from its events.
#[derive(Debug, Default)]
pub(crate) struct ProgressMeter {
    /// Number of the first frame that this job has drawn, and the time at which its progress event arrived.
    first: Option<(u32, Instant)>,
}

impl ProgressMeter {
    /// Returns the progress after `frame` of `frames` frames.
    pub(crate) fn progress(&mut self, stage: Stage, frame: u32, frames: u32, now: Instant) -> Progress {
        let fraction = match stage {
            Stage::Loading => 0.0,
            Stage::Preparing => LOADED,
            Stage::Rendering => PREPARED + (DRAWN - PREPARED) * f64::from(frame) / f64::from(frames.max(1)),
            Stage::Finishing => DRAWN,
        };
        let is_drawing = stage == Stage::Rendering && frame > 0;
        if !is_drawing {
            // After a hardware encoder has failed, all frames are drawn again.
            self.first = None;
        }
        Progress { fraction, left: if is_drawing { self.left(frame, frames, now) } else { None } }
    }

    /// Estimates the time for the remaining frames from the time that each frame since the first one has taken.
    fn left(&mut self, frame: u32, frames: u32, now: Instant) -> Option<Duration> {
        let (first, at) = *self.first.get_or_insert((frame, now));
        let drawn = frame.checked_sub(first).filter(|drawn| *drawn > 0)?;
        Some(now.duration_since(at) / drawn * frames.saturating_sub(frame))
    }
}

/// Reports the newest progress of a job at intervals, for all renders of the job. An error is only logged, because the
/// next report replaces the lost report. Never returns.
pub(crate) async fn report_progress(
    service: &Service,
    claims: &[Claim],
    mut newest: watch::Receiver<Progress>,
) -> Infallible {
    let mut reported = 0.0;
    while newest.changed().await.is_ok() {
        let Progress { fraction, left } = *newest.borrow_and_update();
        if !is_news(fraction, reported) {
            continue;
        }
        store_progress(service, claims, Progress { fraction, left }).await;
        reported = fraction;
        sleep(INTERVAL).await;
    }
    std::future::pending().await
}

/// Returns whether a fraction is reported after `reported`. It is smaller if the job draws all frames again; then the reported time
/// left is wrong.
fn is_news(fraction: f64, reported: f64) -> bool {
    fraction < reported || fraction >= reported + STEP
}

/// Stores the progress of a job. An error is only logged.
pub(crate) async fn store_progress(service: &Service, claims: &[Claim], progress: Progress) {
    if let Err(error) = service.report_progress(claims, progress.fraction, progress.left).await {
        tracing::debug!(error = %error, cause = ?error.cause, "the progress of a job could not be stored");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_never_decreases_and_the_time_left_follows_from_the_frames() {
        let (mut meter, begin) = (ProgressMeter::default(), Instant::now());
        let mut at = |stage, frame, secs| meter.progress(stage, frame, 100, begin + Duration::from_secs(secs));
        let steps = [
            at(Stage::Loading, 0, 0),
            at(Stage::Preparing, 0, 1),
            at(Stage::Rendering, 0, 20),
            at(Stage::Rendering, 1, 21),
            at(Stage::Rendering, 51, 31),
            at(Stage::Rendering, 100, 41),
            at(Stage::Finishing, 100, 41),
        ];
        assert!(steps.is_sorted_by(|a, b| a.fraction <= b.fraction), "{steps:?}");
        assert!(steps.iter().all(|step| (0.0..WRITTEN).contains(&step.fraction)));
        let left: Vec<_> = steps.iter().map(|step| step.left.map(|left| left.as_millis())).collect();
        assert_eq!(left, [None, None, None, None, Some(9800), Some(0), None]);
    }

    #[test]
    fn a_resumed_job_counts_only_the_frames_that_it_drew_itself() {
        let (mut meter, begin) = (ProgressMeter::default(), Instant::now());
        meter.progress(Stage::Rendering, 91, 100, begin);
        let resumed = meter.progress(Stage::Rendering, 96, 100, begin + Duration::from_secs(10));
        assert_eq!(resumed.left, Some(Duration::from_secs(8)));
    }

    #[test]
    fn changes_of_a_hundredth_and_a_new_start_are_reported() {
        let (mut reported, mut reports) = (0.0, Vec::new());
        for fraction in [0.0, 0.02, 0.025, 0.05, 0.5, 0.505, 0.05, 0.055, 0.4, 0.9] {
            if is_news(fraction, reported) {
                reports.push(fraction);
                reported = fraction;
            }
        }
        assert_eq!(reports, [0.02, 0.05, 0.5, 0.05, 0.4, 0.9]);
    }

    #[test]
    fn a_job_that_starts_again_does_not_count_the_frames_before() {
        let (mut meter, begin) = (ProgressMeter::default(), Instant::now());
        let mut at = |frame, secs| meter.progress(Stage::Rendering, frame, 100, begin + Duration::from_secs(secs)).left;
        assert_eq!([at(1, 0), at(51, 100), at(0, 100), at(1, 101)], [None, Some(Duration::from_secs(98)), None, None]);
        assert_eq!(at(51, 111), Some(Duration::from_millis(9800)));
    }
}
