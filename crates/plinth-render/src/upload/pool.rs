//! Vertices and triangles on the device that one or several batches share, and their changes from frame to frame.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use glam::Vec3;
use plinth_bake::BakedMesh;
use plinth_scene::{PosedPrimitive, Scene};
use rayon::prelude::*;

use crate::RenderError;
use crate::gpu::Gpu;
use crate::gpu_types::{self, PoseVertex};
use crate::upload::batch::Batch;
use crate::upload::boxes::{Bounds, MIN_BATCHES, around, boxes_of_pieces};
use crate::upload::gathered_light::{LightSource, LightWords, PoolLight};
use crate::upload::geometry::{primitive_of, write_pose};
use crate::upload::numbered::NumberedTriangles;
use crate::upload::triangles::{HostTriangles, TriangleWords, packed_corners, triangle_words};

/// Consecutive vertices of a pool that belong to the same posed primitive.
#[derive(Clone, Copy, Debug)]
pub(crate) struct VertexRange {
    pub(crate) posed: usize,
    pub(super) first_vertex: usize,
    pub(super) vertices: usize,
    pub(super) first_triangle: usize,
    /// Index, among the batches of the pool, of the batch to which the vertices belong.
    pub(super) batch: usize,
}

/// The buffers of one or several batches. Batches with the same buffers can be drawn with one call.
#[derive(Clone)]
pub(crate) struct Pool {
    pub(crate) moving: bool,
    pub(crate) pose: wgpu::Buffer,
    pub(crate) surface: wgpu::Buffer,
    pub(crate) indices: wgpu::Buffer,
    /// The corners of all triangles in the order of their numbers, for shaders.
    pub(crate) packed_corners: wgpu::Buffer,
    pub(crate) light: PoolLight,
    /// Vertices for passes that write or read triangle numbers. Copies of the pool share them. Points and lines have
    /// none. Triangles that are also in main memory have none until such a pass needs them ([`number_triangles`]).
    pub(crate) numbered: Arc<OnceLock<NumberedTriangles>>,
    /// The same triangles in main memory. `None` unless a software driver draws opaque triangles of a scene in which the
    /// processor can determine the visible surfaces.
    pub(crate) host: Option<Arc<HostTriangles>>,
    /// Number of the pool's first triangle, point or line in the visibility buffer.
    pub(crate) first_triangle: u32,
    pub(crate) pieces: Vec<VertexRange>,
    /// For each piece, whether a mirroring node reverses the winding of its triangles.
    pub(super) mirrored: Vec<bool>,
    /// The first value of `mirrored` in a pool whose triangles have vertices of their own, because they are sorted. The
    /// vertices of a triangle keep their order when its winding is reversed. `None` for all other pools.
    pub(super) mirrored_at_first: Option<Vec<bool>>,
    /// For each vertex of the pool, its index among the vertices of the pieces. `None` if both indices are the same.
    pub(crate) chosen: Option<Vec<u32>>,
    /// The range of the pool's triangles among the triangles of its pieces.
    pub(super) triangles: Range<usize>,
    /// Vertex indices of the triangle corners. Empty if the pool does not move.
    pub(crate) corners: Vec<u32>,
}

/// The batches and their pools.
#[derive(Clone, Copy)]
pub(crate) struct Model<'a> {
    pub(crate) pools: &'a [Pool],
    pub(crate) batches: &'a [Batch],
}

impl Pool {
    /// Returns the uniform of the pool. `surface` selects the surface of each pixel that is shaded: 0 for the first, 1
    /// for the second.
    pub(crate) const fn twin(&self, surface: u32, sprites: gpu_types::SpriteLook) -> gpu_types::Pool {
        gpu_types::Pool { first_triangle: self.first_triangle, surface, sprites }
    }

    /// Returns the index of the first posed primitive in the pool.
    pub(crate) fn first_primitive(&self) -> Option<usize> {
        self.pieces.first().map(|piece| piece.posed)
    }

    /// Returns the indices of the posed primitives in the pool.
    pub(crate) fn posed_primitives(&self) -> impl Iterator<Item = usize> {
        self.pieces.iter().map(|piece| piece.posed)
    }

    /// Returns whether the triangles are sorted from back to front.
    pub(crate) const fn is_sorted(&self) -> bool {
        self.mirrored_at_first.is_some()
    }

    /// Returns the number of triangles of a pool that moves.
    pub(crate) fn triangle_count(&self) -> usize {
        self.corners.len() / 3
    }

    fn light_source(&self) -> LightSource<'_> {
        LightSource { pieces: &self.pieces, chosen: self.chosen.as_deref(), triangles: &self.triangles }
    }

    /// Returns whether the pool has baked light. Points and lines have none.
    pub(crate) const fn is_lit(&self) -> bool {
        self.triangles.start < self.triangles.end
    }

    /// Replaces the baked light by the light of another pose. `baked` has one entry per posed primitive.
    /// Errors: if a buffer for the light would be larger than the adapter allows.
    pub(crate) fn relight(
        &mut self,
        gpu: &Gpu,
        layout: &wgpu::BindGroupLayout,
        baked: &[BakedMesh],
    ) -> Result<(), RenderError> {
        let in_vertex_order = self.light_in_vertex_order(baked);
        let baked = in_vertex_order.as_deref().unwrap_or(baked);
        let source = LightSource { pieces: &self.pieces, chosen: self.chosen.as_deref(), triangles: &self.triangles };
        self.light.update(gpu, layout, source, baked)
    }

    /// Returns whether the order in which the vertices of sorted triangles are stored is that of the current winding.
    pub(crate) fn has_order_of_first_pose(&self) -> bool {
        self.mirrored_at_first.as_ref().is_none_or(|at_first| *at_first == self.mirrored)
    }

    /// Packs the light of the pool. `baked` returns the light of a posed primitive.
    pub(crate) fn light_words<'a>(&self, baked: &(impl Fn(usize) -> &'a BakedMesh + Sync)) -> LightWords {
        self.light_source().words(baked)
    }

    /// Returns the baked light of the pool's pieces for the order in which the vertices of sorted triangles are stored.
    /// The light of other pieces is empty. Returns `None` if this order is that of the current winding.
    fn light_in_vertex_order(&self, baked: &[BakedMesh]) -> Option<Vec<BakedMesh>> {
        let at_first = self.mirrored_at_first.as_ref().filter(|at_first| **at_first != self.mirrored)?;
        let mut out = vec![BakedMesh::default(); baked.len()];
        for (piece, (first, now)) in self.pieces.iter().zip(at_first.iter().zip(&self.mirrored)) {
            let light = baked[piece.posed].clone();
            out[piece.posed] = if first == now { light } else { light.turned() };
        }
        Some(out)
    }

    /// Returns a copy of the pool with other baked light. The light of `self` does not change.
    /// Errors: if a buffer for the light would be larger than the adapter allows.
    pub(crate) fn with_light(
        &self,
        gpu: &Gpu,
        layout: &wgpu::BindGroupLayout,
        baked: &[BakedMesh],
    ) -> Result<Self, RenderError> {
        Ok(Self { light: PoolLight::new(gpu, layout, self.light_source(), baked)?, ..self.clone() })
    }

    /// Creates the vertices for passes that write or read triangle numbers, if they do not exist.
    /// Errors: if a buffer would be larger than the adapter allows.
    fn number(&self, gpu: &Gpu) -> Result<(), RenderError> {
        let Some(host) = self.host.as_ref().filter(|_host| self.numbered.get().is_none()) else { return Ok(()) };
        // The alpha test would need other attributes, but triangles with an alpha test are not in main memory.
        let numbered = NumberedTriangles::new(gpu, &host.positions, None, &host.corners, self.moving)?;
        // If another thread was faster, its vertices are the same.
        drop(self.numbered.set(numbered));
        Ok(())
    }

    /// Uploads the vertices of a new pose. `batches` are the batches of the pool in the order of their triangles, each
    /// with its number.
    pub(crate) fn update(
        &mut self,
        gpu: &Gpu,
        scene: &Scene,
        posed: &[PosedPrimitive],
        batches: &mut [(usize, &mut Batch)],
        triangles: &mut TriangleWords,
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
        // Triangles that are sorted have numbers only for datasets.
        let is_read = self.mirrored_at_first.is_none() || scene.is_dataset;
        if let Some(numbered) = self.numbered.get().filter(|_numbered| is_read) {
            numbered.update(gpu, &vertices);
        }
        let turned = self.turn(gpu, |piece| posed[piece].mirrored);
        if let Some(host) = &mut self.host {
            let host = Arc::make_mut(host);
            host.pose(&vertices);
            host.turn(&turned);
        }
        let mut words = Vec::new();
        let has_boxes = self.chosen.is_none() && batches.len() >= MIN_BATCHES;
        for (place, (number, batch)) in batches.iter_mut().enumerate() {
            batch.update(&vertices, &self.corners, &turned);
            if has_boxes {
                batch.boxes = boxes_of_pieces(&vertices, &self.pieces, place);
            }
            if batch.sprites.is_none() && batch.sortable().is_none() {
                words.extend(triangle_words(*number, &vertices, batch.corners(&self.corners)));
            }
        }
        if !words.is_empty() {
            triangles.replace(gpu, self.first_triangle, &words);
        }
    }

    /// Follows a new pose that the device computes. `mirrored` has one entry per posed primitive, and `bounds` one box per
    /// piece. `center` is the mean position of the triangles if the pool has a transmissive or blended batch. `batches` are the
    /// batches of the pool in the order of their triangles.
    pub(crate) fn place<'a>(
        &mut self,
        gpu: &Gpu,
        mirrored: &[bool],
        (bounds, center): (&[Bounds], Option<Vec3>),
        batches: impl Iterator<Item = &'a mut Batch>,
    ) {
        self.turn(gpu, |posed| mirrored[posed]);
        for (place, batch) in batches.enumerate() {
            let own = self.pieces.iter().zip(bounds).filter(|(piece, _)| piece.batch == place && piece.vertices > 0);
            let own: Vec<Bounds> = own.map(|(_, bounds)| *bounds).collect();
            batch.bounds = around(&own);
            if let Some(center) = center {
                batch.place(center);
            }
            // A pool of one batch has no boxes.
            if !batch.boxes.is_empty() {
                batch.boxes = own;
            }
        }
    }

    /// Reverses the winding of the pieces that are mirrored in only one of the two poses, the last pose and the new
    /// pose. `is_mirrored` returns whether a posed primitive is mirrored in the new pose. Returns the indices of the
    /// triangles.
    fn turn(&mut self, gpu: &Gpu, is_mirrored: impl Fn(usize) -> bool) -> Vec<usize> {
        let now: Vec<bool> = self.pieces.iter().map(|piece| is_mirrored(piece.posed)).collect();
        if now == self.mirrored {
            return Vec::new();
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
        }
        gpu.write(&self.indices, 0, bytemuck::cast_slice(&self.corners));
        gpu.write(&self.packed_corners, 0, bytemuck::cast_slice(&packed_corners(&self.corners)));
        if let Some(numbered) = Arc::make_mut(&mut self.numbered).get_mut() {
            numbered.turn(gpu, &turned);
        }
        self.mirrored = now;
        turned
    }
}

/// Creates the vertices for passes that write or read triangle numbers in all pools that have none.
/// Errors: if a buffer would be larger than the adapter allows.
pub(crate) fn number_triangles(gpu: &Gpu, pools: &[Pool]) -> Result<(), RenderError> {
    pools.par_iter().try_for_each(|pool| pool.number(gpu))
}

/// Returns the vertices in a range of vertex indices.
pub(super) fn vertices_of<'a>(vertices: &'a [PoseVertex], range: &Range<u32>) -> &'a [PoseVertex] {
    &vertices[range.start as usize..range.end as usize]
}

#[cfg(test)]
mod tests {
    use plinth_frame::PixelFormat;
    use plinth_model::{AlphaMode, Model, Topology};

    use super::*;
    use crate::gpu::GpuOptions;
    use crate::renderer::{Picture, Renderer};
    use crate::triangle_scene::triangle_scene;

    const PICTURE: Picture = Picture { width: 64, height: 64, format: PixelFormat::Rgba8 };

    fn has_numbers(renderer: &Renderer<'_>) -> bool {
        renderer.gpu_scene.pools[0].numbered.get().is_some()
    }

    #[test]
    fn triangles_have_no_numbers_before_a_pass_needs_them() {
        let gpu = Gpu::open(&GpuOptions::default()).unwrap();
        let scene = triangle_scene();
        let draft = Renderer::for_any_camera(&gpu, &scene, PICTURE, None).unwrap();
        let renderer = Renderer::new(&gpu, &scene, PICTURE, None).unwrap();
        for renderer in [&draft, &renderer] {
            assert_eq!(has_numbers(renderer), !renderer.view.look.on_host);
        }
        let copy = renderer.gpu_scene.pools[0].clone();
        number_triangles(&gpu, &renderer.gpu_scene.pools).unwrap();
        assert!(has_numbers(&renderer));
        assert!(copy.numbered.get().is_some(), "copies share the vertices");
    }

    #[test]
    fn triangles_that_the_processor_never_draws_are_not_in_main_memory() {
        type Change = fn(&mut Model);
        let gpu = Gpu::open(&GpuOptions::default()).unwrap();
        let cases: [(&str, bool, Change); 3] = [
            ("opaque", true, |_model| ()),
            ("alpha-tested", false, |model| model.materials[0].alpha_mode = AlphaMode::Mask { cutoff: 0.5 }),
            ("beside points", false, |model| {
                let primitives = &mut model.meshes[0].primitives;
                let points = plinth_model::Primitive { topology: Topology::Points, ..primitives[0].clone() };
                primitives.push(points);
            }),
        ];
        for (name, can_be, change) in cases {
            let mut scene = triangle_scene();
            change(Arc::get_mut(&mut scene.model).unwrap());
            let renderer = Renderer::new(&gpu, &scene, PICTURE, None).unwrap();
            let expected = can_be && gpu.is_software();
            assert_eq!(renderer.gpu_scene.pools[0].host.is_some(), expected, "{name}");
            assert_eq!(renderer.gpu_scene.triangles.copy.is_empty(), !expected, "{name}");
            assert_ne!(has_numbers(&renderer), expected, "{name}");
        }
    }
}
