//! Poses moving triangles on a graphics card: skins, morph targets and moving nodes. The processor computes only the
//! transforms, so its work does not grow with the number of vertices.
//!
//! On a software driver, the processor poses all vertices (decision 0002). It always poses points and lines, which have other
//! buffers, and decals, whose sides it determines for each frame.

mod light;
mod pipelines;
mod rest;

use plinth_scene::{PosedPrimitive, Scene};

pub(crate) use light::DeviceLight;

use crate::RenderError;
use crate::bindings;
use crate::compute::dispatch;
use crate::device_pose::pipelines::PosePipelines;
use crate::device_pose::rest::{Mean, Posed, Rest};
use crate::gpu::Gpu;
use crate::gpu_types::PoseCounts;
use crate::upload::batch::Batch;
use crate::upload::geometry::filled;
use crate::upload::pool::Pool;
use crate::upload::triangles::{FIRST_TRIANGLE, TriangleWords};

/// The value of `PoseCounts::first_word` for triangles without words (`NO_WORDS` in the shader).
const NO_WORDS: u32 = u32::MAX;

/// The pools that a graphics card poses.
pub(crate) struct DevicePose {
    pipelines: PosePipelines,
    /// `None` for pools that the processor poses, or that do not move.
    pools: Vec<Option<PosedPool>>,
    /// For each posed primitive, whether it is in one of the pools.
    contains: Vec<bool>,
}

/// A pool with everything that is needed to pose it.
struct PosedPool {
    rest: Rest,
    /// The mean position of the triangles of a transmissive or blended batch.
    mean: Option<Mean>,
    counts: PoseCounts,
    transforms: wgpu::Buffer,
    morph_weights: wgpu::Buffer,
    pieces: wgpu::Buffer,
    common: wgpu::BindGroup,
    vertices: wgpu::BindGroup,
    numbered: wgpu::BindGroup,
    triangles: wgpu::BindGroup,
}

impl DevicePose {
    /// Prepares to pose the pools that a graphics card can pose. Returns `None` if there are none. `posed` are all posed
    /// primitives in any pose, and `clip_time` is a time of the clip.
    /// Errors: if the driver rejects a shader, or a buffer would be larger than the adapter allows.
    pub(crate) fn new(
        gpu: &Gpu,
        (scene, posed, clip_time): (&Scene, &[PosedPrimitive], Option<f32>),
        (pools, batches, is_decal): (&[Pool], &[Batch], impl Fn(usize) -> bool),
        triangles: &TriangleWords,
    ) -> Result<Option<Self>, RenderError> {
        // The vertices of datasets are posed with double precision.
        if !gpu.draws_as_card() || scene.is_dataset {
            return Ok(None);
        }
        let has_plain_batches = |i: usize| {
            let mut own = batches.iter().enumerate().filter(|(_, batch)| batch.pool == i);
            own.all(|(number, batch)| batch.sprites.is_none() && !is_decal(number))
        };
        let can_be_posed = |(i, pool): (usize, &Pool)| pool.moving && pool.host.is_none() && has_plain_batches(i);
        let is_opaque = |i: usize| batches.iter().all(|batch| batch.pool != i || batch.transparency.is_none());
        let chosen: Vec<bool> = pools.iter().enumerate().map(can_be_posed).collect();
        if !chosen.contains(&true) {
            return Ok(None);
        }
        let pipelines = PosePipelines::new(gpu)?;
        let members =
            primitives_of(pools.iter().zip(&chosen).filter_map(|(pool, chosen)| chosen.then_some(pool)), posed.len());
        let transforms = scene.pose_transforms(clip_time, &members);
        let mirrored: Vec<bool> = posed.iter().map(|one| one.mirrored).collect();
        let prepared = |((i, pool), chosen): ((usize, &Pool), bool)| {
            if !chosen {
                return Ok(None);
            }
            let Some(rest) = Rest::of(scene, posed, pool, &transforms, gpu.max_storage_bytes()) else {
                return Ok(None);
            };
            let first = rest.posed(&transforms, &mirrored);
            let mean = if is_opaque(i) { None } else { rest.mean(&pool.corners) };
            // A pool of several primitives would have no mean position.
            if mean.is_none() && !is_opaque(i) {
                return Ok(None);
            }
            PosedPool::new(gpu, &pipelines, (pool, triangles), (rest, mean), &first)
        };
        let made = pools.iter().enumerate().zip(chosen).map(prepared).collect::<Result<Vec<_>, RenderError>>()?;
        let used = pools.iter().zip(&made).filter_map(|(pool, made)| made.as_ref().map(|_| pool));
        let contains = primitives_of(used, posed.len());
        Ok(contains.contains(&true).then_some(Self { pipelines, pools: made, contains }))
    }

    /// Returns whether the device poses a pool.
    pub(crate) fn poses(&self, pool: usize) -> bool {
        self.pools[pool].is_some()
    }

    /// Records the commands that pose the pools, and updates the bounds of their batches. Stores in `mirrored` for each posed
    /// primitive of the pools whether a mirroring node reverses the winding of its triangles.
    pub(crate) fn record(
        &self,
        gpu: &Gpu,
        (scene, clip_time): (&Scene, Option<f32>),
        (pools, batches): (&mut [Pool], &mut [Batch]),
        mirrored: &mut [bool],
        encoder: &mut wgpu::CommandEncoder,
    ) {
        let transforms = scene.pose_transforms(clip_time, &self.contains);
        let mut pass =
            encoder.begin_compute_pass(&wgpu::ComputePassDescriptor { label: Some("pose"), timestamp_writes: None });
        for (i, (pool, posed)) in pools.iter_mut().zip(&self.pools).enumerate() {
            let Some(posed) = posed else { continue };
            posed.rest.find_mirrored(&transforms, mirrored);
            let now = posed.rest.posed(&transforms, mirrored);
            posed.write(gpu, &now);
            let center = posed.mean.as_ref().and_then(|mean| posed.rest.posed_mean(mean, &transforms));
            let own = batches.iter_mut().filter(|batch| batch.pool == i);
            pool.place(gpu, mirrored, (&now.bounds, center), own);
            posed.record(&self.pipelines, &mut pass);
        }
    }
}

/// Returns for each posed primitive whether it is in one of the pools.
fn primitives_of<'a>(pools: impl Iterator<Item = &'a Pool>, count: usize) -> Vec<bool> {
    let mut out = vec![false; count];
    pools.flat_map(Pool::posed_primitives).for_each(|posed| out[posed] = true);
    out
}

impl PosedPool {
    /// Uploads everything that is needed to pose a pool. `first` is any pose; only its size matters. Returns `None` if
    /// the pool has no numbered vertices for other poses.
    fn new(
        gpu: &Gpu,
        pipelines: &PosePipelines,
        (pool, triangles): (&Pool, &TriangleWords),
        (rest, mean): (Rest, Option<Mean>),
        first: &Posed,
    ) -> Result<Option<Self>, RenderError> {
        let Some((numbered, order)) = pool.numbered.get().and_then(|numbered| Some((numbered, numbered.order()?)))
        else {
            return Ok(None);
        };
        let counts = PoseCounts {
            vertices: rest.vertices.len() as u32,
            numbered: order.len() as u32,
            triangles: pool.triangle_count() as u32,
            first_word: if pool.is_sorted() { NO_WORDS } else { pool.first_triangle - FIRST_TRIANGLE },
        };
        let storage = |label: &str, bytes: &[u8]| filled(gpu, label, bytes, wgpu::BufferUsages::STORAGE);
        let uniform = filled(gpu, "pose counts", bytemuck::bytes_of(&counts), wgpu::BufferUsages::UNIFORM)?;
        let vertices = storage("rest vertices", bytemuck::cast_slice(&rest.vertices))?;
        let displacements = storage("displacements", bytemuck::cast_slice(&rest.displacements))?;
        let pieces = storage("posed pieces", bytemuck::cast_slice(&first.pieces))?;
        let rows = storage("transforms", bytemuck::cast_slice(&first.transforms))?;
        let morph_weights = storage("morph weights", bytemuck::cast_slice(&first.morph_weights))?;
        let order = storage("numbered order", bytemuck::cast_slice(order))?;
        let group = |label: &str, layout: &wgpu::BindGroupLayout, buffers: &[&wgpu::Buffer]| {
            let entries: Vec<_> = buffers.iter().map(|buffer| buffer.as_entire_binding()).collect();
            bindings::group(&gpu.device, label, layout, &entries)
        };
        Ok(Some(Self {
            common: group("pose", &pipelines.common, &[&uniform, &vertices, &pieces, &pool.pose]),
            vertices: group("pose vertices", &pipelines.vertices.layout, &[&rows, &displacements, &morph_weights]),
            numbered: group("pose numbered", &pipelines.numbered.layout, &[&order, &numbered.positions]),
            triangles: group("pose triangles", &pipelines.triangles.layout, &[&pool.packed_corners, &triangles.buffer]),
            mean,
            rest: Rest { vertices: Vec::new(), displacements: Vec::new(), ..rest },
            counts,
            transforms: rows,
            morph_weights,
            pieces,
        }))
    }

    /// Uploads a pose.
    fn write(&self, gpu: &Gpu, posed: &Posed) {
        gpu.write(&self.transforms, 0, bytemuck::cast_slice(&posed.transforms));
        gpu.write(&self.morph_weights, 0, bytemuck::cast_slice(&posed.morph_weights));
        gpu.write(&self.pieces, 0, bytemuck::cast_slice(&posed.pieces));
    }

    fn record(&self, pipelines: &PosePipelines, pass: &mut wgpu::ComputePass<'_>) {
        pass.set_bind_group(0, &self.common, &[]);
        for (kernel, group, count) in [
            (&pipelines.vertices, &self.vertices, self.counts.vertices),
            (&pipelines.numbered, &self.numbered, self.counts.numbered),
            (&pipelines.triangles, &self.triangles, self.counts.triangles),
        ] {
            pass.set_pipeline(&kernel.pipeline);
            pass.set_bind_group(1, group, &[]);
            dispatch(pass, count);
        }
    }
}
