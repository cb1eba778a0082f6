//! A batch of triangles, points or lines on the device, and its changes from frame to frame.

use std::collections::BTreeMap;
use std::ops::Range;

use glam::Vec3;
use plinth_bake::BakedMesh;
use plinth_scene::{PosedPrimitive, Scene};

use crate::RenderError;
use crate::gpu::Gpu;
use crate::gpu_types::{self, PoseVertex};
use crate::upload::gathered_light::{BatchLight, LightSource};
use crate::upload::geometry::{primitive_of, write_pose};
use crate::upload::numbered::NumberedTriangles;
use crate::upload::sprites::Sprites;
use crate::upload::triangles::{FIRST_TRIANGLE, packed_corners, triangle_words};

/// Consecutive vertices of a batch that belong to the same posed primitive.
#[derive(Clone, Copy, Debug)]
pub(crate) struct VertexRange {
    pub(super) posed: usize,
    pub(super) first_vertex: usize,
    pub(super) vertices: usize,
    pub(super) first_triangle: usize,
}

/// Triangles, points or lines that have the same material and are drawn with one call.
#[derive(Clone)]
pub(crate) struct Batch {
    pub(crate) material: usize,
    pub(crate) moving: bool,
    pub(crate) pose: wgpu::Buffer,
    pub(crate) surface: wgpu::Buffer,
    pub(crate) indices: wgpu::Buffer,
    /// The corners of all triangles in the order of their numbers, for shaders.
    pub(crate) packed_corners: wgpu::Buffer,
    pub(crate) light: BatchLight,
    pub(crate) index_count: u32,
    /// Vertices for passes that write triangle numbers. `None` for points and lines.
    pub(crate) numbered: Option<NumberedTriangles>,
    /// Number of the batch's first triangle in the visibility buffer.
    pub(crate) first_triangle: u32,
    /// World-space bounds in the current pose.
    pub(crate) bounds: (Vec3, Vec3),
    pub(super) pieces: Vec<VertexRange>,
    /// For each piece, whether a mirroring node reverses the winding of its triangles.
    pub(super) mirrored: Vec<bool>,
    /// For each vertex of the batch, its index among the vertices of the pieces. `None` if both are the same.
    pub(super) chosen: Option<Vec<u32>>,
    /// The range of the batch's triangles among the triangles of its pieces.
    pub(super) triangles: Range<usize>,
    /// Vertex indices of the triangle corners. Empty if the batch does not move.
    pub(super) corners: Vec<u32>,
    /// How a transmissive or blended batch is drawn. `None` for opaque and alpha-tested batches.
    pub(crate) transparency: Option<Transparency>,
    /// Points or lines of the batch. A batch with points or lines has no triangles.
    pub(crate) sprites: Option<Sprites>,
}

/// How a transmissive or blended batch is drawn over the surfaces that are already in the picture.
#[derive(Clone)]
pub(crate) enum Transparency {
    /// All its triangles, from back to front.
    Sorted(Sortable),
    /// Only its visible triangles, through a visibility buffer.
    VisibilityBuffer {
        /// Mean position of the corners of its triangles.
        center: Vec3,
    },
}

impl Transparency {
    /// Returns the data for sorting the triangles. `None` if they are not sorted.
    pub(crate) fn sortable(&self) -> Option<&Sortable> {
        match self {
            Self::Sorted(sortable) => Some(sortable),
            Self::VisibilityBuffer { .. } => None,
        }
    }
}

/// Triangle corners and their world positions, for sorting triangles from back to front.
#[derive(Clone)]
pub(crate) struct Sortable {
    pub(crate) indices: Vec<[u32; 3]>,
    pub(super) positions: Vec<Vec3>,
}

impl Batch {
    /// Returns the uniform of the batch. `number` is the index of the batch. `surface` (0 or 1) is the surface of each
    /// pixel that is shaded.
    pub(crate) fn twin(&self, number: u32, surface: u32) -> gpu_types::Batch {
        let sprites = self.sprites.as_ref().map(|sprites| sprites.look).unwrap_or_default();
        gpu_types::Batch { first_triangle: self.first_triangle, number, surface, sprites }
    }

    /// Replaces the baked light by the light of another pose. `baked` has one entry per posed primitive.
    /// Errors: if the light exceeds the limits of the adapter.
    pub(crate) fn relight(
        &mut self,
        gpu: &Gpu,
        layout: &wgpu::BindGroupLayout,
        baked: &[BakedMesh],
    ) -> Result<(), RenderError> {
        if self.sprites.is_some() {
            return Ok(());
        }
        let source = LightSource { pieces: &self.pieces, chosen: self.chosen.as_deref(), triangles: &self.triangles };
        self.light.update(gpu, layout, source, baked)
    }

    /// Returns the batch with other baked light. The light of this batch stays as it is.
    /// Errors: if the light exceeds the limits of the adapter.
    pub(crate) fn with_light(
        &self,
        gpu: &Gpu,
        layout: &wgpu::BindGroupLayout,
        baked: &[BakedMesh],
    ) -> Result<Self, RenderError> {
        let source = LightSource { pieces: &self.pieces, chosen: self.chosen.as_deref(), triangles: &self.triangles };
        Ok(Self { light: BatchLight::new(gpu, layout, source, baked)?, ..self.clone() })
    }

    /// Uploads the vertices of a new pose. `number` is the index of the batch.
    pub(crate) fn update(
        &mut self,
        gpu: &Gpu,
        scene: &Scene,
        posed: &[PosedPrimitive],
        number: usize,
        triangles: &wgpu::Buffer,
    ) {
        let mut vertices = Vec::new();
        for piece in &self.pieces {
            if let Some(primitive) = primitive_of(scene, &posed[piece.posed]) {
                debug_assert_eq!(vertices.len(), piece.first_vertex);
                write_pose(&posed[piece.posed], primitive, &mut vertices);
            }
        }
        if let Some(chosen) = &self.chosen {
            vertices = chosen.iter().map(|v| vertices[*v as usize]).collect();
        }
        gpu.write(&self.pose, 0, bytemuck::cast_slice(&vertices));
        if let Some(numbered) = &self.numbered {
            numbered.update(gpu, &vertices);
        }
        self.bounds = bounds_of(&vertices);
        self.turn(gpu, posed);
        match &mut self.transparency {
            Some(Transparency::Sorted(sortable)) => {
                sortable.positions = vertices.iter().map(|v| Vec3::from(v.position)).collect();
            }
            Some(Transparency::VisibilityBuffer { center: known }) => *known = center(&vertices, &self.corners),
            None => {}
        }
        if self.sprites.is_none() && self.sortable().is_none() {
            let words = triangle_words(number, &vertices, &self.corners);
            let offset = u64::from(self.first_triangle - FIRST_TRIANGLE) * size_of::<u32>() as u64;
            gpu.write(triangles, offset, bytemuck::cast_slice(&words));
        }
    }

    /// Reverses the winding of the pieces that the clip has mirrored since the last pose.
    fn turn(&mut self, gpu: &Gpu, posed: &[PosedPrimitive]) {
        let now: Vec<bool> = self.pieces.iter().map(|piece| posed[piece.posed].mirrored).collect();
        if now == self.mirrored {
            return;
        }
        let changed: Vec<bool> = now.iter().zip(&self.mirrored).map(|(a, b)| a != b).collect();
        let turns = |triangle: &[u32; 3]| {
            let vertex = self.chosen.as_ref().map_or(triangle[0], |c| c[triangle[0] as usize]) as usize;
            changed[self.pieces.partition_point(|piece| piece.first_vertex <= vertex) - 1]
        };
        let triangles = self.corners.as_chunks_mut::<3>().0;
        let turned: Vec<usize> = (0..triangles.len()).filter(|number| turns(&triangles[*number])).collect();
        for number in &turned {
            triangles[*number].swap(1, 2);
            if let Some(Transparency::Sorted(sortable)) = &mut self.transparency {
                sortable.indices[*number].swap(1, 2);
            }
        }
        gpu.write(&self.indices, 0, bytemuck::cast_slice(&self.corners));
        gpu.write(&self.packed_corners, 0, bytemuck::cast_slice(&packed_corners(&self.corners)));
        if let Some(numbered) = &mut self.numbered {
            numbered.turn(gpu, &turned);
        }
        self.mirrored = now;
    }

    /// Returns the data for sorting the triangles. `None` if they are not sorted.
    pub(crate) fn sortable(&self) -> Option<&Sortable> {
        self.transparency.as_ref().and_then(Transparency::sortable)
    }

    /// Whether the batch is transmissive and drawn through a visibility buffer.
    pub(crate) const fn is_visibility_buffered_glass(&self) -> bool {
        matches!(self.transparency, Some(Transparency::VisibilityBuffer { .. }))
    }

    /// Sorts the triangles from back to front along `forward`, and uploads them. Does nothing if they are not sorted.
    pub(crate) fn sort(&mut self, gpu: &Gpu, forward: Vec3) {
        let Some(Transparency::Sorted(sortable)) = &mut self.transparency else { return };
        let depth =
            |corners: &[u32; 3]| corners.iter().map(|c| sortable.positions[*c as usize]).sum::<Vec3>().dot(forward);
        let mut keyed: Vec<(f32, [u32; 3])> = sortable.indices.iter().map(|t| (depth(t), *t)).collect();
        keyed.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let ordered: Vec<[u32; 3]> = keyed.into_iter().map(|(_, t)| t).collect();
        gpu.write(&self.indices, 0, bytemuck::cast_slice(&ordered));
    }

    /// Returns the mean depth along `forward`. Batches are sorted by this value.
    pub(crate) fn mean_depth(&self, forward: Vec3) -> f32 {
        match &self.transparency {
            None => 0.0,
            Some(Transparency::Sorted(s)) => {
                s.positions.iter().map(|p| p.dot(forward)).sum::<f32>() / (s.positions.len().max(1) as f32)
            }
            Some(Transparency::VisibilityBuffer { center }) => center.dot(forward),
        }
    }
}

/// Returns whether each edge belongs to exactly two triangles, which run along it in opposite directions. Vertices at
/// the same position count as one. If this is true, the surface encloses a body, and the inside of the body is visible
/// through its front.
pub(crate) fn is_closed(sortable: &Sortable) -> bool {
    let mut ids: BTreeMap<[u32; 3], u32> = BTreeMap::new();
    let corner: Vec<u32> = sortable
        .positions
        .iter()
        .map(|p| {
            let next = ids.len() as u32;
            *ids.entry((*p + Vec3::ZERO).to_array().map(f32::to_bits)).or_insert(next)
        })
        .collect();
    let mut edges: BTreeMap<(u32, u32), i32> = BTreeMap::new();
    for triangle in &sortable.indices {
        let [a, b, c] = triangle.map(|i| corner[i as usize]);
        if a == b || b == c || c == a {
            continue;
        }
        for (from, to) in [(a, b), (b, c), (c, a)] {
            let sign = if from < to { 1 } else { -1 };
            *edges.entry((from.min(to), from.max(to))).or_default() += sign;
        }
    }
    !edges.is_empty() && edges.values().all(|sum| *sum == 0)
}

pub(super) fn bounds_of(vertices: &[PoseVertex]) -> (Vec3, Vec3) {
    vertices.iter().fold((Vec3::MAX, Vec3::MIN), |(low, high), v| {
        let p = Vec3::from(v.position);
        (low.min(p), high.max(p))
    })
}

/// Returns the mean position of the corners of triangles.
pub(super) fn center(vertices: &[PoseVertex], corners: &[u32]) -> Vec3 {
    let sum = corners.iter().map(|corner| Vec3::from(vertices[*corner as usize].position)).sum::<Vec3>();
    sum / corners.len().max(1) as f32
}
