//! Sorts the triangles of transmissive and blended batches on a graphics card, so that the processor's work for a frame does not
//! grow with their number. On a software driver, the processor sorts them.

use glam::Vec3;

use crate::RenderError;
use crate::bindings::{self, dynamic_uniform, storage, uniform, written_storage};
use crate::compute::{Kernel, WORKGROUP, dispatch, layout};
use crate::gpu::Gpu;
use crate::gpu_types::{SortedTriangles, SortingStep};
use crate::upload::batch::Batch;
use crate::upload::geometry::filled;
use crate::upload::pool::Pool;

/// Number of keys that a workgroup sorts (`BLOCK` in the shader).
const BLOCK: u32 = 2 * WORKGROUP;

/// Distance of the steps in their buffer. All adapters support this alignment.
const STEP_BYTES: usize = 256;

/// The batches whose triangles are sorted for each frame.
pub(crate) struct DeviceSort {
    keys: Kernel,
    blocks: Kernel,
    blocks_merge: Kernel,
    apart: Kernel,
    indices: Kernel,
    batches: Vec<SortedBatch>,
    steps: wgpu::BindGroup,
    /// The steps of the sorting network after the blocks have been sorted. The largest batch needs all of them, and smaller batches
    /// the first ones.
    step_list: Vec<SortingStep>,
}

/// A sorted batch, its uniform and its bind groups.
struct SortedBatch {
    uniform: wgpu::Buffer,
    values: SortedTriangles,
    common: wgpu::BindGroup,
    positions: wgpu::BindGroup,
    indices: wgpu::BindGroup,
}

impl DeviceSort {
    /// Returns `None` if no batch is sorted, or if the processor sorts them.
    /// Errors: if the driver rejects a shader, or a buffer would be larger than the adapter allows.
    pub(crate) fn new(gpu: &Gpu, pools: &[Pool], batches: &[Batch]) -> Result<Option<Self>, RenderError> {
        let sorted = || batches.iter().filter_map(|batch| Some((&pools[batch.pool], batch.sortable()?)));
        let most = sorted().map(|(_, sortable)| sortable.indices.len()).max();
        let Some(most) = most.filter(|_most| gpu.draws_as_card()) else { return Ok(None) };
        let common = layout(gpu, &[uniform(0), written_storage(1)]);
        let kernel = |defines: &[&str], entries: &[wgpu::BindGroupLayoutEntry]| {
            Kernel::new(gpu, "pass/sort_triangles.wgsl", defines, Some(&common), entries)
        };
        let keys = kernel(&["KEYS"], &[storage(0), storage(1)])?;
        let blocks = kernel(&["BLOCKS"], &[])?;
        let step = dynamic_uniform(0, size_of::<SortingStep>() as u64);
        let blocks_merge = kernel(&["BLOCKS", "MERGE"], &[step])?;
        let apart = kernel(&["APART"], &[step])?;
        let indices = kernel(&["INDICES"], &[storage(0), written_storage(1)])?;
        let buffer = key_buffer(gpu, key_count(most as u32))?;
        let batch = |(pool, triangles): (&Pool, usize)| {
            let triangles = triangles as u32;
            let values = SortedTriangles {
                triangles,
                keys: key_count(triangles),
                unused: [0; 2],
                forward: Vec3::ZERO,
                unused_end: 0,
            };
            let uniform = filled(gpu, "sorted batch", bytemuck::bytes_of(&values), wgpu::BufferUsages::UNIFORM)?;
            let group = |layout: &wgpu::BindGroupLayout, buffers: [&wgpu::Buffer; 2]| {
                bindings::group(&gpu.device, "sorted batch", layout, &buffers.map(|buffer| buffer.as_entire_binding()))
            };
            Ok(SortedBatch {
                common: group(&common, [&uniform, &buffer]),
                positions: group(&keys.layout, [&pool.pose, &pool.packed_corners]),
                indices: group(&indices.layout, [&pool.packed_corners, &pool.indices]),
                uniform,
                values,
            })
        };
        let made = sorted().map(|(pool, sortable)| batch((pool, sortable.indices.len())));
        let batches = made.collect::<Result<Vec<_>, RenderError>>()?;
        let step_list = steps(key_count(most as u32));
        let steps = step_group(gpu, &apart.layout, &step_list)?;
        Ok(Some(Self { keys, blocks, blocks_merge, apart, indices, batches, steps, step_list }))
    }

    /// Records the commands that sort all triangles from back to front along `forward`.
    pub(crate) fn record(&self, gpu: &Gpu, forward: Vec3, encoder: &mut wgpu::CommandEncoder) {
        let descriptor = wgpu::ComputePassDescriptor { label: Some("sort triangles"), timestamp_writes: None };
        let mut pass = encoder.begin_compute_pass(&descriptor);
        for batch in &self.batches {
            let values = SortedTriangles { forward, ..batch.values };
            gpu.write(&batch.uniform, 0, bytemuck::bytes_of(&values));
            self.sort(batch, &mut pass);
        }
    }

    fn sort(&self, batch: &SortedBatch, pass: &mut wgpu::ComputePass<'_>) {
        let SortedTriangles { triangles, keys, .. } = batch.values;
        pass.set_bind_group(0, &batch.common, &[]);
        pass.set_pipeline(&self.keys.pipeline);
        pass.set_bind_group(1, &batch.positions, &[]);
        dispatch(pass, keys);
        pass.set_pipeline(&self.blocks.pipeline);
        dispatch(pass, keys / 2);
        for (i, step) in self.step_list.iter().enumerate().take_while(|(_, step)| step.length <= keys) {
            let kernel = if step.stride < BLOCK { &self.blocks_merge } else { &self.apart };
            pass.set_pipeline(&kernel.pipeline);
            pass.set_bind_group(1, &self.steps, &[(i * STEP_BYTES) as u32]);
            dispatch(pass, keys / 2);
        }
        pass.set_pipeline(&self.indices.pipeline);
        pass.set_bind_group(1, &batch.indices, &[]);
        dispatch(pass, triangles);
    }
}

/// Returns the number of keys for a number of triangles.
fn key_count(triangles: u32) -> u32 {
    triangles.next_power_of_two().max(BLOCK)
}

/// Returns the steps that sort `keys` keys after each block has been sorted.
fn steps(keys: u32) -> Vec<SortingStep> {
    let lengths =
        std::iter::successors(Some(2 * BLOCK), |length| Some(2 * length)).take_while(|length| *length <= keys);
    let of_length = |length: u32| {
        let strides = std::iter::successors(Some(length / 2), |stride| Some(stride / 2));
        strides.take_while(|stride| *stride >= BLOCK / 2).map(move |stride| SortingStep { length, stride })
    };
    lengths.flat_map(of_length).collect()
}

/// Uploads the steps. The bind group has a dynamic offset.
fn step_group(
    gpu: &Gpu,
    layout: &wgpu::BindGroupLayout,
    steps: &[SortingStep],
) -> Result<wgpu::BindGroup, RenderError> {
    let mut bytes = vec![0; steps.len().max(1) * STEP_BYTES];
    for (step, place) in steps.iter().zip(bytes.chunks_exact_mut(STEP_BYTES)) {
        place[..size_of::<SortingStep>()].copy_from_slice(bytemuck::bytes_of(step));
    }
    let buffer = filled(gpu, "sorting steps", &bytes, wgpu::BufferUsages::UNIFORM)?;
    let size = std::num::NonZeroU64::new(size_of::<SortingStep>() as u64);
    let part = wgpu::BindingResource::Buffer(wgpu::BufferBinding { buffer: &buffer, offset: 0, size });
    Ok(bindings::group(&gpu.device, "sorting steps", layout, &[part]))
}

/// Creates the buffer of keys, which all batches use one after another.
fn key_buffer(gpu: &Gpu, keys: u32) -> Result<wgpu::Buffer, RenderError> {
    let limit = gpu.max_storage_bytes();
    let size = u64::from(keys) * size_of::<[u32; 2]>() as u64;
    if size > limit {
        return Err(RenderError::GeometryTooLarge { bytes: size, limit });
    }
    Ok(gpu.device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("sorting keys"),
        size,
        usage: wgpu::BufferUsages::STORAGE,
        mapped_at_creation: false,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_steps_of_a_network_merge_sequences_of_growing_length() {
        let step = |length: u32, stride: u32| SortingStep { length, stride };
        assert_eq!(steps(512), []);
        assert_eq!(steps(1024), [step(1024, 512), step(1024, 256)]);
        let more = [step(1024, 512), step(1024, 256), step(2048, 1024), step(2048, 512), step(2048, 256)];
        assert_eq!(steps(2048), more);
        assert_eq!([0, 1, 512, 513, 4096].map(key_count), [512, 512, 512, 1024, 4096]);
    }
}
