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
/// Number of directions that are computed at once. The compiler turns loops over so many numbers into SIMD instructions.
const LANES: usize = 8;

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

/// One number for each of several directions.
type Lanes = [f32; LANES];

/// The parts of directions by cosine that are the same at all points.
struct CosineLanes {
    /// Index of each direction.
    index: Lanes,
    /// Cosine and sine of the azimuth of each direction.
    azimuth_x: Lanes,
    azimuth_y: Lanes,
}

impl CosineLanes {
    fn new(index: Lanes) -> Self {
        let azimuths = index.map(|i| Vec2::from_angle(i * GOLDEN_ANGLE));
        Self { index, azimuth_x: azimuths.map(|a| a.x), azimuth_y: azimuths.map(|a| a.y) }
    }
}

/// The parts of directions by light that are the same at all points.
struct LightLanes {
    /// Index of each direction.
    index: Lanes,
    /// Sum of the steps of the low-discrepancy sequence up to each direction.
    step_x: Lanes,
    step_y: Lanes,
}

impl LightLanes {
    fn new(index: Lanes) -> Self {
        let steps = index.map(|i| R2_STEPS * (i + 1.0));
        Self { index, step_x: steps.map(|s| s.x), step_y: steps.map(|s| s.y) }
    }
}

/// Directions as a structure of arrays. Lanes without a direction contain any value.
#[derive(Default)]
struct DirectionLanes {
    x: Lanes,
    y: Lanes,
    z: Lanes,
}

impl DirectionLanes {
    fn set(&mut self, lane: usize, d: Vec3) {
        (self.x[lane], self.y[lane], self.z[lane]) = (d.x, d.y, d.z);
    }

    fn at(&self, lane: usize) -> Vec3 {
        Vec3::new(self.x[lane], self.y[lane], self.z[lane])
    }
}

/// A set of ray directions over the hemisphere above a surface.
pub(crate) struct RayDirections {
    /// The directions that are distributed by their cosine to the normal.
    by_cosine: Vec<CosineLanes>,
    cosine_count: usize,
    /// The directions that are distributed by the light of the environment.
    by_light: Vec<LightLanes>,
    light_count: usize,
    /// Whether all points with the same normal use the same directions.
    fixed_per_normal: bool,
}

impl RayDirections {
    /// Creates directions that differ from point to point. Therefore sampling errors are noise, which averaging over
    /// neighbouring points removes.
    pub(crate) fn jittered(count: usize) -> Self {
        let light_count = count / 2;
        let cosine_count = count - light_count;
        let lanes = |first: usize| std::array::from_fn(|lane| (first + lane) as f32);
        let by_cosine = (0..cosine_count).step_by(LANES).map(|first| CosineLanes::new(lanes(first))).collect();
        let by_light = (0..light_count).step_by(LANES).map(|first| LightLanes::new(lanes(first))).collect();
        Self { by_cosine, cosine_count, by_light, light_count, fixed_per_normal: false }
    }

    /// Creates [`jittered`](Self::jittered) directions that are all distributed by their cosine to the normal.
    pub(crate) fn by_cosine(count: usize) -> Self {
        Self { by_light: Vec::new(), light_count: 0, ..Self::jittered(2 * count) }
    }

    /// Creates directions that are the same for all points with the same normal. Points on a flat surface then have the
    /// same sampling error, so differences between them are real.
    pub(crate) fn fixed_per_normal(count: usize) -> Self {
        Self { fixed_per_normal: true, ..Self::jittered(count) }
    }

    /// Returns the number of directions.
    pub(crate) fn len(&self) -> usize {
        self.cosine_count + self.light_count
    }

    /// Returns directions over the hemisphere of a surface point, with their weights.
    ///
    /// The first half is Vogel's spiral (1979, "A better way to construct the sunflower head"), projected onto the
    /// hemisphere (Malley's method). The second half samples the distribution of light in equal steps of the cumulative
    /// probability.
    pub(crate) fn over_hemisphere(&self, light: &LightDistribution, position: Vec3, normal: Vec3) -> Vec<RaySample> {
        let (azimuth_shift, radial_shift) = if self.fixed_per_normal { (0.0, 0.5) } else { hash_position(position) };
        let cells = light.for_normal(normal);
        let light_count = if cells.is_dark() { 0 } else { self.light_count };
        let (tangent, bitangent) = normal.any_orthonormal_pair();
        let hemisphere = Hemisphere {
            cells,
            axes: [tangent, bitangent, normal],
            rotation: Vec2::from_angle(azimuth_shift * std::f32::consts::TAU),
            azimuth_shift,
            radial_shift,
            cosine_count: self.cosine_count as f32,
            light_count: light_count as f32,
        };
        let mut rays = Vec::with_capacity(self.len());
        for (lanes, first) in self.by_cosine.iter().zip((0..self.cosine_count).step_by(LANES)) {
            let count = LANES.min(self.cosine_count - first);
            hemisphere.add_weighted(&hemisphere.by_cosine(lanes), count, &mut rays);
        }
        for (lanes, first) in self.by_light.iter().zip((0..light_count).step_by(LANES)) {
            let count = LANES.min(light_count - first);
            hemisphere.add_weighted(&hemisphere.by_light(lanes, count), count, &mut rays);
        }
        rays
    }
}

/// The values from which all directions at a surface point are computed.
struct Hemisphere<'a> {
    cells: &'a CellDistribution,
    /// Tangent, bitangent and normal.
    axes: [Vec3; 3],
    /// Cosine and sine of the angle by which directions by cosine are rotated around the normal.
    rotation: Vec2,
    azimuth_shift: f32,
    radial_shift: f32,
    /// Number of directions that are distributed by their cosine to the normal.
    cosine_count: f32,
    /// Number of directions that are distributed by the light of the environment.
    light_count: f32,
}

impl Hemisphere<'_> {
    fn by_cosine(&self, lanes: &CosineLanes) -> DirectionLanes {
        let [tangent, bitangent, normal] = self.axes;
        let mut out = DirectionLanes::default();
        for lane in 0..LANES {
            let azimuth = self.rotation.rotate(Vec2::new(lanes.azimuth_x[lane], lanes.azimuth_y[lane]));
            let area = (lanes.index[lane] + self.radial_shift) / self.cosine_count;
            let (r, z) = (area.sqrt(), (1.0 - area).max(0.0).sqrt());
            out.set(lane, tangent * (r * azimuth.x) + bitangent * (r * azimuth.y) + normal * z);
        }
        out
    }

    /// Returns directions of which the first `count` are used.
    fn by_light(&self, lanes: &LightLanes, count: usize) -> DirectionLanes {
        let mut cells = [0; LANES];
        for (cell, index) in cells.iter_mut().zip(&lanes.index).take(count) {
            *cell = self.cells.cell_at((index + self.azimuth_shift) / self.light_count);
        }
        let columns = cells.map(|cell| (cell % CELLS_PER_SIDE) as f32);
        let rows = cells.map(|cell| (cell / CELLS_PER_SIDE) as f32);
        let mut out = DirectionLanes::default();
        for lane in 0..LANES {
            let x = columns[lane] + fraction(self.azimuth_shift + lanes.step_x[lane]);
            let y = rows[lane] + fraction(self.radial_shift + lanes.step_y[lane]);
            out.set(lane, octahedron::direction(x / CELLS_PER_SIDE as f32, y / CELLS_PER_SIDE as f32));
        }
        out
    }

    /// Computes the weights of the first `count` directions, and adds the directions that are above the surface to
    /// `rays`.
    fn add_weighted(&self, directions: &DirectionLanes, count: usize, rays: &mut Vec<RaySample>) {
        let (mut cosines, mut weights) = ([0.0; LANES], [0.0; LANES]);
        let (mut map_x, mut map_z, mut sums) = ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
        for lane in 0..LANES {
            let direction = directions.at(lane);
            let MapPoint { x, z, sum } = MapPoint::of(direction);
            cosines[lane] = self.axes[2].dot(direction);
            (map_x[lane], map_z[lane], sums[lane]) = (x, z, sum);
        }
        let point = |lane: usize| MapPoint { x: map_x[lane], z: map_z[lane], sum: sums[lane] };
        let probabilities: Lanes =
            std::array::from_fn(|lane| self.cells.probability(point(lane).texel(CELLS_PER_SIDE)));
        for lane in 0..LANES {
            let light_density = probabilities[lane] * (CELLS_PER_SIDE * CELLS_PER_SIDE) as f32 * point(lane).density();
            let density = self.cosine_count * cosines[lane] / PI + self.light_count * light_density;
            weights[lane] = cosines[lane] / PI / density;
        }
        rays.extend((0..count).filter(|lane| cosines[*lane] > 1e-4).map(|lane| RaySample {
            direction: directions.at(lane),
            point: point(lane),
            weight: weights[lane],
        }));
    }
}

/// Returns the fractional part of a number in 0..2³¹. `f32::fract` would call a function of the C library for each
/// number on processors without an instruction for rounding.
fn fraction(x: f32) -> f32 {
    x - (x as i32) as f32
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
                        all.iter().map(|ray| sky.radiance(ray.direction).x * ray.weight).sum::<f32>() * PI
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
        let all = directions.over_hemisphere(&lights, Vec3::ONE, normal);
        assert!(all.iter().all(|RaySample { direction, weight, .. }| {
            (direction.length() - 1.0).abs() < 1e-4 && direction.dot(normal) > 0.0 && *weight > 0.0
        }));
        let sum: f32 = all.iter().map(|ray| ray.weight).sum();
        assert!((sum - 1.0).abs() < 0.01, "{sum}");
    }

    /// Returns the bits of all directions and weights at a point, each computed on its own.
    fn single_directions(lights: &LightDistribution, count: usize, position: Vec3, normal: Vec3) -> Vec<[u32; 4]> {
        let (azimuth_shift, radial_shift) = hash_position(position);
        let cells = lights.for_normal(normal);
        let (tangent, bitangent) = normal.any_orthonormal_pair();
        let (cosine_count, light_count) = (count - count / 2, count / 2);
        let by_cosine = (0..cosine_count).map(|i| {
            let rotation = Vec2::from_angle(azimuth_shift * std::f32::consts::TAU);
            let azimuth = rotation.rotate(Vec2::from_angle(i as f32 * GOLDEN_ANGLE));
            let area = (i as f32 + radial_shift) / cosine_count as f32;
            let (r, z) = (area.sqrt(), (1.0 - area).max(0.0).sqrt());
            tangent * (r * azimuth.x) + bitangent * (r * azimuth.y) + normal * z
        });
        let by_light = (0..light_count).map(|i| {
            let cell = cells.cell_at((i as f32 + azimuth_shift) / light_count as f32);
            let in_cell = (Vec2::new(azimuth_shift, radial_shift) + R2_STEPS * (i + 1) as f32).fract();
            let (x, y) = ((cell % CELLS_PER_SIDE) as f32 + in_cell.x, (cell / CELLS_PER_SIDE) as f32 + in_cell.y);
            octahedron::direction(x / CELLS_PER_SIDE as f32, y / CELLS_PER_SIDE as f32)
        });
        let above = by_cosine.chain(by_light).filter(|d| normal.dot(*d) > 1e-4);
        let weighted = above.map(|d| {
            let (cosine, point) = (normal.dot(d), MapPoint::of(d));
            let probability = cells.probability(point.texel(CELLS_PER_SIDE));
            let light_density = probability * (CELLS_PER_SIDE * CELLS_PER_SIDE) as f32 * point.density();
            let density = cosine_count as f32 * cosine / PI + light_count as f32 * light_density;
            d.extend(cosine / PI / density).to_array().map(f32::to_bits)
        });
        weighted.collect()
    }

    #[test]
    fn directions_that_are_computed_at_once_are_the_same_as_single_ones() {
        let lights = LightDistribution::new(&sky(300.0));
        for count in [1, 2, 12, 18, 37, 448] {
            for k in 0..50 {
                let position = Vec3::new(0.31, -0.17, 0.05) * k as f32;
                let normal = Vec3::new((k as f32).sin(), (k as f32 * 0.7).cos(), (k as f32 * 1.3).sin()).normalize();
                let rays = RayDirections::jittered(count).over_hemisphere(&lights, position, normal);
                let found: Vec<[u32; 4]> =
                    rays.iter().map(|ray| ray.direction.extend(ray.weight).to_array().map(f32::to_bits)).collect();
                assert_eq!(found, single_directions(&lights, count, position, normal), "{count} {normal}");
            }
        }
    }

    #[test]
    fn without_light_only_cosine_distributed_directions_remain() {
        let map = EnvironmentMap { width: 16, height: 8, pixels: vec![[0.0; 3]; 128] };
        let lights = LightDistribution::new(&Sky::new(&map));
        let directions = RayDirections::fixed_per_normal(64);
        let sum: f32 = directions.over_hemisphere(&lights, Vec3::ZERO, Vec3::Y).iter().map(|ray| ray.weight).sum();
        assert!((sum - 1.0).abs() < 1e-3, "{sum}");
    }
}
