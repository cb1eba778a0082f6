//! H.264 levels. A level limits the frame size and the frame rate that a decoder must support.

/// Levels of ITU-T H.264, table A-1: `level_idc`, maximum macroblocks per second, and maximum macroblocks per frame.
/// Levels that differ only in their maximum bit rate are omitted.
const LEVELS: [(u8, u32, u32); 8] = [
    (30, 40_500, 1_620),
    (31, 108_000, 3_600),
    (32, 216_000, 5_120),
    (40, 245_760, 8_192),
    (42, 522_240, 8_704),
    (50, 589_824, 22_080),
    (51, 983_040, 36_864),
    (52, 2_073_600, 36_864),
];

/// Returns the `level_idc` of the lowest level that supports a video, but at least 30 (level 3). For example, 40 stands
/// for level 4. Returns `None` if no level supports the video.
pub(super) fn level(width: u32, height: u32, fps: u32) -> Option<u8> {
    let blocks = width.div_ceil(16) * height.div_ceil(16);
    LEVELS.iter().find(|(_, rate, size)| blocks <= *size && blocks * fps <= *rate).map(|(level, _, _)| *level)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_of_tiers_and_variants_equal_those_of_x264() {
        let levels = [(3840, 2160), (2160, 3840), (2160, 2160), (1920, 1080), (1280, 720), (960, 540), (640, 360)];
        let levels = levels.map(|(width, height)| level(width, height, 30));
        assert_eq!(levels, [Some(51), Some(51), Some(50), Some(40), Some(31), Some(31), Some(30)]);
        assert_eq!(level(7680, 4320, 30), None);
    }
}
