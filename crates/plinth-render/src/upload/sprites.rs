//! Uploads points and lines as batches: their vertices in the order in which they are drawn, and their size.
//!
//! The size of points and lines in the picture depends on the camera. Therefore shaders expand them to triangles in
//! each view ([`crate::pass::sprites`]).

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use glam::Vec3;
use plinth_scene::Scene;

use super::batch::Batch;
use super::boxes::bounds_of;
use super::gathered_light::{LightSource, PoolLight};
use super::geometry::{PosedModel, filled, primitive_of, surface_vertex, write_pose};
use super::pool::{Pool, VertexRange};
use super::spacing::{CELLS_PER_SQUARE, spacing};
use super::sprite_material::{SpriteKind, SpriteUse, sprite_use};
use super::triangles::FIRST_TRIANGLE;
use crate::RenderError;
use crate::bindings;
use crate::gpu::Gpu;
use crate::gpu_types::{self, PoseVertex, SpriteLook, SurfaceVertex};

/// Width of lines and minimum diameter of points, as a fraction of the picture's shorter side. The size is 2 pixels if
/// this side has 1080 pixels. In small pictures, the size is at least one pixel.
const MIN_POINT_SIZE: f32 = 2.0 / 1080.0;
/// Maximum diameter of points, as a fraction of the picture's shorter side.
const MAX_POINT_SIZE: f32 = 1.0 / 16.0;
/// Diameter of points, divided by the distance between neighbouring points. With this size, randomly placed discs cover
/// 1 − exp(−π/4·2.5²) of the surface, which is 99 %.
const OVERLAP: f32 = 2.5;
/// Minimum diameter of points in world units. For comparison, models span 2 units.
const MIN_DIAMETER: f32 = 0.004;
/// Maximum distance between neighbouring points at which they are treated as a surface, in world units.
const MAX_SPACING: f32 = 0.02;
/// Minimum diameter, in world units, of points that are farther apart than `MAX_SPACING`. Such points are drawn as
/// separate dots.
const DOT_DIAMETER: f32 = 0.025;
/// Width of the shadow of lines in world units. The shadow is about as wide as a line in a picture that shows the whole
/// model.
const LINE_WIDTH: f32 = 0.004;

/// If neighbouring points are closer than this number of pixels, some points may be removed to save time.
const MIN_PIXEL_SPACING: f32 = 0.7;

/// The points or lines of a batch.
#[derive(Clone)]
pub(crate) struct Sprites {
    pub(crate) kind: SpriteKind,
    /// Number of points or lines.
    pub(crate) count: u32,
    pub(crate) look: SpriteLook,
    /// Bind group 1 of the passes that determine which points and lines are visible.
    pub(crate) group: wgpu::BindGroup,
}

impl Sprites {
    /// Returns the radius in pixels at a distance along the camera's axis. `pixels_per_unit` is the size in pixels of a
    /// world unit at distance 1.
    pub(crate) fn radius(&self, pixels_per_unit: f32, distance: f32) -> f32 {
        let SpriteLook { radius, least_pixels: least, most_pixels: most, .. } = self.look;
        match self.kind {
            SpriteKind::Points => (radius * pixels_per_unit / distance).clamp(least, most),
            SpriteKind::Lines => least,
        }
    }
}

/// Everything besides the scene that is needed to build batches of points and lines.
pub(crate) struct SpriteInputs<'a> {
    pub(crate) layout: &'a wgpu::BindGroupLayout,
    pub(crate) light_layout: &'a wgpu::BindGroupLayout,
    /// The index of the material for each use of a material.
    pub(crate) materials: &'a BTreeMap<SpriteUse, usize>,
    /// The shorter side of the picture in pixels.
    pub(crate) short_side: u32,
    /// Size of details that may be removed; see [`crate::prepare::min_visible_size`].
    pub(crate) pixel: Option<f32>,
}

/// Creates the layout of bind group 1 for points and lines: the pose, the batch and the attributes. These resources
/// have the same binding numbers as in the layout for shading.
pub(crate) fn sprites_layout(gpu: &Gpu) -> wgpu::BindGroupLayout {
    let entries = [bindings::vertex_storage(1), bindings::uniform(3), bindings::vertex_storage(4)];
    bindings::layout(&gpu.device, "sprites", &entries)
}

/// Appends the batches of points and lines to `batches`, their pools to `pools`, and one word for each point or line to
/// `words`.
pub(crate) fn build(
    gpu: &Gpu,
    scene: &Scene,
    posed: &PosedModel<'_>,
    inputs: &SpriteInputs<'_>,
    (pools, batches, words): (&mut Vec<Pool>, &mut Vec<Batch>, &mut Vec<u32>),
) -> Result<(), RenderError> {
    let mut groups: BTreeMap<(usize, bool), (SpriteUse, Vec<usize>)> = BTreeMap::new();
    for (i, one) in posed.primitives.iter().enumerate() {
        if let Some(used) = sprite_use(scene, one)
            && let Some(material) = inputs.materials.get(&used)
        {
            groups.entry((*material, posed.moving[i])).or_insert((used, Vec::new())).1.push(i);
        }
    }
    let most = gpu.max_storage_bytes() as usize / size_of::<SurfaceVertex>();
    let reshaped = scene.reshaped(posed.primitives);
    for ((material, moving), (used, members)) in groups {
        let mut draft = BatchBuilder::default();
        // Points that are close to each other in the first pose may be far apart in others.
        let is_reshaped = members.iter().any(|i| reshaped[*i]);
        for i in members {
            draft.add(scene, posed, i, used.kind);
        }
        if let Some(pixel) = inputs.pixel.filter(|_| used.kind == SpriteKind::Points && !is_reshaped) {
            draft.thin_out(MIN_PIXEL_SPACING * pixel, moving);
        }
        let look = draft.look(used, inputs.short_side);
        for part in draft.split(most / used.kind.vertices() * used.kind.vertices()) {
            let first = FIRST_TRIANGLE + words.len() as u32;
            let count = (part.pose.len() / used.kind.vertices()) as u32;
            words.extend((0..count).map(|i| word(batches.len(), first + i)));
            let place = BatchPlace { material, moving, first, pool: pools.len() };
            let (pool, batch) = part.upload(gpu, used.kind, look, place, inputs)?;
            pools.push(pool);
            batches.push(batch);
        }
    }
    Ok(())
}

/// Returns the word of a point or line for the visibility buffer. Triangles with similar normals may be merged to one
/// surface, but two points or lines must not. Therefore the bits of the normal contain a hash of the number of the
/// point or line (multiplicative hashing: Knuth 1998, "The Art of Computer Programming", 6.4).
fn word(batch: usize, number: u32) -> u32 {
    batch as u32 | number.wrapping_mul(2_654_435_769) >> 16 << 16
}

/// Returns the cell of a grid that contains a point. `side` is the side length of the cells.
fn cell(position: [f32; 3], side: f32) -> [i32; 3] {
    position.map(|coordinate| (coordinate / side).floor() as i32)
}

/// Returns the diameter of points in world units, given the distance between neighbouring points. If the points are
/// dense, they are large enough to form a closed surface. If they are sparse, they are small dots.
fn diameter(spacing: f32) -> f32 {
    if spacing <= 0.0 {
        DOT_DIAMETER
    } else if spacing <= MAX_SPACING {
        (OVERLAP * spacing).max(MIN_DIAMETER)
    } else {
        (OVERLAP * MAX_SPACING * MAX_SPACING / spacing).max(DOT_DIAMETER)
    }
}

/// The material of a batch, and where the batch is stored.
#[derive(Clone, Copy)]
struct BatchPlace {
    material: usize,
    moving: bool,
    /// Number of the first point or line.
    first: u32,
    /// Index of the pool.
    pool: usize,
}

/// A batch that has not been uploaded yet.
#[derive(Default)]
struct BatchBuilder {
    /// The vertices that are drawn: one per point, or two per line.
    pose: Vec<PoseVertex>,
    surface: Vec<SurfaceVertex>,
    pieces: Vec<VertexRange>,
    /// For each vertex, its index among the vertices of the pieces.
    chosen: Vec<u32>,
    /// Number of vertices of all pieces.
    available: usize,
}

impl BatchBuilder {
    fn add(&mut self, scene: &Scene, posed: &PosedModel<'_>, index: usize, kind: SpriteKind) {
        let one = &posed.primitives[index];
        let Some(primitive) = primitive_of(scene, one) else { return };
        let mut pose = Vec::new();
        write_pose(one, primitive, &mut pose);
        let drawn = &primitive.indices[..primitive.indices.len() / kind.vertices() * kind.vertices()];
        self.pose.extend(drawn.iter().map(|v| pose[*v as usize]));
        self.surface.extend(drawn.iter().map(|v| surface_vertex(primitive, *v as usize)));
        self.chosen.extend(drawn.iter().map(|v| self.available as u32 + v));
        self.pieces.push(VertexRange {
            posed: index,
            first_vertex: self.available,
            vertices: pose.len(),
            first_triangle: 0,
            batch: 0,
        });
        self.available += pose.len();
    }

    /// Keeps one point per cell of a grid, if the mean distance between neighbouring points is less than `distance`. The cells
    /// are so large that the mean distance on a dense surface is then `distance`. If the points are `moving`, each piece has
    /// its own grid, because pieces that overlap in the first pose may move apart.
    fn thin_out(&mut self, distance: f32, moving: bool) {
        let spacing = self.spacing();
        if spacing <= 0.0 || spacing >= distance {
            return;
        }
        let side = distance * CELLS_PER_SQUARE.sqrt();
        let mut taken = HashSet::new();
        let grid = |chosen: &u32| {
            if moving { self.pieces.partition_point(|piece| piece.first_vertex <= *chosen as usize) } else { 0 }
        };
        let kept: Vec<bool> = self
            .pose
            .iter()
            .zip(&self.chosen)
            .map(|(vertex, chosen)| taken.insert((grid(chosen), cell(vertex.position, side))))
            .collect();
        let mut next = kept.iter();
        self.pose.retain(|_| next.next().is_some_and(|kept| *kept));
        let mut next = kept.iter();
        self.surface.retain(|_| next.next().is_some_and(|kept| *kept));
        let mut next = kept.iter();
        self.chosen.retain(|_| next.next().is_some_and(|kept| *kept));
    }

    /// Returns the mean distance between neighbouring points in world units.
    fn spacing(&self) -> f32 {
        let points: Vec<Vec3> = self.pose.iter().map(|v| Vec3::from(v.position)).collect();
        spacing(&points)
    }

    /// Returns how the points or lines look in a picture whose shorter side has `short_side` pixels.
    fn look(&self, used: SpriteUse, short_side: u32) -> SpriteLook {
        let pixels = |share: f32| 0.5 * (share * short_side as f32).max(1.0);
        let (radius, most) = match used.kind {
            SpriteKind::Points => (0.5 * diameter(self.spacing()), MAX_POINT_SIZE),
            SpriteKind::Lines => (0.5 * LINE_WIDTH, MIN_POINT_SIZE),
        };
        SpriteLook {
            has_normals: f32::from(u8::from(used.lit)),
            radius,
            least_pixels: pixels(MIN_POINT_SIZE),
            most_pixels: pixels(most),
        }
    }

    /// Splits the batch into parts with at most `most` vertices.
    fn split(self, most: usize) -> Vec<Self> {
        if self.pose.len() <= most {
            return vec![self];
        }
        let chunks = self.pose.chunks(most).zip(self.surface.chunks(most)).zip(self.chosen.chunks(most));
        chunks
            .map(|((pose, surface), chosen)| Self {
                pose: pose.to_vec(),
                surface: surface.to_vec(),
                pieces: self.pieces.clone(),
                chosen: chosen.to_vec(),
                available: self.available,
            })
            .collect()
    }

    fn upload(
        self,
        gpu: &Gpu,
        kind: SpriteKind,
        look: SpriteLook,
        place: BatchPlace,
        inputs: &SpriteInputs<'_>,
    ) -> Result<(Pool, Batch), RenderError> {
        let storage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST;
        let twin = gpu_types::Pool { first_triangle: place.first, surface: 0, sprites: look };
        let uniform = filled(gpu, "sprites", bytemuck::bytes_of(&twin), wgpu::BufferUsages::UNIFORM)?;
        let pose = filled(gpu, "pose", bytemuck::cast_slice(&self.pose), storage)?;
        let surface = filled(gpu, "surface", bytemuck::cast_slice(&self.surface), storage)?;
        let group = gpu.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("sprites"),
            layout: inputs.layout,
            entries: &[(1, &pose), (3, &uniform), (4, &surface)]
                .map(|(binding, buffer)| wgpu::BindGroupEntry { binding, resource: buffer.as_entire_binding() }),
        });
        let count = (self.pose.len() / kind.vertices()) as u32;
        let batch = Batch {
            material: place.material,
            pool: place.pool,
            indices: 0..0,
            vertices: 0..self.pose.len() as u32,
            bounds: bounds_of(&self.pose),
            boxes: Vec::new(),
            transparency: None,
            sprites: Some(Sprites { kind, count, look, group }),
        };
        let pool = Pool {
            moving: place.moving,
            pose,
            surface,
            // No indices are needed, because the vertices are drawn in their order.
            indices: filled(gpu, "indices", &[], wgpu::BufferUsages::INDEX)?,
            packed_corners: filled(gpu, "corners", &[], storage)?,
            // No light is baked on points and lines.
            light: PoolLight::new(gpu, inputs.light_layout, LightSource::NONE, &[])?,
            numbered: Arc::default(),
            host: None,
            first_triangle: place.first,
            // Points and lines have no winding.
            mirrored: vec![false; self.pieces.len()],
            mirrored_at_first: None,
            pieces: self.pieces,
            chosen: place.moving.then_some(self.chosen),
            triangles: 0..0,
            corners: Vec::new(),
        };
        Ok((pool, batch))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dense_points_form_a_closed_surface_and_sparse_points_are_dots() {
        let near = |a: f32, b: f32| (a - b).abs() < 1e-4;
        assert!(near(diameter(0.01), 0.025) && near(diameter(MAX_SPACING), 0.05));
        assert!(near(diameter(MAX_SPACING * 1.001), 0.05), "no jump");
        assert!(
            near(diameter(1e-5), MIN_DIAMETER)
                && near(diameter(0.3), DOT_DIAMETER)
                && near(diameter(0.0), DOT_DIAMETER)
        );
    }

    #[test]
    fn sparse_points_beside_dense_ones_are_kept() {
        let mut draft = BatchBuilder::default();
        let on_plane = |i: u32, step: f32| [(i % 200) as f32 * step, (i / 200) as f32 * step, 0.0];
        let dense = (0..40_000).map(|i| on_plane(i, 1e-4));
        let sparse = (0..400).map(|i| on_plane(i * 7, 0.01).map(|c| c + 0.5));
        for position in dense.chain(sparse) {
            draft.pose.push(PoseVertex { position, ..PoseVertex::default() });
            draft.surface.push(SurfaceVertex::default());
            draft.chosen.push(draft.chosen.len() as u32);
        }
        draft.thin_out(1e-3, false);
        let kept = draft.chosen.iter().filter(|i| **i >= 40_000).count();
        assert_eq!(kept, 400);
        assert!((200..600).contains(&(draft.chosen.len() - kept)), "{}", draft.chosen.len());
    }

    #[test]
    fn points_that_are_too_close_are_thinned_out() {
        let mut draft = BatchBuilder::default();
        for i in 0..40_000_u32 {
            let position = [(i % 200) as f32 / 100.0, (i / 200) as f32 / 100.0, 0.0];
            draft.pose.push(PoseVertex { position, ..PoseVertex::default() });
            draft.surface.push(SurfaceVertex::default());
            draft.chosen.push(i);
        }
        let before = draft.spacing();
        draft.thin_out(0.5 * before, false);
        assert_eq!(draft.pose.len(), 40_000);
        draft.thin_out(2.0 * before, false);
        assert!((9_500..10_500).contains(&draft.pose.len()), "{}", draft.pose.len());
        assert_eq!((draft.pose.len(), draft.pose.len()), (draft.surface.len(), draft.chosen.len()));
        let place = |i: u32| [(i % 200) as f32 / 100.0, (i / 200) as f32 / 100.0, 0.0];
        assert!(
            draft
                .pose
                .iter()
                .zip(&draft.chosen)
                .all(|(v, i)| v.position.map(f32::to_bits) == place(*i).map(f32::to_bits))
        );
        assert!((draft.spacing() / before - 2.0).abs() < 0.3);
    }

    #[test]
    fn pieces_that_may_move_apart_do_not_hide_points_of_each_other() {
        let count = 40_000;
        let kept_of_pieces = |moving: bool| {
            let mut draft = BatchBuilder::default();
            for posed in 0..2 {
                let first_vertex = draft.chosen.len();
                draft.pieces.push(VertexRange { posed, first_vertex, vertices: count, first_triangle: 0, batch: 0 });
                for i in 0..count {
                    let position = [(i % 200) as f32 * 1e-4, (i / 200) as f32 * 1e-4, 0.0];
                    draft.pose.push(PoseVertex { position, ..PoseVertex::default() });
                    draft.surface.push(SurfaceVertex::default());
                    draft.chosen.push(draft.chosen.len() as u32);
                }
            }
            draft.thin_out(1e-3, moving);
            let of_first = draft.chosen.iter().filter(|i| (**i as usize) < count).count();
            [of_first, draft.chosen.len() - of_first]
        };
        let [first, second] = kept_of_pieces(true);
        assert!((200..600).contains(&first) && first == second, "{first} {second}");
        assert_eq!(kept_of_pieces(false), [first, 0]);
    }

    #[test]
    fn neighbouring_points_are_never_merged_to_one_surface() {
        let normals: Vec<u32> = (1..100).map(|i| word(7, i) >> 16).collect();
        assert!(normals.windows(2).all(|n| (n[0] & 0xff).abs_diff(n[1] & 0xff) > 20 || n[0] >> 8 != n[1] >> 8));
        assert!((1..100).all(|i| word(7, i) & 0xffff == 7));
    }
}
