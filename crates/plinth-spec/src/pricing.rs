//! What renders cost.

use crate::quality::{DatasetQuality, Quality};
use crate::settings::{Output, RenderSettings};

/// Price of a video in credits: rate times seconds, rounded up to a whole credit, at least 1.
pub fn video_credits(quality: Quality, length_secs: f64) -> u64 {
    let exact = f64::from(quality.credits_per_second()) * length_secs;
    // A length such as 0.1 s is not exact in binary: a hair above a whole credit is that credit.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "lengths are positive and bounded")]
    let credits = (exact - 1e-9).ceil().max(1.0) as u64;
    credits
}

/// Price of a render in credits.
pub fn render_credits(settings: &RenderSettings) -> u64 {
    let video = settings.video();
    match video.output {
        Output::Video => video_credits(video.quality, video.length_secs),
        Output::Dataset => u64::from(settings.dataset().quality.unwrap_or(DatasetQuality::Small).credits()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_default_render_costs_24_credits() {
        assert_eq!(render_credits(&RenderSettings::default()), 24);
    }

    #[test]
    fn prices_round_up_and_never_fall_below_one() {
        assert_eq!(video_credits(Quality::Share, 0.1), 1);
        assert_eq!(video_credits(Quality::Share, 1.01), 2);
        assert_eq!(video_credits(Quality::Standard, 0.3), 2);
        assert_eq!(video_credits(Quality::Pro, 60.0), 3840);
    }
}
