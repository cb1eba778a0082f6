//! A panorama with mip levels, which can be sampled by a direction and a solid angle.

use std::f32::consts::{FRAC_1_PI, PI};

use glam::{Vec3, Vec4};
use plinth_scene::EnvironmentMap;
use rayon::prelude::*;

/// Number of directions that are sampled at once.
pub(crate) const LANES: usize = 8;

/// Unit directions as a structure of arrays.
#[derive(Default)]
pub(crate) struct DirectionLanes {
    x: [f32; LANES],
    y: [f32; LANES],
    z: [f32; LANES],
}

impl DirectionLanes {
    #[inline(always)]
    pub(crate) fn set(&mut self, lane: usize, d: Vec3) {
        (self.x[lane], self.y[lane], self.z[lane]) = (d.x, d.y, d.z);
    }

    #[inline(always)]
    pub(crate) fn at(&self, lane: usize) -> Vec3 {
        Vec3::new(self.x[lane], self.y[lane], self.z[lane])
    }
}

/// A panorama and its mip levels. Each level has half the size of the previous one.
pub(crate) struct Pyramid {
    levels: Vec<Level>,
}

/// A mip level. Its pixels are stored with a margin, so that the four pixels around a position are always two pairs of
/// neighbours in two consecutive rows.
struct Level {
    width: u32,
    height: u32,
    /// Number of pixels per row, with the margin.
    stride: u32,
    /// The rows from top to bottom, then the bottom row once more. A row begins with a copy of its last pixel and ends with a
    /// copy of its first pixel, because the left and right edges are adjacent. The fourth components are 0.
    pixels: Vec<[f32; 4]>,
}

/// Places at which a level is sampled, as a structure of arrays.
#[derive(Default)]
struct PlaceLanes {
    /// Index in `Level::pixels` of the nearest pixel to the upper left.
    pixel: [i32; LANES],
    /// Distances of the place to the right of this pixel and below it, as fractions of a pixel.
    right: [f32; LANES],
    below: [f32; LANES],
}

impl PlaceLanes {
    #[inline(always)]
    fn set(&mut self, lane: usize, (pixel, right, below): (i32, f32, f32)) {
        (self.pixel[lane], self.right[lane], self.below[lane]) = (pixel, right, below);
    }
}

impl Pyramid {
    /// Computes the mip levels, the smallest of which has only a few texels. Rows are weighted by their solid angle.
    pub(crate) fn new(map: &EnvironmentMap) -> Self {
        let width = map.width as usize;
        let base = Level::new(map.width, map.height, |y, row| {
            for (pixel, [r, g, b]) in row.iter_mut().zip(&map.pixels[y * width..]) {
                *pixel = [*r, *g, *b, 0.0];
            }
        });
        let mut levels = vec![base];
        while let Some(last) = levels.last().filter(|last| last.width > 8 && last.height > 4) {
            let next = last.halved();
            levels.push(next);
        }
        Self { levels }
    }

    /// Returns the mip level whose texels have this solid angle in steradians. The level can be fractional.
    pub(crate) fn level_of(&self, solid_angle: f32) -> f32 {
        let base = &self.levels[0];
        let texel = 4.0 * PI / (base.width as usize * base.height as usize) as f32;
        (0.5 * (solid_angle / texel).max(1.0).log2()).min((self.levels.len() - 1) as f32)
    }

    /// Returns the radiance around each of some directions at a fractional mip level. `direction` returns the direction of a
    /// lane. The fourth components are 0.
    #[inline(always)]
    pub(crate) fn sample(&self, direction: impl Fn(usize) -> Vec3, level: f32) -> [Vec4; LANES] {
        let last = self.levels.len() - 1;
        let low = (level as usize).min(last);
        let (near, far) = (&self.levels[low], &self.levels[(low + 1).min(last)]);
        let (mut near_places, mut far_places) = (PlaceLanes::default(), PlaceLanes::default());
        // This is one long loop, because the compiler does not turn all short loops over eight numbers into vector
        // instructions.
        for lane in 0..LANES {
            let Vec3 { x, y, z } = direction(lane);
            let across = angle(x, z) * (FRAC_1_PI / 2.0) + 0.5;
            let down = arc_cosine(y) * FRAC_1_PI;
            near_places.set(lane, near.place(across, down));
            far_places.set(lane, far.place(across, down));
        }
        let mut out = [Vec4::ZERO; LANES];
        for (lane, out) in out.iter_mut().enumerate() {
            let (near, far) = (near.bilinear(&near_places, lane), far.bilinear(&far_places, lane));
            *out = mix(near, far, level - low as f32);
        }
        out
    }
}

impl Level {
    /// Creates a level. `fill_row` gets the number of a row, and writes the pixels of the row.
    fn new(width: u32, height: u32, fill_row: impl Fn(usize, &mut [[f32; 4]]) + Sync) -> Self {
        let (stride, columns, last_row) = (width + 2, width as usize, height as usize - 1);
        let mut pixels = vec![[0.0; 4]; stride as usize * (height as usize + 1)];
        pixels.par_chunks_mut(stride as usize).enumerate().for_each(|(y, row)| {
            fill_row(y.min(last_row), &mut row[1..=columns]);
            (row[0], row[columns + 1]) = (row[columns], row[1]);
        });
        Self { width, height, stride, pixels }
    }

    /// Returns the next smaller level.
    fn halved(&self) -> Self {
        let weight = |row: usize| ((row as f32 + 0.5) / self.height as f32 * PI).sin();
        let row_of = |y: usize| &self.pixels[y * self.stride as usize + 1..][..self.width as usize];
        let sum = |[a, b]: &[[f32; 4]; 2]| Vec4::from_slice(a) + Vec4::from_slice(b);
        Self::new(self.width / 2, self.height / 2, |y, row| {
            let (y0, y1) = (2 * y, 2 * y + 1);
            let (w0, w1) = (weight(y0), weight(y1));
            let pairs = row_of(y0).as_chunks::<2>().0.iter().zip(row_of(y1).as_chunks::<2>().0);
            for (pixel, (above, below)) in row.iter_mut().zip(pairs) {
                *pixel = ((sum(above) * w0 + sum(below) * w1) / (2.0 * (w0 + w1))).to_array();
            }
        })
    }

    /// Returns the place of a position in 0..1, in the order of the fields of [`PlaceLanes`].
    #[inline(always)]
    fn place(&self, across: f32, down: f32) -> (i32, f32, f32) {
        // The centre of column 0 is at 0.5 texels. In `pixels`, it is column 1. No coordinate is negative, so the conversion
        // to an integer rounds down.
        let x = across * self.width as f32 + 0.5;
        let y = (down * self.height as f32 - 0.5).max(0.0).min(self.height as f32 - 1.0);
        let (column, row) = (x as i32, y as i32);
        let pixel = row.wrapping_mul(self.stride.cast_signed()).wrapping_add(column);
        (pixel, x - column as f32, y - row as f32)
    }

    /// Returns the bilinearly interpolated value at one of some places.
    #[inline(always)]
    fn bilinear(&self, places: &PlaceLanes, lane: usize) -> Vec4 {
        let interpolated = |first: usize| {
            let pair = &self.pixels[first..first + 2];
            mix(Vec4::from_slice(&pair[0]), Vec4::from_slice(&pair[1]), places.right[lane])
        };
        let pixel = places.pixel[lane] as usize;
        mix(interpolated(pixel), interpolated(pixel + self.stride as usize), places.below[lane])
    }
}

/// Returns a vector between `a` and `b`. `fraction` is 0 for `a` and 1 for `b`.
#[inline(always)]
fn mix(a: Vec4, b: Vec4, fraction: f32) -> Vec4 {
    a + (b - a) * fraction
}

/// Returns the angle of a point around the origin, in −π to π. The error is less than a hundredth of a texel
/// (Abramowitz and Stegun 1964, equation 4.4.49). `f32::atan2` would take as long as reading the texels.
#[inline(always)]
fn angle(x: f32, y: f32) -> f32 {
    let (small, large) = (x.abs().min(y.abs()), x.abs().max(y.abs()));
    let t = small / large.max(f32::MIN_POSITIVE);
    let t2 = t * t;
    let terms = [
        -0.333_331_45,
        0.199_935_5,
        -0.142_089,
        0.106_562_64,
        -0.075_289_64,
        0.042_909_613,
        -0.016_165_737,
        0.002_866_225_7,
    ];
    let sum = terms.into_iter().rev().fold(0.0, |sum, term| sum * t2 + term);
    let octant = t + t * t2 * sum;
    let quadrant = if y.abs() > x.abs() { PI / 2.0 - octant } else { octant };
    let half = if x < 0.0 { PI - quadrant } else { quadrant };
    half.copysign(y)
}

/// Returns the angle whose cosine is `x` (Abramowitz and Stegun 1964, equation 4.4.46). The error is as small as that
/// of `angle`.
#[inline(always)]
fn arc_cosine(x: f32) -> f32 {
    let a = x.abs().min(1.0);
    let terms = [
        PI / 2.0,
        -0.214_598_8,
        0.088_978_99,
        -0.050_174_3,
        0.030_891_88,
        -0.017_088_126,
        0.006_670_09,
        -0.001_262_491_1,
    ];
    let positive = (1.0 - a).sqrt() * terms.into_iter().rev().fold(0.0, |sum, term| sum * a + term);
    if x < 0.0 { PI - positive } else { positive }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn angles_are_those_of_the_standard_library() {
        for i in 0..=4000 {
            let exact = (i as f32 / 2000.0 - 1.0) * PI;
            let (y, x) = exact.sin_cos();
            assert!((angle(x, y) - y.atan2(x)).abs() < 2e-6, "{exact}");
            let cosine = i as f32 / 2000.0 - 1.0;
            assert!((arc_cosine(cosine) - cosine.acos()).abs() < 2e-6, "{cosine}");
        }
        assert!(angle(0.0, 0.0).abs() < 1e-6 && arc_cosine(1.000_001) < 1e-6 && arc_cosine(-1.000_001) > PI - 1e-5);
    }

    #[test]
    fn samples_are_interpolated_between_the_nearest_pixels() {
        let (width, height) = (16, 8);
        let pixels = (0..width * height).map(|i| [i as f32, (i % width) as f32, (i * 7 % 13) as f32]).collect();
        let map = EnvironmentMap { width, height, pixels };
        let pyramid = Pyramid::new(&map);
        let sample = |direction: Vec3, level: f32| pyramid.sample(|_lane| direction, level)[LANES - 1].truncate();
        let pixel = |x: u32, y: u32| Vec3::from(map.pixels[(y * width + x) as usize]);
        for (x, y) in (0..height).flat_map(|y| (0..width).map(move |x| (x, y))) {
            let found = sample(map.direction(x, y), 0.0);
            assert!((found - pixel(x, y)).length() < 1e-2, "{x} {y}: {found}");
        }
        for y in 0..height {
            // The left and the right edge show the same direction.
            let theta = (y as f32 + 0.5) / height as f32 * PI;
            let found = sample(Vec3::new(-theta.sin(), theta.cos(), 0.0), 0.0);
            assert!((found - (pixel(0, y) + pixel(width - 1, y)) / 2.0).length() < 1e-2, "{y}: {found}");
        }
        let poles = [(Vec3::Y, 0), (Vec3::NEG_Y, height - 1)];
        for (pole, y) in poles {
            let row: Vec<f32> = (0..width).map(|x| pixel(x, y).x).collect();
            let found = sample(pole, 0.0).x;
            assert!((row[0]..=row[row.len() - 1]).contains(&found), "{found}");
        }
        // In the next level, each pixel is the weighted mean of four.
        let weight = |y: u32| ((y as f32 + 0.5) / height as f32 * PI).sin();
        let row_mean = |y: u32| (pixel(6, y) + pixel(7, y)) / 2.0;
        let expected = (row_mean(4) * weight(4) + row_mean(5) * weight(5)) / (weight(4) + weight(5));
        let halved = EnvironmentMap { width: width / 2, height: height / 2, pixels: Vec::new() };
        assert!((sample(halved.direction(3, 2), 1.0) - expected).length() < 1e-2);
    }
}
