//! The grid for reflections of the model in its own polished surfaces. The grid contains signed distances to the
//! nearest surface, and the light that leaves this surface. Shaders trace cones through the grid
//! (`lib/self_reflection.wgsl`).

use std::collections::BTreeSet;
use std::ops::Range;

use glam::{UVec3, Vec3, Vec4};
use plinth_bake::LitSurface;
use plinth_model::{Image, Material, Model, TextureRef};
use plinth_scene::{LightDetail, PosedPrimitive, Scene};
use rayon::prelude::*;

use super::closest_point::closest;
use crate::upload::geometry::primitive_of;

/// Perceptual roughness above which surfaces do not reflect the model. `lib/self_reflection.wgsl` fades the reflection
/// out below this value.
const MAX_ROUGHNESS: f32 = 0.45;
/// Number of cells along the longest side of the grid. Grids for [`LightDetail::Interactive`] have half as many.
const SIDE: u32 = 80;
/// Number of empty cells around the model.
const MARGIN: f32 = 2.0;
/// Distance in cells that is added to surfaces that face away from a cell, so that surfaces that face the cell are
/// preferred.
const BACK_FACING_PENALTY: f32 = 0.5;
/// Largest rounding error in cells of the closest point of a triangle, if the bounding box of the triangle is used to skip
/// cells.
const MAX_ROUNDING: f32 = 0.05;
/// Maximum number of cells that are visited, summed over all triangles.
const MAX_CELL_VISITS: u64 = 12_000_000;
/// Maximum number of triangles of a model. Larger models do not reflect themselves, because computing the grid would
/// take too long.
const MAX_TRIANGLES: usize = 1_000_000;
/// Number of z slices that one task fills.
const SLICES: usize = 8;
/// Number of times that the nearest surfaces are propagated through the grid, along each axis in both directions.
const SWEEPS: usize = 2;

/// A grid with the distances to the surfaces of a model, and the light that leaves these surfaces.
#[derive(Debug, Default)]
pub(crate) struct DistanceField {
    /// Number of cells along x, y and z. All three numbers are 0 if there is nothing to reflect.
    pub(crate) size: UVec3,
    /// Minimum corner of the first cell.
    pub(crate) origin: Vec3,
    /// Side length of a cell in world units.
    pub(crate) cell: f32,
    /// For each cell, the distance to the nearest surface in world units. The distance is negative inside a body. Cells
    /// with the same y and z are stored next to each other.
    pub(crate) distances: Vec<f32>,
    /// For each cell, the radiance that leaves the nearest surface. The fourth component is 1.
    pub(crate) radiance: Vec<Vec4>,
}

/// The nearest known surface of a cell.
#[derive(Clone, Copy)]
struct Nearest {
    /// The nearest point on this surface, and the surface's normal.
    point: Vec3,
    normal: Vec3,
    radiance: Vec3,
    /// Distance from the cell to the point. The cost is increased if the surface faces away from the cell.
    cost: f32,
}

impl Nearest {
    /// Returns the signed distance, which is negative behind the surface.
    fn distance(&self, from: Vec3) -> f32 {
        let offset = from - self.point;
        if offset.dot(self.normal) < 0.0 { -offset.length() } else { offset.length() }
    }

    fn cost(&self, from: Vec3, cell: f32) -> f32 {
        let distance = self.distance(from);
        if distance < 0.0 { BACK_FACING_PENALTY * cell - distance } else { distance }
    }
}

impl DistanceField {
    /// Builds the grid from the surfaces that do not move. `moving` and `surfaces` have one entry per posed primitive.
    pub(crate) fn new(moving: &[bool], surfaces: &[LitSurface], detail: LightDetail) -> Self {
        let still = surfaces.iter().zip(moving).filter(|(_, moving)| !**moving).map(|(surface, _)| surface);
        let side = if detail == LightDetail::Interactive { SIDE / 2 } else { SIDE };
        Self::of_surfaces(&still.collect::<Vec<_>>(), side)
    }

    /// `side` is the number of cells along the longest side.
    fn of_surfaces(surfaces: &[&LitSurface], side: u32) -> Self {
        let (mut min, mut max) = (Vec3::INFINITY, Vec3::NEG_INFINITY);
        for p in surfaces.iter().flat_map(|s| &s.positions).filter(|p| p.is_finite()) {
            (min, max) = (min.min(*p), max.max(*p));
        }
        let longest = (max - min).max_element();
        if !(longest > 0.0 && longest.is_finite()) {
            return Self::default();
        }
        // Long triangles touch many cells. If there are many long triangles, a grid with larger cells is used.
        let grids = [side, side / 2, side / 4].map(|side| Self::empty(min, max, side));
        let Some(grid) = grids.into_iter().find(|grid| grid.work(surfaces) <= MAX_CELL_VISITS) else {
            return Self::default();
        };
        let size = grid.size;
        let mut seeds: Vec<Option<Nearest>> = vec![None; (size.x * size.y * size.z) as usize];
        let slice = (size.x * size.y) as usize;
        let triangles = grid.triangles_in_slices(surfaces);
        seeds.par_chunks_mut(slice * SLICES).zip(triangles).enumerate().for_each(|(k, (seeds, triangles))| {
            let first = (k * SLICES) as u32;
            let slices = first..first + (seeds.len() / slice) as u32;
            for (surface, t) in triangles {
                let surface = surfaces[surface as usize];
                let t = &surface.indices.as_chunks::<3>().0[t as usize];
                grid.seed(&slices, seeds, surface.corners(t), t.map(|i| surface.radiance[i as usize]));
            }
        });
        let of = grid.spread(&seeds);
        let cell = |(i, of): (usize, u32)| match seeds[of as usize] {
            Some(n) => (n.distance(grid.center(grid.at(i))), n.radiance.min(Vec3::splat(60_000.0)).extend(1.0)),
            None => (longest, Vec4::W),
        };
        let (distances, radiance) = of.into_iter().enumerate().map(cell).unzip();
        Self { distances, radiance, ..grid }
    }

    /// Creates an empty grid around the box from `min` to `max`. The grid has `side` cells along its longest side.
    fn empty(min: Vec3, max: Vec3, side: u32) -> Self {
        let cell = (max - min).max_element() / (side as f32 - 2.0 * MARGIN);
        let size = ((max - min) / cell + 2.0 * MARGIN).ceil().as_uvec3().clamp(UVec3::splat(4), UVec3::splat(side));
        Self { size, origin: min - cell * MARGIN, cell, ..Self::default() }
    }

    /// Returns the number of cells that must be visited, summed over all triangles.
    fn work(&self, surfaces: &[&LitSurface]) -> u64 {
        let triangles = surfaces.iter().flat_map(|s| s.indices.as_chunks::<3>().0.iter().map(|t| s.corners(t)));
        triangles.map(|corners| self.cells_at(corners).1.as_u64vec3().element_product()).sum()
    }

    /// Returns for each group of z slices the triangles that touch it, as pairs of surface index and triangle index.
    fn triangles_in_slices(&self, surfaces: &[&LitSurface]) -> Vec<Vec<(u32, u32)>> {
        let mut groups = vec![Vec::new(); (self.size.z as usize).div_ceil(SLICES)];
        for (s, surface) in surfaces.iter().enumerate() {
            for (t, corners) in surface.indices.as_chunks::<3>().0.iter().enumerate() {
                let z = surface.corners(corners).map(|p| p.z);
                let (low, high) = (z[0].min(z[1]).min(z[2]), z[0].max(z[1]).max(z[2]));
                let slice = |z: f32| self.cell_of(Vec3::splat(z)).z as usize;
                let (first, last) = (slice(low - 0.5 * self.cell), slice(high + 0.5 * self.cell));
                for group in &mut groups[first / SLICES..=last / SLICES] {
                    group.push((s as u32, t as u32));
                }
            }
        }
        groups
    }

    /// Returns the first cell that a triangle touches, and the number of touched cells along each axis.
    fn cells_at(&self, [a, b, c]: [Vec3; 3]) -> (UVec3, UVec3) {
        let low = self.cell_of(a.min(b).min(c) - 0.5 * self.cell);
        let high = self.cell_of(a.max(b).max(c) + 0.5 * self.cell);
        (low, high.saturating_sub(low) + 1)
    }

    /// Returns the centre of a cell.
    fn center(&self, at: UVec3) -> Vec3 {
        self.origin + (at.as_vec3() + 0.5) * self.cell
    }

    const fn index(&self, at: UVec3) -> usize {
        ((at.z * self.size.y + at.y) * self.size.x + at.x) as usize
    }

    const fn at(&self, index: usize) -> UVec3 {
        let (index, x, y) = (index as u32, self.size.x, self.size.y);
        UVec3::new(index % x, index / x % y, index / (x * y))
    }

    /// Returns whether the rounding error of the closest point of a triangle is at most [`MAX_ROUNDING`], for all cells that
    /// the triangle touches.
    fn is_accurate(&self, [a, b, c]: [Vec3; 3]) -> bool {
        let (ab, ac) = (b - a, c - a);
        let longest = ab.length().max(ac.length());
        // No corner is farther away from such a cell.
        let distance = 2.5 * longest + 2.0 * self.cell;
        let coordinate = (self.origin.abs() + self.size.as_vec3() * self.cell).max_element();
        // `closest` divides products of four lengths by the square of twice the area, which is small for a narrow
        // triangle.
        let of_weights = (longest * distance).powi(2) / ab.cross(ac).length_squared();
        (16.0 * coordinate + 128.0 * of_weights * longest) * f32::EPSILON <= MAX_ROUNDING * self.cell
    }

    /// Returns the cell that contains a point. If the point is outside the grid, returns the nearest cell.
    fn cell_of(&self, point: Vec3) -> UVec3 {
        ((point - self.origin) / self.cell).max(Vec3::ZERO).as_uvec3().min(self.size - 1)
    }

    /// Stores a triangle in the cells that it touches, unless they contain a nearer surface. Only cells in the range
    /// `slices` of z are considered.
    fn seed(&self, slices: &Range<u32>, seeds: &mut [Option<Nearest>], [a, b, c]: [Vec3; 3], radiance: [Vec3; 3]) {
        if ![a, b, c].iter().all(|p| p.is_finite()) {
            return;
        }
        let normal = (b - a).cross(c - a).normalize_or_zero();
        let (min, max) = (a.min(b).min(c), a.max(b).max(c));
        let is_accurate = self.is_accurate([a, b, c]);
        let rounding = MAX_ROUNDING * self.cell;
        let is_not_nearer = |center: Vec3, known: Nearest| {
            // No point of the triangle can be closer than its plane or its bounding box.
            let to_plane = normal.dot(center - a);
            let to_box = (min - center).max(center - max).max(Vec3::ZERO).length();
            let penalty = if to_plane < -rounding { BACK_FACING_PENALTY * self.cell } else { 0.0 };
            let least_cost = to_box.max(to_plane.abs()) + penalty;
            to_plane.abs() >= known.cost || (is_accurate && least_cost > known.cost + rounding)
        };
        let (low, count) = self.cells_at([a, b, c]);
        for z in low.z.max(slices.start)..(low.z + count.z).min(slices.end) {
            for y in low.y..low.y + count.y {
                for x in low.x..low.x + count.x {
                    let at = UVec3::new(x, y, z);
                    let (index, center) = (self.index(UVec3::new(x, y, z - slices.start)), self.center(at));
                    if seeds[index].is_some_and(|known| is_not_nearer(center, known)) {
                        continue;
                    }
                    let [u, v, w] = closest(center, [a, b, c]);
                    let point = a * u + b * v + c * w;
                    let radiance = radiance[0] * u + radiance[1] * v + radiance[2] * w;
                    let mut one = Nearest { point, normal, radiance, cost: 0.0 };
                    one.cost = one.cost(center, self.cell);
                    let slot = &mut seeds[index];
                    if slot.is_none_or(|known| one.cost < known.cost) {
                        *slot = Some(one);
                    }
                }
            }
        }
    }

    /// Propagates the nearest surfaces to all cells (Danielsson 1980, "Euclidean Distance Mapping"). Returns for each
    /// cell the index of the cell whose surface is nearest. If no surface is known for a cell, the result is the index
    /// of the cell itself.
    fn spread(&self, seeds: &[Option<Nearest>]) -> Vec<u32> {
        let mut of: Vec<u32> = (0..seeds.len() as u32).collect();
        let mut costs: Vec<f32> = seeds.iter().map(|seed| seed.map_or(f32::INFINITY, |s| s.cost)).collect();
        for _ in 0..SWEEPS {
            for axis in 0..3 {
                self.sweep(seeds, axis, false, &mut of, &mut costs);
                self.sweep(seeds, axis, true, &mut of, &mut costs);
            }
        }
        of
    }

    /// Visits all cells along an axis. In each cell, the surface of the previous cell replaces the known surface if the
    /// surface of the previous cell is closer.
    fn sweep(&self, seeds: &[Option<Nearest>], axis: usize, backward: bool, of: &mut [u32], costs: &mut [f32]) {
        // Lines along x and y lie in one slice of z.
        let slice = (self.size.x * self.size.y) as usize;
        let parts = if axis == 2 { of.len() } else { slice };
        of.par_chunks_mut(parts).zip(costs.par_chunks_mut(parts)).enumerate().for_each(|(k, (of, costs))| {
            let first_z = if axis == 2 { 0 } else { k as u32 };
            self.sweep_slices(seeds, (axis, backward), first_z, of, costs);
        });
    }

    /// Does the work of [`Self::sweep`] in the slices of z from `first_z`. `of` and `costs` contain only the cells of
    /// these slices.
    fn sweep_slices(
        &self,
        seeds: &[Option<Nearest>],
        (axis, backward): (usize, bool),
        first_z: u32,
        of: &mut [u32],
        costs: &mut [f32],
    ) {
        let mut step = UVec3::ZERO;
        step[axis] = 1;
        let size = UVec3::new(self.size.x, self.size.y, of.len() as u32 / (self.size.x * self.size.y));
        let first = if backward { UVec3::ZERO } else { step };
        let end = if backward { size - step } else { size };
        let stride = self.index(step);
        let turned = |k: u32, axis: usize| if backward { first[axis] + end[axis] - 1 - k } else { k };
        for z in first.z..end.z {
            for y in first.y..end.y {
                for x in first.x..end.x {
                    let at = UVec3::new(turned(x, 0), turned(y, 1), turned(z, 2));
                    let index = self.index(at);
                    let before = if backward { index + stride } else { index - stride };
                    if of[before] == of[index] {
                        continue;
                    }
                    let Some(other) = seeds[of[before] as usize] else { continue };
                    let cost = other.cost(self.center(at + UVec3::new(0, 0, first_z)), self.cell);
                    if cost < costs[index] {
                        (of[index], costs[index]) = (of[before], cost);
                    }
                }
            }
        }
    }
}

/// Returns whether the scene has polished surfaces that could reflect the model, and the model is not too large.
pub(crate) fn is_worthwhile(scene: &Scene, posed: &[PosedPrimitive]) -> bool {
    let primitives = || posed.iter().filter_map(|one| primitive_of(scene, one));
    let triangles: usize = primitives().map(|primitive| primitive.indices.len() / 3).sum();
    let materials: BTreeSet<usize> = primitives().map(|primitive| primitive.material).collect();
    let mut materials = materials.into_iter().filter_map(|index| scene.model.materials.get(index));
    triangles < MAX_TRIANGLES && materials.any(|material| is_polished(&scene.model, material))
}

/// Returns whether any part of a material is smooth enough to reflect the model.
pub(crate) fn is_polished(model: &Model, material: &Material) -> bool {
    let coat = material.clearcoat.filter(|coat| coat.factor > 0.0);
    !material.unlit
        && (is_smooth(model, material.perceptual_roughness, material.metallic_roughness_texture)
            || coat.is_some_and(|coat| is_smooth(model, coat.roughness, coat.roughness_texture)))
}

/// Number of bytes of an image that are examined at a time.
const IMAGE_PART: usize = 1 << 16;

/// Returns whether a roughness is below the limit at any texel of its map. A map multiplies the roughness by its green
/// values, which are at most 1. Values that are interpolated between texels are never smaller than those of all texels.
fn is_smooth(model: &Model, roughness: f32, map: Option<TextureRef>) -> bool {
    let image = map.and_then(|map| model.textures.get(map.texture)).and_then(|texture| model.images.get(texture.image));
    let is_smooth_at = |green: u8| roughness * (f32::from(green) / 255.0) < MAX_ROUGHNESS;
    let is_smooth_in = |part: &[u8]| is_smooth_at(least_green(part));
    let has_smooth = |image: &Image| match image.pixels.known_facts() {
        Some(facts) => is_smooth_at(facts.least[1]),
        None => image.pixels.par_chunks(IMAGE_PART).any(is_smooth_in),
    };
    roughness < MAX_ROUGHNESS || image.is_some_and(|image| has_smooth(image))
}

/// Returns the smallest green value of RGBA texels.
fn least_green(pixels: &[u8]) -> u8 {
    pixels.as_chunks::<4>().0.iter().fold(u8::MAX, |least, texel| least.min(texel[1]))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use plinth_model::{Clearcoat, Sampler, Texture};

    use super::*;

    #[test]
    fn cells_contain_the_distance_and_the_light_of_the_nearest_surface() {
        // The scene consists of a red square at y = 0 that faces up, and a green square at x = 1 that faces the red
        // square.
        let square = |p: [Vec3; 4], color: Vec3| LitSurface {
            positions: p.to_vec(),
            radiance: vec![color; 4],
            indices: vec![0, 1, 2, 0, 2, 3],
        };
        let floor = square([Vec3::ZERO, Vec3::Z, Vec3::new(1.0, 0.0, 1.0), Vec3::X], Vec3::X);
        let wall = square([Vec3::X, Vec3::new(1.0, 0.0, 1.0), Vec3::ONE, Vec3::new(1.0, 1.0, 0.0)], Vec3::Y);
        let grid = DistanceField::of_surfaces(&[&floor, &wall], SIDE);
        assert_eq!(grid.size, UVec3::splat(SIDE));
        for at in
            [Vec3::new(0.2, 0.1, 0.5), Vec3::new(0.9, 0.6, 0.5), Vec3::new(0.5, 0.3, 0.9), Vec3::new(0.7, 0.9, 0.2)]
        {
            let cell = grid.cell_of(at);
            let (index, center) = (grid.index(cell), grid.center(cell));
            let (to_floor, to_wall) = (center.y, 1.0 - center.x);
            let found = grid.distances[index];
            assert!((found - to_floor.min(to_wall)).abs() < 0.3 * grid.cell, "{at}: {found}");
            let expected = if to_floor < to_wall { Vec3::X } else { Vec3::Y };
            assert_eq!(grid.radiance[index].truncate(), expected, "{at}");
        }
    }

    /// Stores a triangle in all cells that it touches, like [`DistanceField::seed`], but tests only the plane.
    fn seed_without_boxes(grid: &DistanceField, seeds: &mut [Option<Nearest>], [a, b, c]: [Vec3; 3]) {
        let normal = (b - a).cross(c - a).normalize_or_zero();
        let (low, count) = grid.cells_at([a, b, c]);
        for (index, seed) in seeds.iter_mut().enumerate() {
            let (at, center) = (grid.at(index), grid.center(grid.at(index)));
            let is_touched = at.cmpge(low).all() && at.cmplt(low + count).all();
            if !is_touched || seed.is_some_and(|known| normal.dot(center - a).abs() >= known.cost) {
                continue;
            }
            let [u, v, w] = closest(center, [a, b, c]);
            let mut one = Nearest { point: a * u + b * v + c * w, normal, radiance: Vec3::ONE, cost: 0.0 };
            one.cost = one.cost(center, grid.cell);
            if seed.is_none_or(|known| one.cost < known.cost) {
                *seed = Some(one);
            }
        }
    }

    #[test]
    fn bounding_boxes_skip_only_triangles_that_are_not_nearer() {
        let grid = DistanceField::empty(Vec3::NEG_ONE, Vec3::ONE, 16);
        let mut seeds = vec![None; grid.size.element_product() as usize];
        let mut expected = seeds.clone();
        let mut accurate = 0;
        for k in 0..2000 {
            let part = |step: f32| (k as f32 * step).fract() * 2.0 - 1.0;
            let corner = Vec3::new(part(0.618), part(0.414), part(0.732)) * 0.8;
            let (side, narrow) = ([0.02, 0.2][k % 2], [1.0, 1e-2, 1e-4, 1e-7, 0.0][k % 5]);
            let along = Vec3::new(part(0.307), part(0.872), part(0.237)).normalize() * side;
            let triangle = [corner, corner + along, corner + along * 0.4 + along.any_orthogonal_vector() * narrow];
            accurate += usize::from(grid.is_accurate(triangle));
            grid.seed(&(0..grid.size.z), &mut seeds, triangle, [Vec3::ONE; 3]);
            seed_without_boxes(&grid, &mut expected, triangle);
        }
        assert!((300..1700).contains(&accurate), "{accurate}");
        let bits = |seed: &Option<Nearest>| seed.map(|n| [n.point.x, n.point.y, n.point.z, n.cost].map(f32::to_bits));
        assert_eq!(seeds.iter().map(bits).collect::<Vec<_>>(), expected.iter().map(bits).collect::<Vec<_>>());
    }

    #[test]
    fn a_smooth_texel_or_a_smooth_coat_makes_a_material_polished() {
        let mut model = Model::default();
        let pixels = [[0, 200, 0, 255], [0, 100, 0, 255]].concat();
        model.images.push(Arc::new(Image { width: 2, height: 1, pixels: pixels.into(), ..Image::default() }));
        model.textures.push(Texture { image: 0, sampler: Sampler::default() });
        let map = Some(TextureRef { texture: 0, uv_set: 0, transform: None });
        let rough = Material { perceptual_roughness: 1.0, ..Material::default() };
        let coat = Clearcoat { factor: 1.0, roughness: 1.0, roughness_texture: map, ..Clearcoat::default() };
        let polished = |material: Material| is_polished(&model, &material);
        assert!(!polished(rough.clone()) && polished(Material { perceptual_roughness: 0.4, ..rough.clone() }));
        assert!(polished(Material { metallic_roughness_texture: map, ..rough.clone() }), "100 of 255");
        assert!(polished(Material { clearcoat: Some(coat), ..rough.clone() }));
        assert!(!polished(Material { clearcoat: Some(Clearcoat { factor: 0.0, ..coat }), ..rough.clone() }));
        assert!(!polished(Material { unlit: true, perceptual_roughness: 0.1, ..rough }));
        Arc::make_mut(&mut model.images[0]).pixels[5] = 120;
        assert!(!is_polished(&model, &Material { metallic_roughness_texture: map, ..Material::default() }));
    }

    #[test]
    fn many_long_triangles_get_larger_cells_and_too_many_get_no_field() {
        let soup = |count: u32| LitSurface {
            positions: vec![Vec3::NEG_ONE, Vec3::ONE, Vec3::new(1.0, -1.0, 0.5)],
            radiance: vec![Vec3::ONE; 3],
            indices: (0..count).flat_map(|_| [0, 1, 2]).collect(),
        };
        let longest = |count: u32| DistanceField::of_surfaces(&[&soup(count)], SIDE).size.max_element();
        assert_eq!([10, 100, 100_000].map(longest), [SIDE, SIDE / 2, 0]);
    }
}
