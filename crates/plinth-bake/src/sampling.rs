//! Directions in which rays are cast: half of them by the cosine, half by the environment's light, weighed together
//! (Veach and Guibas 1995, "Optimally Combining Sampling Techniques", balance heuristic). A small bright lamp is found
//! by the second half, whatever blocks the dim rest of the sky by the first.

use std::f32::consts::PI;

use glam::{Vec2, Vec3};

use crate::octahedron;
use crate::sky::Sky;

/// Turn from one direction to the next: the golden angle, in radians.
const GOLDEN_ANGLE: f32 = 2.399_963_2;
/// Cells along a side of the octahedral map in which the environment's light is counted.
const CELLS: usize = 32;
/// Steps along a side of the octahedral map of normals: each has a distribution of its own.
const NORMALS: usize = 16;
/// Share of light that is added to the cosine of a cell, because normals and cells are taken at their middles.
const MARGIN: f32 = 0.1;
/// Steps of a sequence that fills a square evenly (Roberts 2018, "The Unreasonable Effectiveness of Quasirandom
/// Sequences").
const SQUARE_STEPS: Vec2 = Vec2::new(0.754_877_7, 0.569_840_3);

/// How light is distributed over directions, for surfaces of each orientation.
pub(crate) struct Distribution {
    /// For each normal: sums of the shares of all cells up to and including each.
    sums: Vec<[f32; CELLS * CELLS]>,
}

impl Distribution {
    pub(crate) fn new(sky: &Sky) -> Self {
        let at = |i: usize, side: usize| (i as f32 + 0.5) / side as f32;
        let cells: Vec<(Vec3, f32)> = (0..CELLS * CELLS)
            .map(|i| {
                let (x, y) = (i % CELLS, i / CELLS);
                let (u, v) = (at(x, CELLS), at(y, CELLS));
                let inside = [(-0.25, -0.25), (0.25, -0.25), (-0.25, 0.25), (0.25, 0.25)]
                    .map(|(du, dv)| octahedron::direction(u + du / CELLS as f32, v + dv / CELLS as f32));
                let light = inside.into_iter().map(|d| sky.radiance(d).element_sum() / octahedron::density(d)).sum();
                (octahedron::direction(u, v), light)
            })
            .collect();
        let sums = (0..NORMALS * NORMALS)
            .map(|i| {
                let normal = octahedron::direction(at(i % NORMALS, NORMALS), at(i / NORMALS, NORMALS));
                let mut sum = 0.0;
                let mut sums = [0.0; CELLS * CELLS];
                for (slot, (direction, light)) in sums.iter_mut().zip(&cells) {
                    sum += light * (normal.dot(*direction) + MARGIN).max(0.0);
                    *slot = sum;
                }
                let scale = if sum > 0.0 { 1.0 / sum } else { 0.0 };
                sums.map(|s| s * scale)
            })
            .collect();
        Self { sums }
    }

    fn of(&self, normal: Vec3) -> &[f32; CELLS * CELLS] {
        &self.sums[octahedron::texel(normal, NORMALS)]
    }
}

/// Share of a cell.
fn share(sums: &[f32], cell: usize) -> f32 {
    sums[cell] - if cell == 0 { 0.0 } else { sums[cell - 1] }
}

/// A number of directions over a surface.
pub(crate) struct Directions {
    /// Cosine and sine of the azimuths of the first half.
    azimuths: Vec<Vec2>,
    by_light: usize,
    /// Whether places with the same normal cast the same rays.
    alike: bool,
}

impl Directions {
    /// Directions that differ from place to place: what is wrong with them is noise, which averages remove.
    pub(crate) fn scattered(count: usize) -> Self {
        let by_light = count / 2;
        let azimuths = (0..count - by_light).map(|i| Vec2::from_angle(i as f32 * GOLDEN_ANGLE)).collect();
        Self { azimuths, by_light, alike: false }
    }

    /// Directions that are the same for equal normals: what is wrong with them is the same too, and differences between
    /// places of a flat surface are real.
    pub(crate) fn alike(count: usize) -> Self {
        Self { alike: true, ..Self::scattered(count) }
    }

    /// Number of directions.
    pub(crate) fn len(&self) -> usize {
        self.azimuths.len() + self.by_light
    }

    /// Unit directions above a place, with weights: the sum of radiances times weights is the irradiance divided by π.
    ///
    /// The first half lies on Vogel's spiral (1979, "A better way to construct the sunflower head"), raised to the
    /// hemisphere (Malley's method); the second half follows the light in equal steps.
    pub(crate) fn around(&self, lights: &Distribution, position: Vec3, normal: Vec3) -> Vec<(Vec3, f32)> {
        let (turn, outward) = if self.alike { (0.0, 0.5) } else { shifts(position) };
        let sums = lights.of(normal);
        let dark = sums[sums.len() - 1] <= 0.0;
        let (tangent, bitangent) = normal.any_orthonormal_pair();
        let turned = Vec2::from_angle(turn * std::f32::consts::TAU);
        let by_cosine = self.azimuths.iter().enumerate().map(|(i, azimuth)| {
            let around = turned.rotate(*azimuth);
            let area = (i as f32 + outward) / self.azimuths.len() as f32;
            let (r, z) = (area.sqrt(), (1.0 - area).max(0.0).sqrt());
            tangent * (r * around.x) + bitangent * (r * around.y) + normal * z
        });
        let by_light = (0..if dark { 0 } else { self.by_light }).map(|i| {
            let target = (i as f32 + turn) / self.by_light as f32;
            let cell = sums.partition_point(|s| *s <= target).min(CELLS * CELLS - 1);
            let inside = (Vec2::new(turn, outward) + SQUARE_STEPS * (i + 1) as f32).fract();
            let (x, y) = ((cell % CELLS) as f32 + inside.x, (cell / CELLS) as f32 + inside.y);
            octahedron::direction(x / CELLS as f32, y / CELLS as f32)
        });
        let (n_cosine, n_light) = (self.azimuths.len() as f32, if dark { 0.0 } else { self.by_light as f32 });
        by_cosine
            .chain(by_light)
            .filter_map(|direction| {
                let cosine = normal.dot(direction);
                let cell = octahedron::texel(direction, CELLS);
                let light = share(sums, cell) * (CELLS * CELLS) as f32 * octahedron::density(direction);
                let density = n_cosine * cosine / PI + n_light * light;
                (cosine > 1e-4).then(|| (direction, cosine / PI / density))
            })
            .collect()
    }
}

/// Two numbers in 0..1 that belong to a position, whatever mesh it is part of.
fn shifts(position: Vec3) -> (f32, f32) {
    let mut state = 0x9E37_79B9_u32;
    for bits in position.to_array().map(|c| (c * 4096.0).round() as i32 as u32) {
        state = (state ^ bits).wrapping_mul(0x85EB_CA6B);
        state ^= state >> 13;
        state = state.wrapping_mul(0xC2B2_AE35);
        state ^= state >> 16;
    }
    ((state & 0xFFFF) as f32 / 65_536.0, (state >> 16) as f32 / 65_536.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plinth_scene::EnvironmentMap;

    fn sky(lamp: f32) -> Sky {
        let mut map = EnvironmentMap { width: 128, height: 64, pixels: vec![[1.0; 3]; 128 * 64] };
        for y in 10..14 {
            for x in 40..46 {
                map.pixels[y * 128 + x] = [lamp; 3];
            }
        }
        Sky::new(&map)
    }

    /// Irradiance by a fine sum over the sphere.
    fn exact(sky: &Sky, normal: Vec3) -> f32 {
        let side = 512;
        (0..side * side)
            .map(|i| {
                let d = octahedron::direction((i % side) as f32 / side as f32, (i / side) as f32 / side as f32);
                let solid_angle = 1.0 / (octahedron::density(d) * (side * side) as f32);
                sky.radiance(d).x * normal.dot(d).max(0.0) * solid_angle
            })
            .sum()
    }

    #[test]
    fn irradiance_of_an_even_sky_and_of_a_lamp_is_right() {
        for lamp in [1.0, 300.0] {
            let sky = sky(lamp);
            let lights = Distribution::new(&sky);
            for normal in [Vec3::Y, Vec3::X, Vec3::new(-0.6, 0.64, 0.48), Vec3::new(0.3, -0.2, 0.9)] {
                let normal = normal.normalize();
                let expected = exact(&sky, normal);
                let found: Vec<f32> = (0..96)
                    .map(|k| {
                        let all = Directions::scattered(256).around(&lights, Vec3::splat(k as f32), normal);
                        all.iter().map(|(d, w)| sky.radiance(*d).x * w).sum::<f32>() * PI
                    })
                    .collect();
                let mean = found.iter().sum::<f32>() / 96.0;
                assert!((mean - expected).abs() < 0.01 * expected, "lamp {lamp} {normal}: {mean} for {expected}");
                let worst = found.iter().map(|f| (f - expected).abs()).fold(0.0, f32::max);
                assert!(worst < 0.1 * expected, "lamp {lamp} {normal}: off by {worst} of {expected}");
            }
        }
    }

    #[test]
    fn directions_are_unit_and_above_the_surface_and_the_sum_of_weights_is_one() {
        let lights = Distribution::new(&sky(1.0));
        let normal = Vec3::new(0.36, -0.48, 0.8);
        let all = Directions::scattered(512).around(&lights, Vec3::ONE, normal);
        assert!(all.iter().all(|(d, w)| (d.length() - 1.0).abs() < 1e-4 && d.dot(normal) > 0.0 && *w > 0.0));
        let sum: f32 = all.iter().map(|(_, w)| w).sum();
        assert!((sum - 1.0).abs() < 0.01, "{sum}");
    }

    #[test]
    fn without_any_light_the_cosine_alone_is_left() {
        let map = EnvironmentMap { width: 16, height: 8, pixels: vec![[0.0; 3]; 128] };
        let lights = Distribution::new(&Sky::new(&map));
        let all = Directions::alike(64).around(&lights, Vec3::ZERO, Vec3::Y);
        let sum: f32 = all.iter().map(|(_, w)| w).sum();
        assert!((sum - 1.0).abs() < 1e-3, "{sum}");
    }
}
