//! The draw calls of passes that need no materials except for the alpha test: visibility, geometry and shadow maps. One
//! call draws all consecutive batches that share a pool and a pipeline.

use std::ops::Range;

use crate::pipelines::PerBatch;
use crate::upload::batch::Batch;
use crate::upload::material::{AlphaTest, MaterialOnGpu};
use crate::upload::pool::Model;

/// Which vertices a pass draws.
#[derive(Clone, Copy)]
pub(crate) enum Corners<'a> {
    /// Vertices that triangles share.
    Shared,
    /// The vertices of [`NumberedTriangles`](crate::upload::numbered::NumberedTriangles), which all pools must have. The
    /// pass writes the numbers of triangles.
    Numbered,
    /// The same vertices as for [`Self::Numbered`]. The pass reads each triangle by its number within its pool.
    Exact {
        /// For each pool, bind group 1 with its triangles.
        groups: &'a [wgpu::BindGroup],
    },
}

/// Draws batches in a pass.
pub(crate) struct DepthDraws<'a, 'p, 'e> {
    pass: &'p mut wgpu::RenderPass<'e>,
    model: Model<'a>,
    materials: &'a [MaterialOnGpu],
    pipelines: &'a PerBatch,
    corners: Corners<'a>,
    /// The pipeline and the pool that are currently set. A pipeline or pool is set only when it changes, because
    /// drivers set up all their state again even if the same pipeline is set twice.
    pipeline: Option<&'a wgpu::RenderPipeline>,
    pool: Option<usize>,
    /// The indices of the pool that the next draw call draws.
    pending: Range<u32>,
}

impl<'a, 'p, 'e> DepthDraws<'a, 'p, 'e> {
    pub(crate) fn new(
        pass: &'p mut wgpu::RenderPass<'e>,
        (model, materials): (Model<'a>, &'a [MaterialOnGpu]),
        pipelines: &'a PerBatch,
        corners: Corners<'a>,
    ) -> Self {
        Self { pass, model, materials, pipelines, corners, pipeline: None, pool: None, pending: 0..0 }
    }

    /// Draws the batches with these indices for which the pass has a pipeline, in the given order.
    pub(crate) fn draw(mut self, batches: impl IntoIterator<Item = usize>) {
        for i in batches {
            let Some(pipeline) = &self.pipelines[i] else { continue };
            let batch = &self.model.batches[i];
            let material = &self.materials[batch.material];
            let continues = self.pipeline == Some(pipeline)
                && self.pool == Some(batch.pool)
                && self.pending.end == batch.indices.start
                && material.alpha_test.is_none()
                && batch.sprites.is_none();
            if continues {
                self.pending.end = batch.indices.end;
                continue;
            }
            self.finish();
            if self.pipeline != Some(pipeline) {
                self.pass.set_pipeline(pipeline);
                self.pipeline = Some(pipeline);
            }
            if let Some(sprites) = &batch.sprites {
                sprites.draw(self.pass, material);
                self.pool = None;
                continue;
            }
            if self.pool != Some(batch.pool) {
                self.set_pool(batch, material.alpha_test.as_ref());
            }
            self.pending = batch.indices.clone();
        }
        self.finish();
    }

    /// Sets the buffers of a batch. A pool with alpha-tested triangles has only one batch, so the alpha test is set
    /// with the pool.
    fn set_pool(&mut self, batch: &Batch, alpha_test: Option<&AlphaTest>) {
        let pool = &self.model.pools[batch.pool];
        let numbered = match self.corners {
            Corners::Shared => None,
            Corners::Numbered | Corners::Exact { .. } => pool.numbered.get(),
        };
        debug_assert!(numbered.is_some() || matches!(self.corners, Corners::Shared), "triangles have no numbers");
        let (positions, surface, indices) = match numbered {
            Some(numbered) => (&numbered.positions, numbered.surface.as_ref(), &numbered.indices),
            None => (&pool.pose, Some(&pool.surface), &pool.indices),
        };
        if let Corners::Exact { groups } = self.corners {
            self.pass.set_bind_group(1, &groups[batch.pool], &[]);
        }
        if let (Some(alpha_test), Some(surface)) = (alpha_test, surface) {
            self.pass.set_bind_group(2, &alpha_test.group, &[]);
            self.pass.set_vertex_buffer(1, surface.slice(..));
        }
        self.pass.set_vertex_buffer(0, positions.slice(..));
        self.pass.set_index_buffer(indices.slice(..), wgpu::IndexFormat::Uint32);
        self.pool = Some(batch.pool);
    }

    /// Draws the pending indices. The instance index is the number of the pool's first triangle. The vertex shader adds
    /// this number to the vertex index.
    fn finish(&mut self) {
        let indices = std::mem::take(&mut self.pending);
        let Some(pool) = self.pool.filter(|_| !indices.is_empty()) else { return };
        let first = match self.corners {
            Corners::Numbered => self.model.pools[pool].first_triangle,
            Corners::Shared | Corners::Exact { .. } => 0,
        };
        self.pass.draw_indexed(indices, 0, first..first + 1);
    }
}
