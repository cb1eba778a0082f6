//! Chooses the variants of a video. HLS calls them the bit rate ladder.

/// Shorter sides of the variants in pixels, largest first. Sizes above 1080 would need an H.264 level that some players
/// reject, such as 5.1 for 4K.
const SHORT_SIDES: [u32; 4] = [1080, 720, 540, 360];
/// Peak bit rate at 1920×1080 in kbit/s (Apple's HLS Authoring Specification, table for H.264 at 30 frames per second).
const FULL_HD_KBIT: f64 = 7800.0;
/// Exponent of the number of pixels to which the bit rates in Apple's table are proportional.
const RATE_POWER: f64 = 0.75;
/// Minimum peak bit rate, in kbit/s.
const MIN_PEAK_KBIT: u32 = 200;

/// A variant of the bit rate ladder: its width and height.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rung {
    pub(super) width: u32,
    pub(super) height: u32,
}

impl Rung {
    /// Returns the name of the folder that contains the variant.
    pub(super) fn name(self) -> String {
        format!("{}p", self.width.min(self.height))
    }

    /// Returns the peak bit rate in kbit/s.
    pub(super) fn peak_kbit(self) -> u32 {
        let share = f64::from(self.width) * f64::from(self.height) / (1920.0 * 1080.0);
        ((FULL_HD_KBIT * share.powf(RATE_POWER)) as u32).max(MIN_PEAK_KBIT)
    }
}

/// Returns the variants for a video of this size, largest first. No variant is larger than the video. There are at
/// least two variants.
pub(super) fn ladder(width: u32, height: u32) -> Vec<Rung> {
    let own = width.min(height);
    let top = own.min(SHORT_SIDES[0]);
    let mut sides = vec![top];
    sides.extend(SHORT_SIDES.into_iter().filter(|side| *side < top));
    if sides.len() == 1 {
        sides.push(top / 2);
    }
    let rung = |side: u32| Rung { width: scaled(width, side, own), height: scaled(height, side, own) };
    sides.into_iter().map(rung).collect()
}

/// Scales a side by `short` / `own`, where `own` is the length of the video's shorter side. Rounds to an even number,
/// because 4:2:0 requires even sizes.
fn scaled(side: u32, short: u32, own: u32) -> u32 {
    let twice = u64::from(own) * 2;
    let halves = (u64::from(side) * u64::from(short) + u64::from(own)) / twice;
    (halves * 2).max(2) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(width: u32, height: u32) -> Vec<(u32, u32)> {
        ladder(width, height).into_iter().map(|rung| (rung.width, rung.height)).collect()
    }

    #[test]
    fn the_largest_variant_has_the_size_of_the_video_or_1080() {
        assert_eq!(sizes(3840, 2160), [(1920, 1080), (1280, 720), (960, 540), (640, 360)]);
        assert_eq!(sizes(1920, 1080), [(1920, 1080), (1280, 720), (960, 540), (640, 360)]);
        assert_eq!(sizes(1080, 1920), [(1080, 1920), (720, 1280), (540, 960), (360, 640)]);
        assert_eq!(sizes(540, 540), [(540, 540), (360, 360)]);
    }

    #[test]
    fn there_are_at_least_two_variants() {
        assert_eq!(sizes(320, 180), [(320, 180), (160, 90)]);
        assert_eq!(sizes(66, 50), [(66, 50), (34, 26)]);
    }

    #[test]
    fn smaller_variants_have_lower_bit_rates() {
        let rates: Vec<u32> = ladder(1920, 1080).into_iter().map(Rung::peak_kbit).collect();
        assert_eq!(rates, [7800, 4245, 2757, 1501]);
    }
}
