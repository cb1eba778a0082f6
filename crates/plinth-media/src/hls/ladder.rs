//! Which variants a video gets.

/// Short sides of the variants, largest first. Above 1080 H.264 would need a level that players refuse (5.1 for 4K).
const SHORT_SIDES: [u32; 4] = [1080, 720, 540, 360];
/// Highest rate of a variant of 1920×1080, in thousand bits a second (Apple's H.264 table, 30 frames a second).
const FULL_HD_KBIT: f64 = 7800.0;
/// How rates follow from numbers of pixels in that table.
const RATE_POWER: f64 = 0.75;
/// No variant is held below this rate.
const LEAST_KBIT: u32 = 200;

/// One step of the ladder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rung {
    pub(super) width: u32,
    pub(super) height: u32,
}

impl Rung {
    /// Name of its folder.
    pub(super) fn name(self) -> String {
        format!("{}p", self.width.min(self.height))
    }

    /// What its rate may rise to.
    pub(super) fn peak_kbit(self) -> u32 {
        let share = f64::from(self.width) * f64::from(self.height) / (1920.0 * 1080.0);
        ((FULL_HD_KBIT * share.powf(RATE_POWER)) as u32).max(LEAST_KBIT)
    }
}

/// The steps for a video of this size, largest first: up to its own size, at least two.
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

/// A side in proportion, even as 4:2:0 needs it.
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
    fn the_ladder_ends_at_the_own_size_and_at_1080() {
        assert_eq!(sizes(3840, 2160), [(1920, 1080), (1280, 720), (960, 540), (640, 360)]);
        assert_eq!(sizes(1920, 1080), [(1920, 1080), (1280, 720), (960, 540), (640, 360)]);
        assert_eq!(sizes(1080, 1920), [(1080, 1920), (720, 1280), (540, 960), (360, 640)]);
        assert_eq!(sizes(540, 540), [(540, 540), (360, 360)]);
    }

    #[test]
    fn there_are_two_variants_at_least() {
        assert_eq!(sizes(320, 180), [(320, 180), (160, 90)]);
        assert_eq!(sizes(66, 50), [(66, 50), (34, 26)]);
    }

    #[test]
    fn rates_fall_with_the_size() {
        let rates: Vec<u32> = ladder(1920, 1080).into_iter().map(Rung::peak_kbit).collect();
        assert_eq!(rates, [7800, 4245, 2757, 1501]);
    }
}
