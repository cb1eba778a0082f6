//! The state and progress of an unfinished render, as pages show it. Server-sent events update it.

use plinth_service::renders::RenderProgress;
use plinth_spec::state::{HlsStatus, RenderStatus};
use serde_json::{Value, json};

use crate::format;

/// State and progress of a render in the list or on its page.
pub(crate) struct LiveRender {
    pub(crate) id: String,
    pub(crate) status: &'static str,
    pub(crate) status_name: &'static str,
    pub(crate) is_final: bool,
    /// Fraction of the work that is done, from 0 to 1.
    pub(crate) fraction: f64,
    /// The fraction in percent and the time left. Empty if no worker has begun the render.
    pub(crate) text: String,
    /// State of the HLS packaging.
    hls: HlsStatus,
    /// Whether the video is done and its HLS stream is not packaged yet.
    pub(crate) awaits_stream: bool,
}

/// Returns whether a render is done and its HLS packaging is queued or running.
pub(crate) fn awaits_stream(status: RenderStatus, hls: HlsStatus) -> bool {
    status == RenderStatus::Done && matches!(hls, HlsStatus::Pending | HlsStatus::Processing)
}

impl LiveRender {
    pub(crate) fn of(progress: &RenderProgress) -> Self {
        let fraction = progress.fraction.unwrap_or_default();
        Self {
            id: progress.id.to_string(),
            status: format::status(progress.status),
            status_name: progress.status.as_str(),
            is_final: progress.status.is_final(),
            fraction,
            text: text(fraction, progress.left_secs),
            hls: progress.hls,
            awaits_stream: awaits_stream(progress.status, progress.hls),
        }
    }

    /// Returns the event that updates this render on a page.
    pub(crate) fn event(&self) -> Value {
        json!({"id": self.id, "status": self.status_name, "label": self.status, "isFinal": self.is_final,
               "fraction": self.fraction, "text": self.text, "stream": self.hls.as_str()})
    }
}

fn text(fraction: f64, left_secs: Option<u64>) -> String {
    let percent = format!("{:.0} %", (fraction * 100.0).floor());
    match left_secs {
        _ if fraction <= 0.0 => String::new(),
        Some(secs) => format!("{percent}, {} left", duration(secs)),
        None => percent,
    }
}

/// Formats an estimated duration. Longer durations are rounded to coarser units.
fn duration(secs: u64) -> String {
    match secs {
        0..=10 => format!("{secs} s"),
        11..=90 => format!("about {} s", secs.div_ceil(5) * 5),
        91..=5400 => format!("about {} min", secs.div_ceil(60)),
        _ => format!("about {} h", secs.div_ceil(3600)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_are_as_coarse_as_they_are_uncertain() {
        let cases = [
            (0.0, Some(20), ""),
            (0.339, None, "33 %"),
            (0.5, Some(7), "50 %, 7 s left"),
            (0.5, Some(31), "50 %, about 35 s left"),
            (0.5, Some(121), "50 %, about 3 min left"),
            (0.999, Some(9000), "99 %, about 3 h left"),
        ];
        for (fraction, left, expected) in cases {
            assert_eq!(text(fraction, left), expected);
        }
    }
}
