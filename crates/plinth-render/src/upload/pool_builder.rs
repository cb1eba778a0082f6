//! Collects the vertices and triangles of a pool, and uploads them.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use glam::Vec3;
use plinth_bake::BakedMesh;
use plinth_model::Primitive;
use plinth_scene::PosedPrimitive;
use rayon::prelude::*;

use crate::RenderError;
use crate::gpu::Gpu;
use crate::gpu_types::{PoseVertex, SurfaceVertex};
use crate::upload::batch::{Batch, Sortable, Transparency, center};
use crate::upload::boxes::{MIN_BATCHES, bounds_of, boxes_of_triangles};
use crate::upload::gathered_light::{LightSource, PoolLight};
use crate::upload::geometry::{DrawMode, MIN_VERTICES, MaterialUse, filled, surface_vertex, write_pose};
use crate::upload::numbered::NumberedTriangles;
use crate::upload::pool::{Pool, VertexRange, vertices_of};
use crate::upload::triangles::{HostTriangles, packed_corners, positions, triangle_words};

/// A pool that has not been uploaded yet.
#[derive(Default)]
pub(super) struct PoolBuilder {
    pose: Vec<PoseVertex>,
    surface: Vec<SurfaceVertex>,
    indices: Vec<u32>,
    pieces: Vec<VertexRange>,
    mirrored: Vec<bool>,
    chosen: Option<Vec<u32>>,
    triangles: Range<usize>,
    batches: Vec<BatchDraft>,
}

/// A batch of a pool that has not been uploaded yet.
#[derive(Clone)]
struct BatchDraft {
    number: usize,
    material: usize,
    indices: Range<u32>,
    vertices: Range<u32>,
}

/// How the batches of a pool are drawn.
#[derive(Clone, Copy)]
pub(super) struct PoolUse {
    pub(super) moving: bool,
    pub(super) material: MaterialUse,
    /// Whether the triangles are sorted from back to front. Such a pool has one batch.
    pub(super) sorted: bool,
    /// Whether opaque triangles without an alpha test are also kept in main memory.
    pub(super) in_main_memory: bool,
}

/// Numbers of vertices and of triangle corners.
#[derive(Clone, Copy)]
pub(super) struct PoolSize {
    pub(super) vertices: usize,
    pub(super) corners: usize,
}

impl PoolSize {
    /// Returns the maximum size of a pool: `vertices` vertices, and 4/3 as many triangles.
    pub(super) const fn most(vertices: usize) -> Self {
        Self { vertices, corners: vertices * 4 / 3 * 3 }
    }

    pub(super) const fn fits(self, most: Self) -> bool {
        self.vertices <= most.vertices && self.corners <= most.corners
    }
}

impl PoolBuilder {
    pub(super) fn is_empty(&self) -> bool {
        self.batches.is_empty()
    }

    /// Returns the size that the pool would have if `more` vertices and corners were added.
    pub(super) fn size_with(&self, more: PoolSize) -> PoolSize {
        PoolSize { vertices: self.pose.len() + more.vertices, corners: self.indices.len() + more.corners }
    }

    pub(super) fn triangle_count(&self) -> usize {
        self.indices.len() / 3
    }

    /// Ends a batch, which consists of everything that was added since the previous batch ended.
    pub(super) fn end_batch(&mut self, number: usize, material: usize) {
        let (first_index, first_vertex) =
            self.batches.last().map_or((0, 0), |last| (last.indices.end, last.vertices.end));
        self.batches.push(BatchDraft {
            number,
            material,
            indices: first_index..self.indices.len() as u32,
            vertices: first_vertex..self.pose.len() as u32,
        });
    }

    /// Adds a posed primitive. `index` is its index among all posed primitives.
    pub(super) fn add(&mut self, index: usize, posed: &PosedPrimitive, primitive: &Primitive, indices: &[u32]) {
        let first = self.pose.len();
        self.pieces.push(VertexRange {
            posed: index,
            first_vertex: first,
            vertices: posed.positions.len(),
            first_triangle: self.triangles.end,
            batch: self.batches.len(),
        });
        self.mirrored.push(posed.mirrored);
        write_pose(posed, primitive, &mut self.pose);
        let vertices = (0..posed.positions.len()).into_par_iter().with_min_len(MIN_VERTICES);
        self.surface.par_extend(vertices.map(|v| surface_vertex(primitive, v)));
        self.triangles.end += indices.len() / 3;
        let offset = first as u32;
        for corner in indices.chunks_exact(3) {
            let (a, b, c) = (corner[0] + offset, corner[1] + offset, corner[2] + offset);
            self.indices.extend(if posed.mirrored { [a, c, b] } else { [a, b, c] });
        }
    }

    /// Gives each triangle its own vertices, in the order of the triangles. After sorting, a triangle can still be
    /// identified by its vertices.
    pub(super) fn with_triangles_apart(self) -> Self {
        self.chosen_only(&self.indices, (0..self.indices.len() as u32).collect(), self.triangles.clone())
    }

    /// Returns a pool with only the listed vertices and a range of the triangles. `indices` refer to positions in the
    /// list `vertices`.
    fn chosen_only(&self, vertices: &[u32], indices: Vec<u32>, triangles: Range<usize>) -> Self {
        Self {
            pose: vertices.iter().map(|v| self.pose[*v as usize]).collect(),
            surface: vertices.iter().map(|v| self.surface[*v as usize]).collect(),
            indices,
            triangles,
            batches: Vec::new(),
            pieces: self.pieces.clone(),
            mirrored: self.mirrored.clone(),
            chosen: Some(match &self.chosen {
                None => vertices.to_vec(),
                Some(chosen) => vertices.iter().map(|v| chosen[*v as usize]).collect(),
            }),
        }
    }

    /// Splits the vertices and triangles into parts that are not larger than `most`. The order of the triangles is
    /// kept.
    pub(super) fn split(self, most: PoolSize) -> Vec<Self> {
        if self.size_with(PoolSize { vertices: 0, corners: 0 }).fits(most) {
            return vec![self];
        }
        let mut parts = Vec::new();
        let mut vertices: Vec<u32> = Vec::new();
        let mut indices: Vec<u32> = Vec::new();
        let mut place: BTreeMap<u32, u32> = BTreeMap::new();
        let mut first = self.triangles.start;
        let triangles = self.indices.as_chunks::<3>().0;
        for (number, triangle) in (first..).zip(triangles) {
            if !(PoolSize { vertices: vertices.len() + 3, corners: indices.len() + 3 }).fits(most) {
                parts.push(self.chosen_only(&vertices, std::mem::take(&mut indices), first..number));
                vertices.clear();
                place.clear();
                first = number;
            }
            for corner in triangle {
                let next = vertices.len() as u32;
                let at = *place.entry(*corner).or_insert(next);
                if at == next {
                    vertices.push(*corner);
                }
                indices.push(at);
            }
        }
        parts.push(self.chosen_only(&vertices, indices, first..self.triangles.end));
        parts
    }

    /// Returns the words of all triangles for the visibility buffer.
    pub(super) fn triangle_words(&self) -> impl Iterator<Item = u32> {
        self.batches.iter().flat_map(|batch| triangle_words(batch.number, &self.pose, self.corners_of(batch)))
    }

    fn corners_of(&self, batch: &BatchDraft) -> &[u32] {
        &self.indices[batch.indices.start as usize..batch.indices.end as usize]
    }

    /// Uploads the pool. Returns the pool, and its batches with their numbers. `index` is the index of the pool.
    pub(super) fn upload(
        self,
        gpu: &Gpu,
        (light_layout, baked): (&wgpu::BindGroupLayout, &[BakedMesh]),
        used: PoolUse,
        (index, first_triangle): (usize, u32),
    ) -> Result<(Pool, Vec<(usize, Batch)>), RenderError> {
        let transparency = || match used.material.drawn {
            DrawMode::Opaque => None,
            _ if used.sorted => Some(Transparency::Sorted(Sortable::new(
                self.indices.as_chunks::<3>().0.to_vec(),
                self.pose.iter().map(|v| Vec3::from(v.position)).collect(),
            ))),
            DrawMode::Glass | DrawMode::Blended => {
                Some(Transparency::VisibilityBuffer { center: center(&self.pose, &self.indices) })
            }
        };
        let has_boxes = self.batches.len() >= MIN_BATCHES;
        let batch = |draft: &BatchDraft| {
            let bounds = bounds_of(vertices_of(&self.pose, &draft.vertices));
            let boxes = || boxes_of_triangles(&self.pose, self.corners_of(draft), bounds);
            Batch {
                material: draft.material,
                pool: index,
                bounds,
                boxes: if has_boxes { boxes() } else { Vec::new() },
                indices: draft.indices.clone(),
                vertices: draft.vertices.clone(),
                transparency: transparency(),
                sprites: None,
            }
        };
        let batches = self.batches.iter().map(|draft| (draft.number, batch(draft))).collect();
        let storage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST;
        let vertex = wgpu::BufferUsages::VERTEX | storage;
        // A graphics card writes the triangles of a sorted batch in their new order.
        let written = if used.sorted { wgpu::BufferUsages::STORAGE } else { wgpu::BufferUsages::empty() };
        let index = wgpu::BufferUsages::INDEX | wgpu::BufferUsages::COPY_DST | written;
        let source = LightSource { pieces: &self.pieces, chosen: self.chosen.as_deref(), triangles: &self.triangles };
        let is_alpha_tested = used.material.is_alpha_tested.then_some(&self.surface[..]);
        let in_main_memory = used.in_main_memory && used.material.shares_pool();
        let host = in_main_memory.then(|| Arc::new(HostTriangles::new(&self.pose, &self.indices)));
        let numbered =
            || NumberedTriangles::new(gpu, &positions(&self.pose), is_alpha_tested, &self.indices, used.moving);
        let (light, numbered) = rayon::join(
            || PoolLight::new(gpu, light_layout, source, baked),
            || (!in_main_memory).then(numbered).transpose(),
        );
        let (light, numbered) = (light?, numbered?);
        let pool = Pool {
            moving: used.moving,
            pose: filled(gpu, "pose", bytemuck::cast_slice(&self.pose), vertex)?,
            surface: filled(gpu, "surface", bytemuck::cast_slice(&self.surface), vertex)?,
            indices: filled(gpu, "indices", bytemuck::cast_slice(&self.indices), index)?,
            packed_corners: filled(gpu, "corners", bytemuck::cast_slice(&packed_corners(&self.indices)), storage)?,
            light,
            numbered: Arc::new(numbered.map_or_else(OnceLock::new, OnceLock::from)),
            host,
            first_triangle,
            pieces: self.pieces,
            mirrored_at_first: used.sorted.then(|| self.mirrored.clone()),
            mirrored: self.mirrored,
            chosen: self.chosen,
            triangles: self.triangles,
            corners: if used.moving { self.indices } else { Vec::new() },
        };
        Ok((pool, batches))
    }
}
