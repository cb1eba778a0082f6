//! A panorama with mip levels, which can be sampled by a direction and a solid angle.

use std::f32::consts::{PI, TAU};

use glam::{Vec3, Vec4};
use plinth_scene::EnvironmentMap;
use rayon::prelude::*;

/// Number of directions that are sampled at once.
pub(crate) const LANES: usize = 8;

/// Unit directions as a structure of arrays.
#[derive(Default)]
pub(crate) struct DirectionLanes {
    pub(crate) x: [f32; LANES],
    pub(crate) y: [f32; LANES],
    pub(crate) z: [f32; LANES],
}

impl DirectionLanes {
    pub(crate) fn set(&mut self, lane: usize, d: Vec3) {
        (self.x[lane], self.y[lane], self.z[lane]) = (d.x, d.y, d.z);
    }
}

/// A panorama and its mip levels. Each level has half the size of the previous one.
pub(crate) struct Pyramid {
    levels: Vec<Level>,
}

struct Level {
    width: usize,
    height: usize,
    /// The fourth component is 0.
    pixels: Vec<Vec4>,
}

impl Pyramid {
    /// Computes the mip levels, the smallest of which has only a few texels. Rows are weighted by their solid angle.
    pub(crate) fn new(map: &EnvironmentMap) -> Self {
        let mut levels = vec![Level {
            width: map.width as usize,
            height: map.height as usize,
            pixels: map.pixels.iter().map(|p| Vec3::from(*p).extend(0.0)).collect(),
        }];
        while let Some(last) = levels.last().filter(|last| last.width > 8 && last.height > 4) {
            let next = halve(last);
            levels.push(next);
        }
        Self { levels }
    }

    /// Returns the mip level whose texels have this solid angle in steradians. The level can be fractional.
    pub(crate) fn level_of(&self, solid_angle: f32) -> f32 {
        let base = &self.levels[0];
        let texel = 4.0 * PI / (base.width * base.height) as f32;
        (0.5 * (solid_angle / texel).max(1.0).log2()).min((self.levels.len() - 1) as f32)
    }

    /// Returns the radiance around each of some directions at a fractional mip level. The fourth components are 0.
    pub(crate) fn sample(&self, directions: &DirectionLanes, level: f32) -> [Vec4; LANES] {
        let (mut across, mut down) = ([0.0; LANES], [0.0; LANES]);
        for lane in 0..LANES {
            across[lane] = angle(directions.x[lane], directions.z[lane]) / TAU + 0.5;
            down[lane] = arc_cosine(directions.y[lane]) / PI;
        }
        let low = (level as usize).min(self.levels.len() - 1);
        let mut out = self.levels[low].bilinear(&across, &down);
        if let Some(next) = self.levels.get(low + 1) {
            for (near, far) in out.iter_mut().zip(next.bilinear(&across, &down)) {
                *near = near.lerp(far, level - low as f32);
            }
        }
        out
    }
}

impl Level {
    /// Returns the bilinearly interpolated values at positions in 0..1. The left and right edges are adjacent.
    fn bilinear(&self, across: &[f32; LANES], down: &[f32; LANES]) -> [Vec4; LANES] {
        let (width, height) = (self.width as f32, self.height as f32);
        let (mut x0, mut y0) = ([0_i32; LANES], [0_i32; LANES]);
        let (mut fx, mut fy) = ([0.0; LANES], [0.0; LANES]);
        for lane in 0..LANES {
            // The offset of half a texel keeps the coordinate positive, so that the conversion to an integer rounds down.
            let x = across[lane] * width + 0.5;
            let y = (down[lane] * height - 0.5).clamp(0.0, height - 1.0);
            (x0[lane], y0[lane]) = (x as i32, y as i32);
            (fx[lane], fy[lane]) = (x - x0[lane] as f32, y - y0[lane] as f32);
        }
        let column = |i: usize| if i >= self.width { i - self.width } else { i };
        std::array::from_fn(|lane| {
            let (x0, y0) = (x0[lane] as usize, y0[lane] as usize);
            let (left, right) = (column(x0 + self.width - 1), column(x0));
            let row = |y: usize| {
                let row = &self.pixels[y * self.width..][..self.width];
                row[left].lerp(row[right], fx[lane])
            };
            row(y0).lerp(row((y0 + 1).min(self.height - 1)), fy[lane])
        })
    }
}

/// Returns the angle of a point around the origin, in −π to π. The error is less than a hundredth of a texel
/// (Abramowitz and Stegun 1964, equation 4.4.49). `f32::atan2` would take as long as reading the texels.
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

fn halve(above: &Level) -> Level {
    let (width, height) = (above.width / 2, above.height / 2);
    let weight = |row: usize| ((row as f32 + 0.5) / above.height as f32 * PI).sin();
    let pixels = (0..height)
        .into_par_iter()
        .flat_map_iter(|y| {
            let (y0, y1) = (2 * y, 2 * y + 1);
            let (w0, w1) = (weight(y0), weight(y1));
            (0..width).map(move |x| {
                let pair =
                    |row: usize| above.pixels[row * above.width + 2 * x] + above.pixels[row * above.width + 2 * x + 1];
                (pair(y0) * w0 + pair(y1) * w1) / (2.0 * (w0 + w1))
            })
        })
        .collect();
    Level { width, height, pixels }
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
}
