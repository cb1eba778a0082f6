//! Computes the mip levels of an image.

use std::borrow::Cow;
use std::sync::LazyLock;

use plinth_model::{Image, TextureEncoding};
use rayon::prelude::*;

use super::first_level::FirstLevel;
use super::read_tiles::{ReadTiles, Rectangle};

/// What is uploaded of an image. The whole level 0 is not among it, because it is the image itself.
#[derive(Default)]
pub(crate) struct Levels {
    /// Parts of the first level. `None` if the whole level is uploaded.
    pub(super) parts: Option<Parts>,
    /// All other levels from level 1 on that are not finer than the first one.
    pub(super) whole: Vec<Level<'static>>,
}

impl Levels {
    /// Computes what is uploaded of an image. Finer levels than `first` are computed, too, because the next ones are
    /// averaged from them.
    pub(super) fn computed(image: &Image, encoding: TextureEncoding, first: &FirstLevel) -> Self {
        let level_0 = Level::of(image);
        let mut whole = smaller_levels(&level_0, encoding, first.number);
        let Some(tiles) = &first.parts else { return Self { parts: None, whole } };
        let parts = if first.number == 0 { cut(&level_0, tiles) } else { cut(&whole.remove(0), tiles) };
        Self { parts: Some(parts), whole }
    }

    /// Returns the pixels in the order in which they are stored on disk.
    pub(super) fn pixels(&self) -> impl Iterator<Item = &[u8]> {
        let parts = self.parts.iter().map(|parts| parts.pixels.as_slice());
        parts.chain(self.whole.iter().map(|level| &*level.pixels))
    }
}

/// Parts of a mip level.
pub(super) struct Parts {
    pub(super) places: Vec<Rectangle>,
    /// R, G, B, A bytes of the rectangles, one after the other.
    pub(super) pixels: Vec<u8>,
}

/// Copies the parts of a level that are read.
fn cut(level: &Level<'_>, tiles: &ReadTiles) -> Parts {
    let places = tiles.rectangles();
    let mut pixels = Vec::with_capacity(places.iter().map(Rectangle::bytes).sum());
    for place in &places {
        let (left, bytes) = (place.x as usize * 4, place.width as usize * 4);
        let rows = level.pixels.chunks_exact(level.width as usize * 4);
        for row in rows.skip(place.y as usize).take(place.height as usize) {
            pixels.extend_from_slice(&row[left..left + bytes]);
        }
    }
    Parts { places, pixels }
}

/// A mip level: R, G, B, A bytes.
pub(crate) struct Level<'a> {
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) pixels: Cow<'a, [u8]>,
}

impl<'a> Level<'a> {
    /// Returns level 0 of an image.
    pub(super) fn of(image: &'a Image) -> Self {
        let pixels = Cow::Borrowed(&*image.pixels);
        Self { width: image.width.max(1), height: image.height.max(1), pixels }
    }

    const fn is_last(&self) -> bool {
        self.width == 1 && self.height == 1
    }
}

/// Returns the mip levels from level 1 or, if it is greater, from `first` down to one texel. Each level is averaged
/// from the previous level, in the space that the encoding requires. `whole` is level 0.
fn smaller_levels(whole: &Level<'_>, encoding: TextureEncoding, first: u32) -> Vec<Level<'static>> {
    let mut levels: Vec<Level<'static>> = Vec::new();
    for number in 1.. {
        let next = match levels.last() {
            Some(above) if !above.is_last() => halve(above, encoding),
            None if !whole.is_last() => halve(whole, encoding),
            _ => break,
        };
        // Only the last one of the levels before `first` is needed, to compute the next level.
        if number <= first {
            levels.clear();
        }
        levels.push(next);
    }
    levels
}

fn halve(above: &Level<'_>, encoding: TextureEncoding) -> Level<'static> {
    match encoding {
        TextureEncoding::Linear => halve_with(above, |pairs, row| average_each(pairs, row, average_linear)),
        TextureEncoding::Srgb => {
            let tables = &*SRGB;
            halve_with(above, |pairs, row| average_each(pairs, row, |texels| average_srgb(tables, texels)))
        }
        TextureEncoding::Normal => halve_with(above, average_normals),
    }
}

/// Minimum number of texels that are averaged on one thread.
const MIN_TEXELS: usize = 1 << 14;

/// Two texels that are beside each other: R, G, B, A bytes.
type Pair = [[u8; 4]; 2];

/// Halves the width and the height of a mip level. `average` writes the mean of each pair of the upper row and the pair below it
/// to a row of the result, which may be shorter than the others.
fn halve_with(above: &Level<'_>, average: impl Fn([&[Pair]; 2], &mut [[u8; 4]]) + Sync) -> Level<'static> {
    let (width, height) = ((above.width / 2).max(1), (above.height / 2).max(1));
    let mut pixels = vec![0_u8; width as usize * height as usize * 4];
    let texels = above.pixels.as_chunks::<4>().0;
    let columns = above.width as usize;
    let rows = |y: usize| y.min(above.height as usize - 1) * columns;
    let halve_row = |(y, row): (usize, &mut [[u8; 4]])| {
        let [upper, lower] = [2 * y, 2 * y + 1].map(|y| &texels[rows(y)..rows(y) + columns]);
        // A single column is averaged with itself. If there is an odd number of columns, the last column is ignored.
        if columns == 1 {
            average([&[[upper[0]; 2]], &[[lower[0]; 2]]], row);
        } else {
            average([upper.as_chunks().0, lower.as_chunks().0], row);
        }
    };
    let halved = pixels.as_chunks_mut::<4>().0.par_chunks_exact_mut(width as usize);
    halved.with_min_len(MIN_TEXELS.div_ceil(width as usize)).enumerate().for_each(halve_row);
    Level { width, height, pixels: Cow::Owned(pixels) }
}

/// Writes the mean of each four texels, which `average` computes.
#[inline]
fn average_each([upper, lower]: [&[Pair]; 2], row: &mut [[u8; 4]], average: impl Fn([[u8; 4]; 4]) -> [u8; 4]) {
    for (texel, ([a, b], [c, d])) in row.iter_mut().zip(upper.iter().zip(lower)) {
        *texel = average([*a, *b, *c, *d]);
    }
}

/// Returns the nearest integer of a number from 0 to 255, like `f32::round`. Unlike conversions to an integer, which check the
/// range, the compiler does this for a vector.
#[inline]
fn rounded(x: f32) -> u32 {
    /// Numbers from this one on have no fraction, and their lowest bits are those of the integer.
    const WHOLE: f32 = 8_388_608.0;
    let even = (x + WHOLE) - WHOLE;
    let whole = if x - even >= 0.5 { even + 1.0 } else { even };
    (whole + WHOLE).to_bits() & 0xFF
}

/// Number of normals that are averaged at once.
const NORMALS: usize = 64;

/// Writes the direction of the mean of each four normals.
fn average_normals([upper, lower]: [&[Pair]; 2], row: &mut [[u8; 4]]) {
    let blocks = upper.chunks(NORMALS).zip(lower.chunks(NORMALS));
    for (row, (upper, lower)) in row.chunks_mut(NORMALS).zip(blocks) {
        // The sums of R and of B, and of G and of A, in the halves of a number. The compiler uses vectors for each of the loops.
        let (mut red_blue, mut green_alpha) = ([0_u32; NORMALS], [0_u32; NORMALS]);
        for ((red_blue, green_alpha), (upper, lower)) in
            red_blue.iter_mut().zip(&mut green_alpha).zip(upper.iter().zip(lower))
        {
            const BYTES: u32 = 0xFF_00FF;
            let [a, b, c, d] = [upper[0], upper[1], lower[0], lower[1]].map(u32::from_le_bytes);
            *red_blue = (a & BYTES) + (b & BYTES) + (c & BYTES) + (d & BYTES);
            *green_alpha = (a >> 8 & BYTES) + (b >> 8 & BYTES) + (c >> 8 & BYTES) + (d >> 8 & BYTES);
        }
        let mut normals = [0_u32; NORMALS];
        for (normal, (red_blue, green_alpha)) in normals.iter_mut().zip(red_blue.iter().zip(&green_alpha)) {
            const LOW: u32 = 0xFFFF;
            // A sum of 4 × 127.5 stands for 0.
            let centered = |sum: u32| (sum.cast_signed() - 510) as f32;
            let [x, y, z] = [centered(red_blue & LOW), centered(green_alpha & LOW), centered(red_blue >> 16)];
            let length = (x * x + y * y + z * z).sqrt();
            // Without a direction, the normal is (0, 0, 1).
            let [x, y, z, length] = if length > 0.0 { [x, y, z, length] } else { [0.0, 0.0, 1.0, 1.0] };
            let [x, y, z] = [x, y, z].map(|c| rounded(c * length.recip() * 127.5 + 127.5));
            *normal = x | y << 8 | z << 16 | (((green_alpha >> 16) + 2) / 4) << 24;
        }
        for (texel, normal) in row.iter_mut().zip(&normals) {
            *texel = normal.to_le_bytes();
        }
    }
}

// The functions below list the channels, because `array::map` is not inlined everywhere. They are inlined into the loop
// over the texels, which is compiled in another unit.

#[inline]
fn average_linear([a, b, c, d]: [[u8; 4]; 4]) -> [u8; 4] {
    let channel = |i: usize| mean([a[i], b[i], c[i], d[i]]);
    [channel(0), channel(1), channel(2), channel(3)]
}

#[inline]
fn mean([a, b, c, d]: [u8; 4]) -> u8 {
    ((u16::from(a) + u16::from(b) + u16::from(c) + u16::from(d) + 2) / 4) as u8
}

/// Averages sRGB colours as linear light. Lookup tables convert in both directions.
#[inline]
fn average_srgb(tables: &SrgbTables, [a, b, c, d]: [[u8; 4]; 4]) -> [u8; 4] {
    let linear = |encoded: u8| u32::from(tables.decode[usize::from(encoded)]);
    let channel = |i: usize| {
        let sum = linear(a[i]) + linear(b[i]) + linear(c[i]) + linear(d[i]);
        tables.encode[(sum / 4) as usize >> 4]
    };
    [channel(0), channel(1), channel(2), mean([a[3], b[3], c[3], d[3]])]
}

struct SrgbTables {
    /// The 16-bit linear value of each sRGB byte.
    decode: [u16; 256],
    /// The sRGB byte for the upper 12 bits of each 16-bit linear value.
    encode: [u8; 4096],
}

static SRGB: LazyLock<SrgbTables> = LazyLock::new(|| {
    let decode = std::array::from_fn(|i| (linear_from_srgb(i as f32 / 255.0) * 65535.0).round() as u16);
    let encode = std::array::from_fn(|i| {
        let linear = (i as f32 + 0.5) / 4096.0;
        let encoded = if linear <= 0.003_130_8 { 12.92 * linear } else { 1.055 * linear.powf(1.0 / 2.4) - 0.055 };
        (encoded * 255.0).round() as u8
    });
    SrgbTables { decode, encode }
});

/// Decodes an sRGB value to linear (IEC 61966-2-1).
pub(crate) fn linear_from_srgb(encoded: f32) -> f32 {
    if encoded <= 0.040_45 { encoded / 12.92 } else { ((encoded + 0.055) / 1.055).powf(2.4) }
}

/// The linear value of each sRGB byte.
static LINEAR: LazyLock<[f32; 256]> = LazyLock::new(|| std::array::from_fn(|i| linear_from_srgb(i as f32 / 255.0)));

/// Returns the linear value of each sRGB byte.
pub(crate) fn linear_bytes() -> &'static [f32; 256] {
    &LINEAR
}

/// Decodes an sRGB byte to linear.
pub(crate) fn linear_from_byte(encoded: u8) -> f32 {
    LINEAR[usize::from(encoded)]
}

#[cfg(test)]
mod tests {
    use plinth_model::Wrap;

    use super::*;

    #[test]
    fn levels_are_means_of_the_level_above_also_with_odd_sides() {
        for (width, height) in [(8, 4), (5, 3), (1, 6), (7, 1), (1, 1)] {
            let pixels: Vec<u8> = (0..width * height * 4).map(|i| (i * 37 % 251) as u8).collect();
            let image = Image { width, height, pixels: pixels.into(), ..Image::default() };
            let mut levels = vec![Level::of(&image)];
            levels.extend(smaller_levels(&Level::of(&image), TextureEncoding::Linear, 0));
            for pair in levels.windows(2) {
                let [above, level] = pair else { continue };
                assert_eq!((level.width, level.height), ((above.width / 2).max(1), (above.height / 2).max(1)));
                for (i, found) in level.pixels.iter().enumerate() {
                    let (texel, channel) = (i as u32 / 4, i % 4);
                    let [x, y] = [texel % level.width, texel / level.width];
                    let read = |dx: u32, dy: u32| {
                        let (x, y) = ((2 * x + dx).min(above.width - 1), (2 * y + dy).min(above.height - 1));
                        u32::from(above.pixels[(y * above.width + x) as usize * 4 + channel])
                    };
                    let sum = read(0, 0) + read(1, 0) + read(0, 1) + read(1, 1);
                    assert_eq!(u32::from(*found), (sum + 2) / 4, "{width}×{height}");
                }
            }
            assert_eq!(levels.last().map(|level| level.pixels.len()), Some(4));
        }
    }

    #[test]
    fn levels_are_the_same_if_finer_ones_are_left_out() {
        let pixels: Vec<u8> = (0..16 * 8 * 4_u32).map(|i| (i * 37 % 251) as u8).collect();
        let image = Image { width: 16, height: 8, pixels: pixels.into(), ..Image::default() };
        for encoding in [TextureEncoding::Linear, TextureEncoding::Srgb, TextureEncoding::Normal] {
            let levels = |first: u32| {
                let levels = smaller_levels(&Level::of(&image), encoding, first).into_iter();
                levels.map(|level| (level.width, level.height, level.pixels.into_owned())).collect::<Vec<_>>()
            };
            let all = levels(0);
            assert_eq!(all.len(), 4);
            for first in 1..=4 {
                assert!(levels(first) == all[first as usize - 1..], "{encoding:?} from level {first}");
            }
        }
    }

    #[test]
    fn parts_have_the_pixels_of_their_places() {
        let [width, height] = [200_u32, 130];
        let pixels: Vec<u8> = (0..width * height).flat_map(u32::to_le_bytes).collect();
        let image = Image { width, height, pixels: pixels.into(), ..Image::default() };
        let mut tiles = ReadTiles::new([width, height]);
        for corner in [[20.0, 20.0], [150.0, 90.0]] {
            tiles.mark([glam::Vec2::from(corner); 3], [Wrap::Clamp; 2]);
        }
        let Parts { places, pixels } = cut(&Level::of(&image), &tiles);
        let expected: Vec<u8> = places
            .iter()
            .flat_map(|place| (place.y..place.y + place.height).map(move |y| (place, y)))
            .flat_map(|(place, y)| (place.x..place.x + place.width).map(move |x| y * width + x))
            .flat_map(u32::to_le_bytes)
            .collect();
        assert_eq!(places.len(), 2, "{places:?}");
        assert!(pixels == expected);
    }

    /// Returns the means of normals that are given as two rows.
    fn means(upper: &[Pair], lower: &[Pair]) -> Vec<[u8; 4]> {
        let mut means = vec![[0; 4]; upper.len()];
        average_normals([upper, lower], &mut means);
        means
    }

    #[test]
    fn the_mean_of_equal_normals_is_the_same_normal() {
        for normal in [[255, 128, 128, 255], [128, 128, 255, 0], [128, 0, 127, 9], [201, 201, 201, 255]] {
            let mean = means(&[[normal; 2]], &[[normal; 2]])[0];
            assert!(mean.iter().zip(normal).all(|(a, b)| a.abs_diff(b) <= 1), "{mean:?} {normal:?}");
        }
    }

    #[test]
    fn numbers_are_rounded_to_bytes_like_the_standard_library_does() {
        for i in 0..=2040_u16 {
            let x = f32::from(i) / 8.0;
            for x in [x.next_down().max(0.0), x, x.next_up()] {
                assert_eq!(rounded(x), x.round() as u32, "{x}");
            }
        }
    }

    #[test]
    fn the_mean_of_normals_has_their_mean_direction() {
        let mut state = 7_u32;
        let mut random = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state.to_be_bytes()
        };
        // More than are averaged at once, and opposite normals, whose mean has no direction.
        let mut upper: Vec<Pair> = (0..NORMALS + 9).map(|_| [random(), random()]).collect();
        let mut lower: Vec<Pair> = (0..NORMALS + 9).map(|_| [random(), random()]).collect();
        upper.push([[0, 127, 255, 4], [255, 128, 0, 4]]);
        lower.push([[127, 1, 128, 4], [128, 254, 127, 4]]);
        for ((mean, upper), lower) in means(&upper, &lower).iter().zip(&upper).zip(&lower) {
            let texels = [upper[0], upper[1], lower[0], lower[1]];
            let sum = |i: usize| texels.iter().map(|texel| f32::from(texel[i])).sum::<f32>();
            let direction = (glam::Vec3::new(sum(0), sum(1), sum(2)) - 510.0).normalize_or(glam::Vec3::Z);
            let [x, y, z] = (direction * 127.5 + 127.5).to_array().map(|c| c.round() as u8);
            assert_eq!(*mean, [x, y, z, ((sum(3) + 2.0) / 4.0) as u8], "{texels:?}");
        }
    }
}
