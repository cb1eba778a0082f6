//! Generates the directions of rays. Half of the directions are distributed by their cosine to the normal. These
//! directions find occluders in front of dim parts of the sky. The other half is distributed by the light of the
//! environment, and finds small bright lamps. Both halves are combined by multiple importance sampling with the balance
//! heuristic (Veach and Guibas 1995, "Optimally Combining Sampling Techniques").

use std::f32::consts::PI;

use glam::{Vec2, Vec3};
use rayon::prelude::*;

use crate::octahedron::{self, MapPoint};
use crate::sky::Sky;

/// Azimuth between one direction and the next: the golden angle, in radians.
const GOLDEN_ANGLE: f32 = 2.399_963_2;
/// Number of cells along each side of the octahedral map that stores the distribution of light.
const CELLS_PER_SIDE: usize = 32;
/// Number of normals along each side of the octahedral map of normals. Each normal has its own distribution of light.
const NORMALS_PER_SIDE: usize = 16;
/// Value that is added to the cosine between a normal and the direction of a cell. The cosine is computed at texel
/// centres, and may be larger elsewhere in the texel.
const COSINE_MARGIN: f32 = 0.1;
/// Increments of a two-dimensional low-discrepancy sequence (Roberts 2018, "The Unreasonable Effectiveness of
/// Quasirandom Sequences").
const R2_STEPS: Vec2 = Vec2::new(0.754_877_7, 0.569_840_3);

/// Number of entries of the guide table of a distribution.
const GUIDE_ENTRIES: usize = 256;

/// The distribution of the environment's light over directions, separately for each orientation of a surface.
pub(crate) struct LightDistribution {
    by_normal: Vec<CellDistribution>,
}

/// A distribution over the cells of the octahedral map.
struct CellDistribution {
    /// For each cell, the probability of this cell and all cells before it.
    cumulative: [f32; CELLS_PER_SIDE * CELLS_PER_SIDE],
    /// Entry i is the first cell whose cumulative probability is above i / `GUIDE_ENTRIES`. The search for a cell
    /// starts at this entry (Chen and Asau 1974, "On Generating Random Variates from an Empirical Distribution").
    guide: [u16; GUIDE_ENTRIES],
}

impl CellDistribution {
    fn new(cumulative: &[f32; CELLS_PER_SIDE * CELLS_PER_SIDE]) -> Self {
        let first_above = |i: usize| cumulative.partition_point(|sum| *sum <= i as f32 / GUIDE_ENTRIES as f32) as u16;
        Self { cumulative: *cumulative, guide: std::array::from_fn(first_above) }
    }

    /// Returns whether all probabilities are zero, because no light arrives from any cell.
    fn is_dark(&self) -> bool {
        self.cumulative[self.cumulative.len() - 1] <= 0.0
    }

    /// Returns the first cell whose cumulative probability is above `target`, which is in 0..=1. Returns the last cell
    /// if no sum is above `target`.
    fn cell_at(&self, target: f32) -> usize {
        let entry = (target * GUIDE_ENTRIES as f32) as usize;
        let mut cell = usize::from(self.guide[entry.min(GUIDE_ENTRIES - 1)]);
        while self.cumulative.get(cell).is_some_and(|sum| *sum <= target) {
            cell += 1;
        }
        cell.min(self.cumulative.len() - 1)
    }

    fn probability(&self, cell: usize) -> f32 {
        self.cumulative[cell] - if cell == 0 { 0.0 } else { self.cumulative[cell - 1] }
    }
}

impl LightDistribution {
    pub(crate) fn new(sky: &Sky) -> Self {
        let coordinate = |i: usize, side: usize| (i as f32 + 0.5) / side as f32;
        let cells: Vec<(Vec3, f32)> = (0..CELLS_PER_SIDE * CELLS_PER_SIDE)
            .map(|i| {
                let (x, y) = (i % CELLS_PER_SIDE, i / CELLS_PER_SIDE);
                let (u, v) = (coordinate(x, CELLS_PER_SIDE), coordinate(y, CELLS_PER_SIDE));
                let sub_directions = [(-0.25, -0.25), (0.25, -0.25), (-0.25, 0.25), (0.25, 0.25)].map(|(du, dv)| {
                    octahedron::direction(u + du / CELLS_PER_SIDE as f32, v + dv / CELLS_PER_SIDE as f32)
                });
                let light =
                    sub_directions.into_iter().map(|d| sky.radiance(d).element_sum() / octahedron::density(d)).sum();
                (octahedron::direction(u, v), light)
            })
            .collect();
        let by_normal = (0..NORMALS_PER_SIDE * NORMALS_PER_SIDE)
            .into_par_iter()
            .map(|i| {
                let normal = octahedron::direction(
                    coordinate(i % NORMALS_PER_SIDE, NORMALS_PER_SIDE),
                    coordinate(i / NORMALS_PER_SIDE, NORMALS_PER_SIDE),
                );
                let mut sum = 0.0;
                let mut sums = [0.0; CELLS_PER_SIDE * CELLS_PER_SIDE];
                for (slot, (direction, light)) in sums.iter_mut().zip(&cells) {
                    sum += light * (normal.dot(*direction) + COSINE_MARGIN).max(0.0);
                    *slot = sum;
                }
                let scale = if sum > 0.0 { 1.0 / sum } else { 0.0 };
                CellDistribution::new(&sums.map(|s| s * scale))
            })
            .collect();
        Self { by_normal }
    }

    fn for_normal(&self, normal: Vec3) -> &CellDistribution {
        &self.by_normal[octahedron::texel(normal, NORMALS_PER_SIDE)]
    }
}

/// The direction of a ray, with its weight.
pub(crate) struct RaySample {
    /// Unit vector.
    pub(crate) direction: Vec3,
    /// The point of octahedral maps to which the direction is mapped.
    pub(crate) point: MapPoint,
    /// The sum of radiance × weight over all directions is the irradiance divided by π.
    pub(crate) weight: f32,
}

/// A set of ray directions over the hemisphere above a surface.
pub(crate) struct RayDirections {
    /// Cosine and sine of the azimuth of each direction that is distributed by its cosine to the normal.
    azimuths: Vec<Vec2>,
    light_count: usize,
    /// Whether all points with the same normal use the same directions.
    fixed_per_normal: bool,
}

impl RayDirections {
    /// Creates directions that differ from point to point. Therefore sampling errors are noise, which averaging over
    /// neighbouring points removes.
    pub(crate) fn jittered(count: usize) -> Self {
        let light_count = count / 2;
        let azimuths = (0..count - light_count).map(|i| Vec2::from_angle(i as f32 * GOLDEN_ANGLE)).collect();
        Self { azimuths, light_count, fixed_per_normal: false }
    }

    /// Creates directions that are the same for all points with the same normal. Points on a flat surface then have the
    /// same sampling error, so differences between them are real.
    pub(crate) fn fixed_per_normal(count: usize) -> Self {
        Self { fixed_per_normal: true, ..Self::jittered(count) }
    }

    /// Returns the number of directions.
    pub(crate) fn len(&self) -> usize {
        self.azimuths.len() + self.light_count
    }

    /// Returns directions over the hemisphere of a surface point, with their weights.
    ///
    /// The first half is Vogel's spiral (1979, "A better way to construct the sunflower head"), projected onto the
    /// hemisphere (Malley's method). The second half samples the distribution of light in equal steps of the cumulative
    /// probability.
    pub(crate) fn over_hemisphere<'a>(
        &'a self,
        light: &'a LightDistribution,
        position: Vec3,
        normal: Vec3,
    ) -> impl Iterator<Item = RaySample> + 'a {
        let (azimuth_shift, radial_shift) = if self.fixed_per_normal { (0.0, 0.5) } else { hash_position(position) };
        let cells = light.for_normal(normal);
        let is_dark = cells.is_dark();
        let (tangent, bitangent) = normal.any_orthonormal_pair();
        let rotation = Vec2::from_angle(azimuth_shift * std::f32::consts::TAU);
        let by_cosine = self.azimuths.iter().enumerate().map(move |(i, azimuth)| {
            let azimuth = rotation.rotate(*azimuth);
            let area = (i as f32 + radial_shift) / self.azimuths.len() as f32;
            let (r, z) = (area.sqrt(), (1.0 - area).max(0.0).sqrt());
            tangent * (r * azimuth.x) + bitangent * (r * azimuth.y) + normal * z
        });
        let by_light = (0..if is_dark { 0 } else { self.light_count }).map(move |i| {
            let target = (i as f32 + azimuth_shift) / self.light_count as f32;
            let cell = cells.cell_at(target);
            let in_cell = (Vec2::new(azimuth_shift, radial_shift) + R2_STEPS * (i + 1) as f32).fract();
            let (x, y) = ((cell % CELLS_PER_SIDE) as f32 + in_cell.x, (cell / CELLS_PER_SIDE) as f32 + in_cell.y);
            octahedron::direction(x / CELLS_PER_SIDE as f32, y / CELLS_PER_SIDE as f32)
        });
        let (n_cosine, n_light) = (self.azimuths.len() as f32, if is_dark { 0.0 } else { self.light_count as f32 });
        by_cosine.chain(by_light).filter_map(move |direction| {
            let cosine = normal.dot(direction);
            (cosine > 1e-4).then(|| {
                let point = MapPoint::of(direction);
                let probability = cells.probability(point.texel(CELLS_PER_SIDE));
                let light_density = probability * (CELLS_PER_SIDE * CELLS_PER_SIDE) as f32 * point.density();
                let density = n_cosine * cosine / PI + n_light * light_density;
                RaySample { direction, point, weight: cosine / PI / density }
            })
        })
    }
}

/// Hashes a position to two numbers in 0..1. The result does not depend on the mesh.
fn hash_position(position: Vec3) -> (f32, f32) {
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

    #[test]
    fn a_guided_search_finds_the_same_cell_as_a_binary_search() {
        for lamp in [1.0, 300.0, 1e6] {
            let lights = LightDistribution::new(&sky(lamp));
            for cells in &lights.by_normal {
                for i in 0..=2000 {
                    let target = i as f32 / 2000.0;
                    let expected = cells.cumulative.partition_point(|sum| *sum <= target);
                    assert_eq!(cells.cell_at(target), expected.min(cells.cumulative.len() - 1));
                }
            }
        }
    }

    /// Returns the irradiance, computed by numerical integration over the sphere.
    fn integrated_irradiance(sky: &Sky, normal: Vec3) -> f32 {
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
    fn irradiance_of_a_uniform_sky_and_of_a_lamp_matches_the_integral() {
        for lamp in [1.0, 300.0] {
            let sky = sky(lamp);
            let lights = LightDistribution::new(&sky);
            for normal in [Vec3::Y, Vec3::X, Vec3::new(-0.6, 0.64, 0.48), Vec3::new(0.3, -0.2, 0.9)] {
                let normal = normal.normalize();
                let expected = integrated_irradiance(&sky, normal);
                let found: Vec<f32> = (0..96)
                    .map(|k| {
                        let directions = RayDirections::jittered(256);
                        let all = directions.over_hemisphere(&lights, Vec3::splat(k as f32), normal);
                        all.map(|ray| sky.radiance(ray.direction).x * ray.weight).sum::<f32>() * PI
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
        let lights = LightDistribution::new(&sky(1.0));
        let normal = Vec3::new(0.36, -0.48, 0.8);
        let directions = RayDirections::jittered(512);
        let all: Vec<RaySample> = directions.over_hemisphere(&lights, Vec3::ONE, normal).collect();
        assert!(all.iter().all(|RaySample { direction, weight, .. }| {
            (direction.length() - 1.0).abs() < 1e-4 && direction.dot(normal) > 0.0 && *weight > 0.0
        }));
        let sum: f32 = all.iter().map(|ray| ray.weight).sum();
        assert!((sum - 1.0).abs() < 0.01, "{sum}");
    }

    #[test]
    fn without_light_only_cosine_distributed_directions_remain() {
        let map = EnvironmentMap { width: 16, height: 8, pixels: vec![[0.0; 3]; 128] };
        let lights = LightDistribution::new(&Sky::new(&map));
        let directions = RayDirections::fixed_per_normal(64);
        let sum: f32 = directions.over_hemisphere(&lights, Vec3::ZERO, Vec3::Y).map(|ray| ray.weight).sum();
        assert!((sum - 1.0).abs() < 1e-3, "{sum}");
    }
}
