//! Qualities of videos and datasets: sizes, codecs and prices.

use crate::named::named;

/// Frames per second of every video.
pub const FRAMES_PER_SECOND: u32 = 30;

named! {
    /// Video quality.
    Quality, default Standard {
        /// 960×540 H.264.
        Share = "share",
        /// 1920×1080 H.264.
        Standard = "standard",
        /// 3840×2160 H.264.
        FourK = "4k",
        /// 3840×2160 ProRes 4444 with alpha.
        Pro = "pro",
    }
}

/// Video codec and container.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Codec {
    /// H.264 in an MP4 container.
    H264,
    /// ProRes 4444 in a QuickTime container.
    ProRes4444,
}

named! {
    /// Aspect ratio of the frames.
    Aspect, default Wide {
        /// 16:9.
        Wide = "16:9",
        /// 1:1.
        Square = "1:1",
        /// 9:16.
        Tall = "9:16",
    }
}

impl Quality {
    /// Returns the width and the height of the frames in pixels. A 1:1 frame has the height of the 16:9 frame as its
    /// side length. A 9:16 frame has the width and the height of the 16:9 frame, swapped.
    pub const fn size(self, aspect: Aspect) -> (u32, u32) {
        let (width, height) = match self {
            Self::Share => (960, 540),
            Self::Standard => (1920, 1080),
            Self::FourK | Self::Pro => (3840, 2160),
        };
        match aspect {
            Aspect::Wide => (width, height),
            Aspect::Square => (height, height),
            Aspect::Tall => (height, width),
        }
    }

    /// Returns whether indirect light is baked at a higher resolution. The difference is visible only in large frames.
    pub const fn has_fine_light(self) -> bool {
        matches!(self, Self::FourK | Self::Pro)
    }

    /// Returns the codec of the video.
    pub const fn codec(self) -> Codec {
        match self {
            Self::Share | Self::Standard | Self::FourK => Codec::H264,
            Self::Pro => Codec::ProRes4444,
        }
    }

    /// Returns whether the video has an alpha channel.
    pub const fn has_alpha(self) -> bool {
        matches!(self, Self::Pro)
    }

    /// Returns the price of one second of video in credits.
    pub const fn credits_per_second(self) -> u32 {
        match self {
            Self::Share => 1,
            Self::Standard => 4,
            Self::FourK => 16,
            Self::Pro => 64,
        }
    }

    /// Returns the maximum length of a video in seconds.
    pub const fn max_length_secs(self) -> f64 {
        match self {
            Self::Pro => crate::limits::PRO_LENGTH_SECS,
            _ => crate::limits::VIDEO_LENGTH_SECS,
        }
    }
}

named! {
    /// Dataset quality.
    DatasetQuality, default Small {
        /// 100 views of 800×800.
        Small = "100x800",
        /// 196 views of 1024×1024.
        Medium = "196x1024",
        /// 400 views of 2048×2048.
        Large = "400x2048",
    }
}

impl DatasetQuality {
    /// Returns the number of views.
    pub const fn views(self) -> u32 {
        match self {
            Self::Small => 100,
            Self::Medium => 196,
            Self::Large => 400,
        }
    }

    /// Returns the side length of a view in pixels. Views are square.
    pub const fn side(self) -> u32 {
        match self {
            Self::Small => 800,
            Self::Medium => 1024,
            Self::Large => 2048,
        }
    }

    /// Returns the price in credits.
    pub const fn credits(self) -> u32 {
        match self {
            Self::Small => 40,
            Self::Medium => 160,
            Self::Large => 640,
        }
    }
}

/// Returns the number of frames of a video. It is the length in seconds times 30, rounded to an integer, and at least
/// 1.
pub fn frame_count(length_secs: f64) -> u32 {
    let frames = (length_secs * f64::from(FRAMES_PER_SECOND)).round();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to the range of u32")]
    let count = frames.clamp(1.0, f64::from(u32::MAX)) as u32;
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn video_qualities_match_the_contract() {
        for (name, sizes, codec, has_alpha, credits, secs) in [
            ("share", [(960, 540), (540, 540), (540, 960)], Codec::H264, false, 1, 120.0),
            ("standard", [(1920, 1080), (1080, 1080), (1080, 1920)], Codec::H264, false, 4, 120.0),
            ("4k", [(3840, 2160), (2160, 2160), (2160, 3840)], Codec::H264, false, 16, 120.0),
            ("pro", [(3840, 2160), (2160, 2160), (2160, 3840)], Codec::ProRes4444, true, 64, 60.0),
        ] {
            let tier = Quality::from_name(name).unwrap();
            assert_eq!(
                (tier.as_str(), [Aspect::Wide, Aspect::Square, Aspect::Tall].map(|a| tier.size(a))),
                (name, sizes)
            );
            assert_eq!(
                (tier.codec(), tier.has_alpha(), tier.credits_per_second()),
                (codec, has_alpha, credits),
                "{name}"
            );
            assert!((tier.max_length_secs() - secs).abs() < f64::EPSILON, "{name}");
        }
        assert_eq!((Quality::DEFAULT.as_str(), Quality::NAMES), ("standard", &["share", "standard", "4k", "pro"][..]));
        assert_eq!((Aspect::DEFAULT, Aspect::NAMES), (Aspect::Wide, &["16:9", "1:1", "9:16"][..]));
    }

    #[test]
    fn dataset_qualities_match_the_contract() {
        let of = |name: &str| {
            let set = DatasetQuality::from_name(name).unwrap();
            (set.as_str() == name, set.views(), set.side(), set.credits())
        };
        assert_eq!(of("100x800"), (true, 100, 800, 40));
        assert_eq!(of("196x1024"), (true, 196, 1024, 160));
        assert_eq!(of("400x2048"), (true, 400, 2048, 640));
    }

    #[test]
    fn videos_have_thirty_frames_per_second_and_at_least_one() {
        for (secs, frames) in [(0.001, 1), (0.04, 1), (0.05, 2), (1.0, 30), (6.0, 180), (120.0, 3600)] {
            assert_eq!(frame_count(secs), frames, "{secs}");
        }
    }
}
