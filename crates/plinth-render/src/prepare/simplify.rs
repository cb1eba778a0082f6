//! Simplifies the geometry by removing triangles that are smaller than pixels.
//!
//! For each triangle, a software driver shades all blocks of 4×4 pixels that the triangle touches. Therefore triangles
//! that are smaller than a pixel take much time and contribute little. A graphics card draws them quickly, but their light
//! is baked on the CPU, so very many of them are removed for cards, too. Edges are collapsed by their quadric error
//! (Garland and Heckbert 1997; with attributes: Hoppe 1999) up to a fraction of a pixel, which makes no visible
//! difference.

use glam::{IVec3, Vec2, Vec3};
use meshopt::{SimplifyOptions, VertexDataAdapter, simplify_with_attributes_and_locks};
use plinth_model::{Model, Primitive, Topology};
use plinth_scene::{PosedPrimitive, SURFACE_ERROR_PIXELS, Scene, rounded_length, smallest_pixel};
use rayon::prelude::*;

use super::at_vertex::is_polished;
use crate::gpu::Gpu;
use crate::upload::closed::is_closed;
use crate::upload::geometry::primitive_of;
use crate::upload::material::{DrawClass, draw_class};

/// Change of a unit normal over one pixel that the simplification treats as an error as large as the maximum
/// displacement.
const NORMAL_STEP: f32 = 0.25;
/// Same as `NORMAL_STEP`, for rough surfaces. The light on rough surfaces changes less with the normal than the
/// reflections of polished surfaces.
const MATT_NORMAL_STEP: f32 = 4.0;
/// Change of texture coordinates that the simplification treats as an error as large as the maximum displacement. The
/// unit is the change of texture coordinates over one pixel.
const UV_STEP: f32 = 2.0;
/// Change of a component of the linear vertex colour that the simplification treats as an error as large as the maximum
/// displacement, over the area of one pixel.
const COLOR_STEP: f32 = 1.0 / 16.0;
/// Minimum number of triangles of a primitive that is simplified.
const MIN_TRIANGLES: usize = 1024;
/// Minimum number of frames of a video whose model is simplified. For fewer frames, the simplification would take more
/// time than it saves.
const MIN_FRAMES: usize = 4;
/// Models with at least this many triangles are simplified for any number of frames and any adapter, because baking the
/// light on all triangles would take longer than the simplification.
const MANY_TRIANGLES: usize = 200_000;

/// Returns the size of a pixel at the nearest point of the model over all frames, in world units, rounded down. Returns `None` if
/// removing smaller details would not save time. Removing details saves time in videos that a software driver draws,
/// and on any adapter for models with very many triangles. The geometry of datasets is never simplified.
pub(crate) fn min_visible_size(gpu: &Gpu, scene: &Scene, posed: &[PosedPrimitive], height: u32) -> Option<f32> {
    let triangles = || -> usize {
        posed.iter().filter_map(|one| primitive_of(scene, one)).map(|primitive| primitive.indices.len() / 3).sum()
    };
    let is_slow_to_draw = gpu.is_software() && scene.shots.len() >= MIN_FRAMES;
    let worthwhile = !scene.is_dataset && (is_slow_to_draw || triangles() >= MANY_TRIANGLES);
    worthwhile.then(|| rounded_length(smallest_pixel(scene.bounds, &scene.shots, height)))
}

/// Returns the indices with which each posed primitive is drawn. `pixel` is the size of a pixel in world units.
pub(crate) fn drawn_indices(scene: &Scene, posed: &[PosedPrimitive], pixel: Option<f32>) -> Vec<Vec<u32>> {
    // Only the vertices of the first pose are known here. Vertices that can be removed in this pose may be needed in others.
    let reshaped = scene.reshaped(posed);
    let is_simplified: Vec<bool> =
        posed.iter().zip(reshaped).map(|(one, changes)| !changes && can_be_simplified(scene, one)).collect();
    let shared = pixel.filter(|_| is_simplified.contains(&true)).map(|pixel| SharedPositions::of(posed, pixel));
    posed
        .par_iter()
        .zip(is_simplified)
        .map(|(one, is_simplified)| {
            let Some(primitive) = primitive_of(scene, one) else { return Vec::new() };
            match (pixel, &shared) {
                (Some(pixel), Some(shared)) if is_simplified => {
                    let kept = simplified(scene, one, primitive, pixel, shared);
                    if has_same_sides(scene, one, primitive, &kept) { kept } else { primitive.indices.clone() }
                }
                _ => primitive.indices.clone(),
            }
        })
        .collect()
}

/// Returns whether the same sides of a primitive are drawn if its triangles are replaced by `indices`. The inside of a
/// blended surface is drawn if the surface is closed. A surface with details that are much smaller than a pixel can
/// become open or closed when it is simplified.
fn has_same_sides(scene: &Scene, posed: &PosedPrimitive, primitive: &Primitive, indices: &[u32]) -> bool {
    let material = &scene.model.materials[primitive.material];
    let encloses = |indices: &[u32]| is_closed(indices.as_chunks::<3>().0, &posed.positions);
    draw_class(material) != DrawClass::Blended
        || material.double_sided
        || encloses(&primitive.indices) == encloses(indices)
}

/// Returns whether the simplification of a primitive that is not reshaped is worthwhile and possible.
fn can_be_simplified(scene: &Scene, posed: &PosedPrimitive) -> bool {
    primitive_of(scene, posed).is_some_and(|primitive| {
        primitive.topology == Topology::Triangles
            && primitive.indices.len() >= MIN_TRIANGLES * 3
            && primitive.morph_targets.is_empty()
            // Simplified overlays could be below the surface on which they lie.
            && !scene.model.materials[primitive.material].overlay
    })
}

/// Number of grid cells along the side of a pixel. Vertices in the same cell count as vertices at the same position.
/// Exporters write the positions on both sides of a seam with different rounding errors.
const CELLS_PER_PIXEL: f32 = 64.0;

/// Returns the grid cell that contains a position. `pixel` is the size of a pixel.
fn cell(position: Vec3, pixel: f32) -> IVec3 {
    (position * (CELLS_PER_PIXEL / pixel)).round().as_ivec3()
}

/// The positions that several primitives have in common. If two primitives meet in an edge and each simplifies its side of
/// the edge, there are gaps.
struct SharedPositions {
    pixel: f32,
    /// Sorted keys of the positions' grid cells.
    keys: Vec<u64>,
}

impl SharedPositions {
    fn of(posed: &[PosedPrimitive], pixel: f32) -> Self {
        // Each position once per primitive.
        let of_primitive = |one: &PosedPrimitive| {
            let mut keys: Vec<u64> = one.positions.iter().map(|p| Self::key(*p, pixel)).collect();
            keys.sort_unstable();
            keys.dedup();
            keys
        };
        let mut all: Vec<u64> =
            if posed.len() > 1 { posed.par_iter().flat_map_iter(of_primitive).collect() } else { Vec::new() };
        all.par_sort_unstable();
        Self { pixel, keys: all.array_windows().filter(|[a, b]| a == b).map(|[a, _b]| *a).collect() }
    }

    /// Returns the key of a position, if several primitives have it.
    fn find(&self, position: Vec3) -> Option<u64> {
        let key = Self::key(position, self.pixel);
        self.keys.binary_search(&key).is_ok().then_some(key)
    }

    /// Returns for each vertex whether it is on a border that the primitive has in common with another one: an edge with only
    /// one triangle, both of whose ends are shared positions. The interior of primitives that lie on each other has no such
    /// edges.
    fn on_borders(&self, positions: &[Vec3], indices: &[u32]) -> Vec<bool> {
        let keys: Vec<Option<u64>> = positions.iter().map(|position| self.find(*position)).collect();
        let mut edges: Vec<[u64; 2]> = Vec::new();
        for [a, b, c] in indices.as_chunks::<3>().0 {
            for (from, to) in [(a, b), (b, c), (c, a)] {
                if let (Some(from), Some(to)) = (keys[*from as usize], keys[*to as usize]) {
                    edges.push([from.min(to), from.max(to)]);
                }
            }
        }
        edges.sort_unstable();
        let single = edges.chunk_by(PartialEq::eq).filter(|edge| edge.len() == 1);
        let mut ends: Vec<u64> = single.flatten().flatten().copied().collect();
        ends.sort_unstable();
        keys.into_iter().map(|key| key.is_some_and(|key| ends.binary_search(&key).is_ok())).collect()
    }

    /// Returns the lowest 21 bits of each coordinate of the grid cell. Different cells may have the same key; then vertices
    /// are kept without need.
    fn key(position: Vec3, pixel: f32) -> u64 {
        cell(position, pixel).to_array().into_iter().fold(0, |key, c| key << 21 | u64::from(c as u32 & 0x1f_ffff))
    }
}

/// Removes triangles that make no visible difference. `pixel` is the size of a pixel in world units.
fn simplified(
    scene: &Scene,
    posed: &PosedPrimitive,
    primitive: &Primitive,
    pixel: f32,
    shared: &SharedPositions,
) -> Vec<u32> {
    let uv_sets: Vec<UvSet<'_>> = UvSet::all(posed, primitive);
    let whole = PrimitiveInput { model: &scene.model, posed, primitive, pixel, uv_sets: &uv_sets, shared };
    if primitive.indices.len() / 3 < BLOCKS_FROM {
        return whole.simplified(&mut whole.no_places(), &primitive.indices, SimplifyOptions::None);
    }
    // If vertices were merged (`merge/mod.rs`), the first simplification is omitted: few triangles are left, and
    // merging has already caused as much error as the first simplification may cause.
    if scene.is_merged {
        return whole.simplified_in_blocks(&primitive.indices, SHIFT);
    }
    // The first simplification does not change the borders of its blocks, which are inside the blocks of the second
    // simplification. The errors of both simplifications add up.
    let finer = PrimitiveInput { pixel: 0.5 * pixel, ..whole };
    whole.simplified_in_blocks(&finer.simplified_in_blocks(&primitive.indices, 0.0), SHIFT)
}

/// Minimum number of triangles of a mesh that is simplified in blocks, on all cores. Meshoptimizer stops only when no
/// edge can be collapsed, and each of its last passes visits all remaining edges. In small blocks, these passes take
/// little time.
const BLOCKS_FROM: usize = 200_000;
/// Approximate number of triangles per block.
const BLOCK: usize = 1 << 15;
/// Offset between the block grids of the first and the second simplification, as a fraction of the mesh's extent. With
/// this offset, few borders of the two grids coincide.
const SHIFT: f32 = 0.37;
/// Value that marks an unused vertex.
const NONE: u32 = u32::MAX;

/// Divides a mesh into blocks of about the same number of triangles that are close to each other. The grid of the
/// blocks is offset by the fraction `shift` of the mesh's extent.
fn blocks(positions: &[Vec3], indices: &[u32], shift: f32) -> Vec<Vec<u32>> {
    let triangles = indices.as_chunks::<3>().0;
    let (low, high) = positions.iter().fold((Vec3::MAX, Vec3::MIN), |(low, high), p| (low.min(*p), high.max(*p)));
    let extent = (high - low).max_element().max(f32::MIN_POSITIVE);
    let cells = 1023.0 / (extent * (1.0 + shift));
    let origin = low - shift * extent;
    let middle = |triangle: &[u32; 3]| triangle.iter().map(|i| positions[*i as usize]).sum::<Vec3>() / 3.0;
    // Triangles are sorted along a space-filling curve, so that neighbours in the list are close to each other in space
    // (Morton 1966, "A Computer Oriented Geodetic Data Base").
    let mut order: Vec<(u32, u32)> = triangles
        .par_iter()
        .enumerate()
        .map(|(i, triangle)| (morton((middle(triangle) - origin) * cells), i as u32))
        .collect();
    order.par_sort_unstable();
    let block = |part: &[(u32, u32)]| part.iter().flat_map(|(_, i)| triangles[*i as usize]).collect();
    order.par_chunks(BLOCK).map(block).collect()
}

/// Interleaves the bits of three numbers below 1024.
fn morton(cell: Vec3) -> u32 {
    let spread = |x: f32| (0..10).fold(0, |code, bit| code | (x as u32 >> bit & 1) << (3 * bit));
    spread(cell.x) | spread(cell.y) << 1 | spread(cell.z) << 2
}

/// A primitive that is simplified as a whole or in blocks.
#[derive(Clone, Copy)]
struct PrimitiveInput<'a> {
    model: &'a Model,
    posed: &'a PosedPrimitive,
    primitive: &'a Primitive,
    /// Size of a pixel in world units.
    pixel: f32,
    uv_sets: &'a [UvSet<'a>],
    /// Positions that the primitive has in common with others.
    shared: &'a SharedPositions,
}

/// A set of texture coordinates of a primitive.
#[derive(Clone, Copy)]
struct UvSet<'a> {
    /// Texture coordinates per vertex.
    values: &'a [[f32; 2]],
    /// Change of the texture coordinates per world unit.
    density: f32,
}

impl<'a> UvSet<'a> {
    /// Returns the sets that the primitive has.
    fn all(posed: &PosedPrimitive, primitive: &'a Primitive) -> Vec<Self> {
        let there = primitive.uvs.iter().filter(|values| !values.is_empty());
        there.map(|values| Self { values, density: uv_density(posed, &primitive.indices, values) }).collect()
    }
}

impl PrimitiveInput<'_> {
    /// Returns the working memory (`places`) that `simplified` needs.
    fn no_places(&self) -> Vec<u32> {
        vec![NONE; self.posed.positions.len()]
    }

    /// Simplifies triangles in blocks, whose borders are not changed.
    fn simplified_in_blocks(&self, indices: &[u32], shift: f32) -> Vec<u32> {
        let blocks = blocks(&self.posed.positions, indices, shift);
        let simplified =
            |places: &mut Vec<u32>, block: Vec<u32>| self.simplified(places, &block, SimplifyOptions::LockBorder);
        let lists: Vec<Vec<u32>> = blocks.into_par_iter().map_init(|| self.no_places(), simplified).collect();
        lists.concat()
    }

    /// Simplifies triangles. `places` has one entry per vertex. All entries are `NONE` before and after the call.
    fn simplified(&self, places: &mut [u32], indices: &[u32], options: SimplifyOptions) -> Vec<u32> {
        let mut used: Vec<u32> = Vec::new();
        let local: Vec<u32> = indices
            .iter()
            .map(|i| {
                let place = &mut places[*i as usize];
                if *place == NONE {
                    *place = used.len() as u32;
                    used.push(*i);
                }
                *place
            })
            .collect();
        for i in &used {
            places[*i as usize] = NONE;
        }
        let kept = self.simplified_mesh(&used, &local, options);
        kept.into_iter().map(|i| used[i as usize]).collect()
    }

    /// Simplifies a mesh that consists of these vertices and triangles.
    fn simplified_mesh(&self, vertices: &[u32], indices: &[u32], options: SimplifyOptions) -> Vec<u32> {
        let at = |i: &u32| *i as usize;
        let positions: Vec<Vec3> = vertices.iter().map(|i| self.posed.positions[at(i)]).collect();
        let snapped: Vec<Vec3> =
            positions.iter().map(|p| cell(*p, self.pixel).as_vec3() * (self.pixel / CELLS_PER_PIXEL)).collect();
        let Ok(adapter) = VertexDataAdapter::new(bytemuck::cast_slice(&snapped), size_of::<Vec3>(), 0) else {
            return indices.to_vec();
        };
        let material = &self.model.materials[self.primitive.material];
        // The direction of anisotropic reflections follows the tangents.
        let tangents = Some(&self.posed.tangents).filter(|all| material.anisotropy.is_some() && !all.is_empty());
        let colors = &self.primitive.colors;
        let mut attributes: Vec<f32> = Vec::new();
        for i in vertices.iter().map(at) {
            attributes.extend(self.posed.normals.get(i).copied().unwrap_or(Vec3::Y).to_array());
            attributes.extend(tangents.into_iter().flat_map(|all| all.get(i).copied().unwrap_or_default().to_array()));
            attributes.extend(self.uv_sets.iter().flat_map(|set| set.values.get(i).copied().unwrap_or_default()));
            attributes.extend(colors.get(i).into_iter().flatten());
        }
        // Meshoptimizer multiplies the change of an attribute by its weight and by the square root of the affected
        // area.
        let uv_weight = |set: &UvSet<'_>| {
            let per_pixel = set.density * self.pixel;
            if per_pixel > 0.0 { SURFACE_ERROR_PIXELS / (UV_STEP * per_pixel) } else { 0.0 }
        };
        let color_weights = if colors.is_empty() { 0 } else { 4 };
        let simplify = |indices: &[u32], normal_step: f32, locks: &[bool]| {
            let directions = if tangents.is_some() { 6 } else { 3 };
            let mut weights = vec![SURFACE_ERROR_PIXELS / normal_step; directions];
            weights.extend(self.uv_sets.iter().flat_map(|set| [uv_weight(set); 2]));
            weights.extend(std::iter::repeat_n(SURFACE_ERROR_PIXELS / COLOR_STEP, color_weights));
            simplify_with_attributes_and_locks(
                indices,
                &adapter,
                &attributes,
                &weights,
                weights.len() * size_of::<f32>(),
                locks,
                0,
                SURFACE_ERROR_PIXELS * self.pixel,
                SimplifyOptions::ErrorAbsolute | options,
                None,
            )
        };
        let on_borders = self.shared.on_borders(&positions, indices);
        let polished: Vec<bool> =
            vertices.iter().map(|i| is_polished(self.model, material, self.primitive, at(i))).collect();
        let matt_locks: Vec<bool> = polished.iter().zip(&on_borders).map(|(p, b)| *p || *b).collect();
        let matt = if polished.iter().all(|p| *p) {
            indices.to_vec()
        } else {
            simplify(indices, MATT_NORMAL_STEP, &matt_locks)
        };
        if polished.contains(&true) { simplify(&matt, NORMAL_STEP, &on_borders) } else { matt }
    }
}

/// Minimum ratio between the two ways to measure the density of texture coordinates. It is smaller if the texture
/// coordinates vary almost only in one direction, as for a colour scale.
const LEAST_AREA_SHARE: f32 = 0.1;

/// Returns the change of texture coordinates per world unit. The result is the square root of the ratio between the
/// area of all triangles in texture coordinates and their area in world space, or if this is small, a part of the ratio
/// between the lengths of their edges.
fn uv_density(posed: &PosedPrimitive, indices: &[u32], uvs: &[[f32; 2]]) -> f32 {
    let (mut of_texture, mut of_surface) = (0.0, 0.0);
    let (mut edges_of_texture, mut edges_of_surface) = (0.0, 0.0);
    for triangle in indices.as_chunks::<3>().0 {
        let [a, b, c] = triangle.map(|i| posed.positions[i as usize]);
        let [p, q, r] = triangle.map(|i| uvs.get(i as usize).copied().map_or(Vec2::ZERO, Vec2::from));
        of_surface += (b - a).cross(c - a).length();
        of_texture += (q - p).perp_dot(r - p).abs();
        edges_of_surface += a.distance(b) + b.distance(c) + c.distance(a);
        edges_of_texture += p.distance(q) + q.distance(r) + r.distance(p);
    }
    let by_area = f32::sqrt(of_texture / of_surface.max(f32::MIN_POSITIVE));
    let by_length = edges_of_texture / f32::max(edges_of_surface, f32::MIN_POSITIVE);
    by_area.max(LEAST_AREA_SHARE * by_length)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use plinth_model::{
        AlphaMode, Animation, Channel, Interpolation, Material, Mesh, MorphTarget, Node, Property, Skin, Transform, Trs,
    };
    use plinth_scene::build_scene;
    use plinth_spec::RenderSettings;
    use plinth_spec::settings::ParseOptions;
    use serde_json::json;

    use super::*;

    /// Number of vertices along each side of [`grid`].
    const SIDE: u16 = 41;

    /// Returns a flat square of 3200 triangles.
    fn grid() -> Primitive {
        let side = u32::from(SIDE);
        let place = |i: u16| f32::from(i) / f32::from(SIDE - 1);
        let corners = (0..side - 1).flat_map(|row| (0..side - 1).map(move |column| row * side + column));
        let triangles = corners.flat_map(|a| [a, a + 1, a + side, a + 1, a + side + 1, a + side]);
        let positions: Vec<[f32; 3]> =
            (0..SIDE).flat_map(|row| (0..SIDE).map(move |column| [place(column), place(row), 0.0])).collect();
        let uvs = vec![positions.iter().map(|[x, y, _z]| [*x, *y]).collect()];
        let normals = vec![[0.0, 0.0, 1.0]; positions.len()];
        Primitive { indices: triangles.collect(), positions, normals, uvs, ..Primitive::default() }
    }

    fn model_of(part: Primitive) -> Model {
        Model {
            nodes: vec![Node { name: "part".into(), mesh: Some(0), ..Node::default() }],
            meshes: vec![Mesh { name: "part".into(), primitives: vec![part] }],
            materials: vec![Material::default()],
            ..Model::default()
        }
    }

    /// Returns the number of triangles that are drawn of a model with one primitive, if details of a hundredth of its size
    /// are not visible.
    fn drawn(model: Model) -> usize {
        let settings = RenderSettings::from_json(&json!({"animation": "*"}), ParseOptions::default()).unwrap();
        let scene = build_scene(Arc::new(model), &settings, None).unwrap();
        let posed = scene.pose(scene.shots[0].clip_time);
        drawn_indices(&scene, &posed, Some(0.02))[0].len() / 3
    }

    #[test]
    fn a_flat_surface_has_few_triangles() {
        assert!(drawn(model_of(grid())) < 50);
    }

    /// Returns a cylinder of 1196 triangles whose ends have the radius `end`. If the rest has another radius, the ends
    /// are cones.
    fn cylinder(end: f32) -> Primitive {
        /// Number of sides, and number of rings of triangles along the axis.
        const COUNT: u16 = 24;
        let sides = u32::from(COUNT);
        let vertex = |ring: u16, side: u16| {
            let radius = if ring == 0 || ring == COUNT { end } else { 0.25 };
            let (sin, cos) = (f32::from(side) / f32::from(COUNT) * std::f32::consts::TAU).sin_cos();
            ([radius * cos, f32::from(ring) / f32::from(COUNT), radius * sin], [cos, 0.0, sin])
        };
        let (positions, normals): (Vec<_>, Vec<_>) =
            (0..=COUNT).flat_map(|ring| (0..COUNT).map(move |side| vertex(ring, side))).unzip();
        let around = (0..sides * sides).flat_map(|low| {
            let next = low / sides * sides + (low + 1) % sides;
            [low, low + sides, next, next, low + sides, next + sides]
        });
        let caps = (1..sides - 1).flat_map(|i| {
            let top = sides * sides;
            [0, i, i + 1, top, top + i + 1, top + i]
        });
        Primitive { indices: around.chain(caps).collect(), positions, normals, ..Primitive::default() }
    }

    #[test]
    fn a_closed_blended_body_stays_closed() {
        let body = |end: f32| {
            let material = Material { alpha_mode: AlphaMode::Blend, ..Material::default() };
            let model = Model { materials: vec![material], ..model_of(cylinder(end)) };
            let scene = build_scene(Arc::new(model), &RenderSettings::default(), None).unwrap();
            let posed = scene.pose(scene.shots[0].clip_time);
            let drawn = drawn_indices(&scene, &posed, Some(0.02)).remove(0);
            let encloses = |indices: &[u32]| is_closed(indices.as_chunks::<3>().0, &posed[0].positions);
            assert!(encloses(&cylinder(end).indices) && encloses(&drawn), "{end}");
            drawn.len() / 3
        };
        let all = cylinder(0.25).indices.len() / 3;
        assert!(body(0.25) < all / 2);
        // The ends are so small that the simplification would remove their triangles and open the body.
        assert_eq!(body(1e-5), all);
    }

    #[test]
    fn triangles_that_carry_colours_or_texture_coordinates_are_kept() {
        let wave = |i: usize| (i as f32 * 0.7).sin() * 0.5 + 0.5;
        let count = usize::from(SIDE).pow(2);
        let colored = Primitive { colors: (0..count).map(|i| [wave(i), 0.5, 0.5, 1.0]).collect(), ..grid() };
        let even = Primitive { colors: vec![[0.3; 4]; count], ..grid() };
        let first = grid().uvs[0].clone();
        let bent: Vec<[f32; 2]> = first.iter().enumerate().map(|(i, [s, t])| [s + wave(i), *t]).collect();
        let ramp = Primitive { uvs: vec![(0..count).map(|i| [wave(i), 0.5]).collect()], ..grid() };
        let second = Primitive { uvs: vec![first, bent.clone()], ..grid() };
        let only_second = Primitive { uvs: vec![Vec::new(), bent], ..grid() };
        for (name, part, is_kept) in [
            ("colours", colored, true),
            ("even colours", even, false),
            ("second set", second, true),
            ("one coordinate", ramp, true),
            ("no first set", only_second, true),
        ] {
            let count = drawn(model_of(part));
            assert!(if is_kept { count > 1600 } else { count < 50 }, "{name}: {count} of 3200 triangles");
        }
    }

    /// Returns the ends of the border between both halves of a wavy surface that are still used by each half. The halves do not
    /// share vertices, and the positions of the right half are greater by `gap`.
    fn used_on_border(is_one_primitive: bool, gap: f32) -> [Vec<usize>; 2] {
        let mut whole = grid();
        for [x, y, z] in &mut whole.positions {
            *z = 0.05 * (*y * 9.0 + *x).sin();
        }
        let (side, middle) = (usize::from(SIDE), usize::from(SIDE / 2));
        let is_right = |triangle: &[u32]| triangle.iter().any(|i| *i as usize % side > middle);
        let half = |right: bool| {
            let kept = whole.indices.chunks(3).filter(|triangle| is_right(triangle) == right).flatten().copied();
            Primitive { indices: kept.collect(), ..whole.clone() }
        };
        let (left, mut right) = (half(false), half(true));
        right.positions.iter_mut().flatten().for_each(|c| *c += gap);
        let count = left.positions.len();
        let mut model = model_of(left);
        if is_one_primitive {
            let both = &mut model.meshes[0].primitives[0];
            both.indices.extend(right.indices.iter().map(|i| i + count as u32));
            both.positions.extend(right.positions);
            both.normals.extend(right.normals);
            both.uvs[0].extend(&right.uvs[0]);
        } else {
            model.meshes[0].primitives.push(right);
        }
        let scene = build_scene(Arc::new(model), &RenderSettings::default(), None).unwrap();
        let posed = scene.pose(scene.shots[0].clip_time);
        let drawn = drawn_indices(&scene, &posed, Some(0.02));
        let lists = if is_one_primitive {
            let (left, right) = drawn[0].iter().partition::<Vec<u32>, _>(|i| (**i as usize) < count);
            [left, right.into_iter().map(|i| i - count as u32).collect()]
        } else {
            [drawn[0].clone(), drawn[1].clone()]
        };
        lists.map(|used| {
            let of_border = |row: &usize| used.contains(&((row * side + middle) as u32));
            (0..side).filter(of_border).collect()
        })
    }

    #[test]
    fn primitives_that_lie_on_each_other_are_simplified() {
        let mut model = model_of(grid());
        model.meshes[0].primitives.push(grid());
        let drawn = drawn(model);
        assert!(drawn < 800, "{drawn} of 3200 triangles");
    }

    #[test]
    fn no_gap_opens_between_primitives_or_along_a_seam() {
        let [left, right] = used_on_border(false, 0.0);
        assert_eq!((left.len(), right.len()), (usize::from(SIDE), usize::from(SIDE)));
        for gap in [0.0, 1e-7] {
            let [left, right] = used_on_border(true, gap);
            assert!(left == right && left.len() < usize::from(SIDE), "{gap}: {left:?} {right:?}");
        }
    }

    /// Returns a clip that changes a property of a node from `from` to `to`.
    fn clip(node: usize, property: Property, from: &[f32], to: &[f32]) -> Animation {
        let channel = Channel {
            node,
            property,
            interpolation: Interpolation::Linear,
            times: vec![0.0, 1.0],
            values: [from, to].concat(),
        };
        Animation { name: "clip".into(), duration: 1.0, channels: vec![channel] }
    }

    #[test]
    fn a_surface_that_the_clip_reshapes_keeps_its_triangles() {
        let rigid = [clip(0, Property::Translation, &[0.0; 3], &[0.5; 3])];
        let grows = [clip(0, Property::Scale, &[1e-3; 3], &[1.0; 3])];
        let joints = Primitive {
            joints: vec![[0, 0, 0, 0]; usize::from(SIDE).pow(2)],
            weights: vec![[1.0, 0.0, 0.0, 0.0]; usize::from(SIDE).pow(2)],
            ..grid()
        };
        let mut skinned = model_of(joints);
        skinned.nodes.push(Node { local: Transform::Trs(Trs::default()), ..Node::default() });
        skinned.nodes[0].skin = Some(0);
        skinned.skins.push(Skin { joints: vec![1], inverse_bind: vec![glam::Mat4::IDENTITY] });
        let bends = [clip(1, Property::Rotation, &[0.0, 0.0, 0.0, 1.0], &[0.0, 0.0, 1.0, 0.0])];
        let target = MorphTarget { positions: vec![[0.0; 3]; usize::from(SIDE).pow(2)], ..MorphTarget::default() };
        let morphed = model_of(Primitive { morph_targets: vec![target], ..grid() });
        let with = |mut model: Model, clips: &[Animation]| {
            model.animations.extend_from_slice(clips);
            drawn(model)
        };
        assert!(with(model_of(grid()), &rigid) < 50);
        let turns = [clip(1, Property::Rotation, &[0.0, 0.0, 0.0, 1.0], &[0.0, 0.0, 1.0, 0.0])];
        for (depth, triangles) in [(1.0, 0..50), (10.0, 3200..3201)] {
            let mut stretched = model_of(grid());
            let scale = Trs { scale: Vec3::new(1.0, 1.0, depth), ..Trs::default() };
            stretched.nodes.insert(0, Node { local: Transform::Trs(scale), ..Node::default() });
            stretched.nodes[1].parent = Some(0);
            let drawn = with(stretched, &turns);
            assert!(triangles.contains(&drawn), "{depth}: {drawn}");
        }
        assert_eq!(with(model_of(grid()), &grows), 3200);
        assert!(with(skinned.clone(), &[]) < 50, "a skin that does not move");
        assert_eq!(with(skinned, &bends), 3200);
        assert_eq!(with(morphed, &[]), 3200);
    }

    #[test]
    fn blocks_contain_every_triangle_once_and_are_compact() {
        let side = 300_u32;
        let positions: Vec<Vec3> =
            (0..side * side).map(|i| Vec3::new((i % side) as f32, (i / side) as f32, 0.0) / side as f32).collect();
        let corner = |i: u32| i / (side - 1) * side + i % (side - 1);
        let indices: Vec<u32> = (0..(side - 1) * (side - 1))
            .map(corner)
            .flat_map(|a| [a, a + 1, a + side, a + 1, a + side + 1, a + side])
            .collect();
        for shift in [0.0, SHIFT] {
            let all = blocks(&positions, &indices, shift);
            assert_eq!(all.len(), (indices.len() / 3).div_ceil(BLOCK));
            let triangles = |list: &[u32]| list.as_chunks::<3>().0.to_vec();
            let mut found: Vec<[u32; 3]> = all.iter().flat_map(|block| triangles(block)).collect();
            let mut expected = triangles(&indices);
            found.sort_unstable();
            expected.sort_unstable();
            assert!(found == expected);
            for block in &all {
                let vertices: std::collections::BTreeSet<u32> = block.iter().copied().collect();
                // Compact blocks have few vertices. Strips or scattered triangles would have more.
                assert!(vertices.len() < block.len() / 3, "{} of {}", vertices.len(), block.len() / 3);
            }
        }
    }
}
