//! The properties of a variant that its playlists contain.

use crate::container::AvcConfig;

/// The properties of a variant that was cut into segments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Variant {
    pub(super) config: AvcConfig,
    /// Number of units of the time scale per second.
    pub(super) timescale: u32,
    pub(super) segments: Vec<Segment>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    pub(super) bytes: u64,
    /// Duration in units of the time scale.
    pub(super) duration: u64,
    pub(super) i_frames: Vec<IFrame>,
}

/// A key frame: a byte range in a segment. The range contains the index (`moof`) that precedes the frame, and the
/// frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct IFrame {
    pub(super) offset: u64,
    pub(super) bytes: u64,
    /// Time until the next key frame, in units of the time scale.
    pub(super) duration: u64,
}

/// Average and peak bit rates in bit/s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rates {
    pub(super) peak: u64,
    pub(super) average: u64,
}

impl Variant {
    /// Returns the value of the attribute `CODECS` (RFC 6381, section 3.3).
    pub(super) fn codecs(&self) -> String {
        let AvcConfig { profile, compatibility, level } = self.config;
        format!("avc1.{profile:02X}{compatibility:02X}{level:02X}")
    }

    /// Returns the average and the peak bit rate of the segments.
    pub(super) fn rates(&self) -> Rates {
        let parts: Vec<_> = self.segments.iter().map(|segment| (segment.bytes, segment.duration)).collect();
        rates(&parts, self.timescale)
    }

    /// Returns the average and the peak bit rate of the key frames, as in the I-frame playlist.
    pub(super) fn i_frame_rates(&self) -> Rates {
        let frames = self.segments.iter().flat_map(|segment| &segment.i_frames);
        let parts: Vec<_> = frames.map(|frame| (frame.bytes, frame.duration)).collect();
        rates(&parts, self.timescale)
    }
}

/// Computes bit rates as defined in RFC 8216, section 4.3.4.2. The peak is the largest bit rate of any run of
/// consecutive segments that lasts between 0.5 and 1.5 times the target duration. If no run has such a length, the peak
/// is the average.
fn rates(parts: &[(u64, u64)], timescale: u32) -> Rates {
    let per_second = |bytes: u64, duration: u64| (bytes * 8 * u64::from(timescale)).div_ceil(duration.max(1));
    let target = u64::from(super::SEGMENT_SECS) * u64::from(timescale);
    let mut peak = 0;
    for from in 0..parts.len() {
        let (mut bytes, mut duration) = (0, 0);
        for (more, lasts) in &parts[from..] {
            (bytes, duration) = (bytes + more, duration + lasts);
            if duration * 2 > target * 3 {
                break;
            }
            if duration * 2 >= target {
                peak = peak.max(per_second(bytes, duration));
            }
        }
    }
    let all = parts.iter().fold((0, 0), |sum, part| (sum.0 + part.0, sum.1 + part.1));
    let average = per_second(all.0, all.1);
    Rates { peak: peak.max(average), average }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_segments_count_for_the_peak_only_with_their_neighbours() {
        // Two segments of one second each, and a short segment. The short segment affects the peak only together with
        // its neighbour.
        let parts = [(1000, 20), (3000, 20), (400, 1)];
        assert_eq!(rates(&parts, 10), Rates { peak: 12_953, average: 8_586 });
    }

    #[test]
    fn the_rate_of_a_short_video_is_that_of_all_segments() {
        assert_eq!(rates(&[(100, 1)], 10), Rates { peak: 8_000, average: 8_000 });
    }
}
