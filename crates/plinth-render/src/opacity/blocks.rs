//! The opaque parts of an image.

use std::ops::RangeInclusive;

use glam::Vec2;
use plinth_model::{Image, Sampler, Wrap};
use rayon::prelude::*;

/// Side of a block in texels. Opaque parts are known by blocks.
const BLOCK: u32 = 4;

/// Texture coordinates beyond this value are too inexact to tell which texels are read.
const MAX_COORDINATE: f32 = 1e4;

/// For each block of an image, whether all its texels are opaque.
pub(super) struct OpaqueBlocks {
    /// Size of the image in texels.
    size: [u32; 2],
    /// Number of blocks in a row, plus one.
    stride: usize,
    /// For each corner of a block, the number of blocks above and to the left of it that are not opaque: a summed-area
    /// table (Crow 1984, "Summed-Area Tables for Texture Mapping").
    sums: Vec<u32>,
}

impl OpaqueBlocks {
    /// Examines an image. If it is known to have no translucent texel, its pixels are not read.
    pub(super) fn new(image: &Image) -> Self {
        let size = [image.width.max(1), image.height.max(1)];
        let [columns, rows] = size.map(|side| side.div_ceil(BLOCK) as usize);
        let stride = columns + 1;
        let mut sums = vec![0; stride * (rows + 1)];
        if image.pixels.known_facts().is_none_or(|facts| facts.least[3] != u8::MAX) {
            for (y, row) in translucent_blocks(image, size[0] as usize).iter().enumerate() {
                let mut in_row = 0;
                for (x, translucent) in row.iter().enumerate() {
                    in_row += u32::from(*translucent);
                    sums[(y + 1) * stride + x + 1] = sums[y * stride + x + 1] + in_row;
                }
            }
        }
        Self { size, stride, sums }
    }

    /// Returns whether all texels are opaque that are read at texture coordinates from `low` to `high`, including those
    /// that a filter reads beside them.
    pub(super) fn all_opaque(&self, low: Vec2, high: Vec2, sampler: Sampler) -> bool {
        let is_exact = |uv: Vec2| uv.abs().cmple(Vec2::splat(MAX_COORDINATE)).all();
        if !is_exact(low) || !is_exact(high) {
            return false;
        }
        let columns = blocks([low.x, high.x], self.size[0], sampler.wrap_u);
        let rows = blocks([low.y, high.y], self.size[1], sampler.wrap_v);
        let is_opaque = |x: &RangeInclusive<usize>, y: &RangeInclusive<usize>| {
            let sum = |x: usize, y: usize| self.sums[y * self.stride + x];
            let (x, y) = ((*x.start(), x.end() + 1), (*y.start(), y.end() + 1));
            sum(x.1, y.1) + sum(x.0, y.0) == sum(x.0, y.1) + sum(x.1, y.0)
        };
        columns.iter().flatten().all(|x| rows.iter().flatten().all(|y| is_opaque(x, y)))
    }
}

/// Returns for each row of blocks which of them contain a translucent texel. `width` is the width of the image in texels.
fn translucent_blocks(image: &Image, width: usize) -> Vec<Vec<bool>> {
    let block = BLOCK as usize;
    let translucent_of = |rows: &[[u8; 4]]| {
        let mut translucent = vec![false; width.div_ceil(block)];
        for row in rows.chunks(width) {
            for (translucent, block) in translucent.iter_mut().zip(row.chunks(block)) {
                *translucent |= block.iter().any(|texel| texel[3] != u8::MAX);
            }
        }
        translucent
    };
    image.pixels.as_chunks::<4>().0.par_chunks(width * block).map(translucent_of).collect()
}

/// Returns the blocks that are read between two texture coordinates along an axis with `size` texels, as one or two
/// ranges.
fn blocks([low, high]: [f32; 2], size: u32, wrap: Wrap) -> [Option<RangeInclusive<usize>>; 2] {
    let side = i64::from(size);
    let texel = |uv: f32| (uv * size as f32).floor() as i64;
    let (first, last) = (texel(low) - i64::from(BLOCK), texel(high) + i64::from(BLOCK));
    let range = |first: i64, last: i64| Some((first / i64::from(BLOCK)) as usize..=(last / i64::from(BLOCK)) as usize);
    let is_inside = first >= 0 && last < side;
    match wrap {
        _ if is_inside => [range(first, last), None],
        Wrap::Clamp => [range(first.clamp(0, side - 1), last.clamp(0, side - 1)), None],
        Wrap::Repeat if last - first + 1 < side => {
            let (first, last) = (first.rem_euclid(side), last.rem_euclid(side));
            if first <= last { [range(first, last), None] } else { [range(first, side - 1), range(0, last)] }
        }
        Wrap::Repeat | Wrap::Mirror => [range(0, side - 1), None],
    }
}

#[cfg(test)]
mod tests {
    use plinth_model::{ImageFacts, Pixels};

    use super::*;

    /// Returns the blocks of an image in which the listed texels are translucent.
    fn image(width: u32, height: u32, translucent: &[[u32; 2]]) -> OpaqueBlocks {
        let mut pixels = vec![255; (width * height * 4) as usize];
        for [x, y] in translucent {
            pixels[((y * width + x) * 4 + 3) as usize] = 254;
        }
        OpaqueBlocks::new(&Image { width, height, pixels: pixels.into(), ..Image::default() })
    }

    fn all_opaque(blocks: &OpaqueBlocks, low: [f32; 2], high: [f32; 2], wrap: Wrap) -> bool {
        let sampler = Sampler { wrap_u: wrap, wrap_v: wrap, ..Sampler::default() };
        blocks.all_opaque(low.into(), high.into(), sampler)
    }

    #[test]
    fn a_region_is_opaque_if_no_texel_in_or_near_it_is_translucent() {
        let blocks = image(64, 32, &[[40, 10]]);
        for wrap in [Wrap::Repeat, Wrap::Mirror, Wrap::Clamp] {
            assert!(all_opaque(&blocks, [0.1, 0.2], [0.4, 0.8], wrap));
            assert!(!all_opaque(&blocks, [0.1, 0.2], [0.7, 0.8], wrap));
            assert!(!all_opaque(&blocks, [0.57, 0.3], [0.57, 0.3], wrap), "a filter reads beside the point");
            assert!(!all_opaque(&blocks, [-9.0, -9.0], [9.0, 9.0], wrap));
        }
        assert!(!all_opaque(&blocks, [f32::NAN, 0.2], [0.4, 0.8], Wrap::Repeat));
        assert!(!all_opaque(&blocks, [1e9, 0.2], [1e9, 0.8], Wrap::Repeat));
    }

    #[test]
    fn regions_outside_the_image_follow_the_wrap_mode() {
        let blocks = image(64, 64, &[[60, 32]]);
        let at_left = |wrap| all_opaque(&blocks, [-0.06, 0.4], [0.3, 0.6], wrap);
        assert!(!at_left(Wrap::Repeat), "the right edge is read");
        assert!(at_left(Wrap::Clamp), "only the left edge is read");
        assert!(!at_left(Wrap::Mirror), "mirrored images count as a whole");
        assert!(all_opaque(&blocks, [2.2, 0.4], [2.5, 0.6], Wrap::Repeat));
        assert!(!all_opaque(&blocks, [2.2, 0.4], [2.95, 0.6], Wrap::Repeat));
    }

    #[test]
    fn images_of_any_size_are_read_as_a_whole() {
        for (width, height) in [(1, 1), (3, 5), (4, 4), (5, 9)] {
            assert!(all_opaque(&image(width, height, &[]), [0.0; 2], [1.0; 2], Wrap::Repeat));
            let corner = image(width, height, &[[width - 1, height - 1]]);
            assert!(!all_opaque(&corner, [0.0; 2], [1.0; 2], Wrap::Repeat), "{width}×{height}");
        }
    }

    #[test]
    fn the_pixels_of_a_known_image_are_read_only_if_some_are_translucent() {
        let known = |alpha: u8, decode: fn() -> Vec<u8>| {
            let pixels = Pixels::known(ImageFacts { least: [0, 0, 0, alpha] }, 0, decode);
            OpaqueBlocks::new(&Image { width: 5, height: 9, pixels, ..Image::default() })
        };
        let opaque = known(255, || panic!("the image was decoded"));
        assert_eq!((opaque.size, opaque.stride), ([5, 9], 3));
        assert_eq!(opaque.sums, image(5, 9, &[]).sums);
        assert!(all_opaque(&opaque, [-0.2; 2], [1.2; 2], Wrap::Repeat));
        let translucent = known(254, || [255, 255, 255, 254].repeat(5 * 9));
        assert!(!all_opaque(&translucent, [0.5; 2], [0.5; 2], Wrap::Repeat));
    }
}
