//! Distributes batches of triangles to pools. Opaque batches share pools; all others have pools of their own.

use std::collections::BTreeMap;

use plinth_bake::BakedMesh;
use plinth_scene::Scene;

use crate::RenderError;
use crate::gpu::Gpu;
use crate::upload::batch::Batch;
use crate::upload::geometry::{DrawMode, MaterialUse, PosedModel, primitive_of};
use crate::upload::pool::Pool;
use crate::upload::pool_builder::{PoolBuilder, PoolSize, PoolUse};
use crate::upload::triangles::FIRST_TRIANGLE;

/// The batches that are added already, and their pools.
pub(super) struct Pools<'a> {
    gpu: &'a Gpu,
    /// The layout of bind group 3, and the baked light.
    light: (&'a wgpu::BindGroupLayout, &'a [BakedMesh]),
    /// Maximum size of a pool.
    most: PoolSize,
    /// Whether opaque triangles without an alpha test are also kept in main memory.
    in_main_memory: bool,
    /// The shared pools to which batches are still added: first the pool that does not move, then the pool that moves.
    open: [PoolBuilder; 2],
    /// Number of the next batch.
    next: usize,
    uploaded: Vec<Pool>,
    /// The batches of uploaded pools, by their numbers.
    batches: BTreeMap<usize, Batch>,
    /// The triangle words of uploaded pools.
    words: Vec<u32>,
}

/// All pools and batches, and the words of all triangles.
type Finished = (Vec<Pool>, Vec<Batch>, Vec<u32>);

impl<'a> Pools<'a> {
    pub(super) fn new(
        gpu: &'a Gpu,
        light: (&'a wgpu::BindGroupLayout, &'a [BakedMesh]),
        most: PoolSize,
        in_main_memory: bool,
    ) -> Self {
        let (open, batches) = (<[PoolBuilder; 2]>::default(), BTreeMap::new());
        Self { gpu, light, most, in_main_memory, open, next: 0, uploaded: Vec::new(), batches, words: Vec::new() }
    }

    /// Adds posed primitives that have the same material. `members` are the indices of the primitives. The primitives
    /// become one batch, or several batches if they are too large for one pool.
    pub(super) fn add(
        &mut self,
        scene: &Scene,
        all: &PosedModel<'_>,
        members: &[usize],
        (material, material_use, moving): (usize, MaterialUse, bool),
    ) -> Result<(), RenderError> {
        let size = PoolSize {
            vertices: members.iter().map(|i| all.primitives[*i].positions.len()).sum(),
            corners: members.iter().map(|i| all.indices[*i].len()).sum(),
        };
        let in_main_memory = self.in_main_memory;
        let add_members = |draft: &mut PoolBuilder| {
            for i in members {
                if let Some(primitive) = primitive_of(scene, &all.primitives[*i]) {
                    draft.add(*i, &all.primitives[*i], primitive, &all.indices[*i]);
                }
            }
        };
        if material_use.shares_pool() && size.fits(self.most) {
            let open = &mut self.open[usize::from(moving)];
            if !open.size_with(size).fits(self.most) {
                let full = std::mem::take(open);
                self.upload(full, PoolUse { moving, material: material_use, sorted: false, in_main_memory })?;
            }
            let open = &mut self.open[usize::from(moving)];
            add_members(open);
            open.end_batch(self.next, material);
            self.next += 1;
            return Ok(());
        }
        let mut own = PoolBuilder::default();
        add_members(&mut own);
        let sorted =
            material_use.drawn != DrawMode::Opaque && !material_use.is_visibility_buffered(own.triangle_count());
        if sorted {
            own = own.with_triangles_apart();
        }
        for mut part in own.split(self.most) {
            part.end_batch(self.next, material);
            self.next += 1;
            self.upload(part, PoolUse { moving, material: material_use, sorted, in_main_memory })?;
        }
        Ok(())
    }

    /// Uploads the pools that are still open.
    pub(super) fn finish(mut self) -> Result<Finished, RenderError> {
        for (draft, moving) in std::mem::take(&mut self.open).into_iter().zip([false, true]) {
            if !draft.is_empty() {
                let material = MaterialUse { drawn: DrawMode::Opaque, is_alpha_tested: false, opaque_texels: None };
                let in_main_memory = self.in_main_memory;
                self.upload(draft, PoolUse { moving, material, sorted: false, in_main_memory })?;
            }
        }
        Ok((self.uploaded, self.batches.into_values().collect(), self.words))
    }

    fn upload(&mut self, draft: PoolBuilder, used: PoolUse) -> Result<(), RenderError> {
        let first_triangle = FIRST_TRIANGLE + self.words.len() as u32;
        if !used.sorted {
            self.words.extend(draft.triangle_words());
        }
        let (pool, batches) = draft.upload(self.gpu, self.light, used, (self.uploaded.len(), first_triangle))?;
        self.uploaded.push(pool);
        self.batches.extend(batches);
        Ok(())
    }
}
