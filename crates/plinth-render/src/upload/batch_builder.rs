//! Collects the vertices and triangles of a batch, and uploads them.

use std::collections::BTreeMap;
use std::ops::Range;

use glam::Vec3;
use plinth_bake::BakedMesh;
use plinth_model::Primitive;
use plinth_scene::PosedPrimitive;

use crate::RenderError;
use crate::gpu::Gpu;
use crate::gpu_types::{PoseVertex, SurfaceVertex};
use crate::upload::batch::{Batch, Sortable, Transparency, VertexRange, bounds_of, center};
use crate::upload::gathered_light::{BatchLight, LightSource};
use crate::upload::geometry::{DrawMode, MaterialUse, filled, surface_vertex, write_pose};
use crate::upload::numbered::NumberedTriangles;
use crate::upload::triangles::packed_corners;

/// A batch that has not been uploaded yet.
#[derive(Default)]
pub(super) struct BatchBuilder {
    pub(super) pose: Vec<PoseVertex>,
    surface: Vec<SurfaceVertex>,
    pub(super) indices: Vec<u32>,
    pieces: Vec<VertexRange>,
    mirrored: Vec<bool>,
    chosen: Option<Vec<u32>>,
    triangles: Range<usize>,
}

impl BatchBuilder {
    pub(super) fn add(&mut self, index: usize, posed: &PosedPrimitive, primitive: &Primitive, indices: &[u32]) {
        let first = self.pose.len();
        self.pieces.push(VertexRange {
            posed: index,
            first_vertex: first,
            vertices: posed.positions.len(),
            first_triangle: self.triangles.end,
        });
        self.mirrored.push(posed.mirrored);
        write_pose(posed, primitive, &mut self.pose);
        self.surface.extend((0..posed.positions.len()).map(|v| surface_vertex(primitive, v)));
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

    /// Returns a batch with only the listed vertices and a range of the triangles. `indices` refer to positions in the
    /// list `vertices`.
    fn chosen_only(&self, vertices: &[u32], indices: Vec<u32>, triangles: Range<usize>) -> Self {
        Self {
            pose: vertices.iter().map(|v| self.pose[*v as usize]).collect(),
            surface: vertices.iter().map(|v| self.surface[*v as usize]).collect(),
            indices,
            triangles,
            pieces: self.pieces.clone(),
            mirrored: self.mirrored.clone(),
            chosen: Some(match &self.chosen {
                None => vertices.to_vec(),
                Some(chosen) => vertices.iter().map(|v| chosen[*v as usize]).collect(),
            }),
        }
    }

    /// Splits the batch into parts with at most `most_vertices` vertices and at most 4/3 as many triangles. The order
    /// of the triangles is kept.
    pub(super) fn split(self, most_vertices: usize) -> Vec<Self> {
        let most_corners = most_vertices * 4 / 3 * 3;
        if self.pose.len() <= most_vertices && self.indices.len() <= most_corners {
            return vec![self];
        }
        let mut parts = Vec::new();
        let mut vertices: Vec<u32> = Vec::new();
        let mut indices: Vec<u32> = Vec::new();
        let mut place: BTreeMap<u32, u32> = BTreeMap::new();
        let mut first = self.triangles.start;
        let triangles = self.indices.as_chunks::<3>().0;
        for (number, triangle) in (first..).zip(triangles) {
            if vertices.len() + 3 > most_vertices || indices.len() + 3 > most_corners {
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

    pub(super) fn upload(
        self,
        gpu: &Gpu,
        (light_layout, baked): (&wgpu::BindGroupLayout, &[BakedMesh]),
        (material, moving, used, sorted): (usize, bool, MaterialUse, bool),
        first_triangle: u32,
    ) -> Result<Batch, RenderError> {
        let transparency = match used.drawn {
            DrawMode::Opaque => None,
            _ if sorted => Some(Transparency::Sorted(Sortable {
                indices: self.indices.as_chunks::<3>().0.to_vec(),
                positions: self.pose.iter().map(|v| Vec3::from(v.position)).collect(),
            })),
            DrawMode::Glass | DrawMode::Blended => {
                Some(Transparency::VisibilityBuffer { center: center(&self.pose, &self.indices) })
            }
        };
        let storage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST;
        let vertex = wgpu::BufferUsages::VERTEX | storage;
        let index = wgpu::BufferUsages::INDEX | wgpu::BufferUsages::COPY_DST;
        let source = LightSource { pieces: &self.pieces, chosen: self.chosen.as_deref(), triangles: &self.triangles };
        let is_alpha_tested = used.is_alpha_tested.then_some(&self.surface[..]);
        let (light, numbered) = rayon::join(
            || BatchLight::new(gpu, light_layout, source, baked),
            || NumberedTriangles::new(gpu, &self.pose, is_alpha_tested, &self.indices, moving),
        );
        let (light, numbered) = (light?, numbered?);
        Ok(Batch {
            material,
            moving,
            pose: filled(gpu, "pose", bytemuck::cast_slice(&self.pose), vertex)?,
            surface: filled(gpu, "surface", bytemuck::cast_slice(&self.surface), vertex)?,
            indices: filled(gpu, "indices", bytemuck::cast_slice(&self.indices), index)?,
            packed_corners: filled(gpu, "corners", bytemuck::cast_slice(&packed_corners(&self.indices)), storage)?,
            index_count: self.indices.len() as u32,
            light,
            numbered: Some(numbered),
            first_triangle,
            bounds: bounds_of(&self.pose),
            pieces: self.pieces,
            mirrored: self.mirrored,
            chosen: self.chosen,
            triangles: self.triangles,
            corners: if moving { self.indices } else { Vec::new() },
            transparency,
            sprites: None,
        })
    }
}
