//! Interpolates baked light between two poses on a graphics card, so that light is uploaded only once per baked pose instead
//! of once per frame.

use crate::RenderError;
use crate::bindings;
use crate::compute::{Kernel, dispatch};
use crate::gpu::Gpu;
use crate::gpu_types::LightMix;
use crate::pose_light::LightBetween;
use crate::upload::gathered_light::{LightSample, LightWords};
use crate::upload::geometry::filled;
use crate::upload::pool::Pool;

/// The light of all pools in the two baked poses around the current pose.
pub(crate) struct DeviceLight {
    kernel: Kernel,
    pools: Vec<Option<KnownLight>>,
}

/// The numbers of two poses, and the light of a pool in them. There is no light if its samples in the poses do not correspond to
/// each other.
struct KnownLight {
    poses: (i32, i32),
    mixed: Option<MixedLight>,
}

/// The light of a pool in two poses.
struct MixedLight {
    count: u32,
    uniform: wgpu::Buffer,
    group: wgpu::BindGroup,
}

impl DeviceLight {
    /// Returns `None` if the processor interpolates the light. `pools` is the number of pools.
    /// Errors: if the driver rejects the shader.
    pub(crate) fn new(gpu: &Gpu, pools: usize) -> Result<Option<Self>, RenderError> {
        if !gpu.draws_as_card() {
            return Ok(None);
        }
        let entries = [bindings::uniform(0), bindings::storage(1), bindings::storage(2), bindings::written_storage(3)];
        let kernel = Kernel::new(gpu, "pass/mix_light.wgsl", &[], None, &entries)?;
        Ok(Some(Self { kernel, pools: (0..pools).map(|_| None).collect() }))
    }

    /// Records the commands that interpolate the light of a pool, whose number is `number`. `mirrored` has one entry per posed
    /// primitive. Returns false if the processor has to interpolate the light of the whole pool instead, because a mirroring node
    /// reverses the winding of a primitive between the poses, or because the lattices of the poses do not fit together.
    /// Errors: if a buffer for the light would be larger than the adapter allows.
    pub(crate) fn record(
        &mut self,
        gpu: &Gpu,
        layout: &wgpu::BindGroupLayout,
        (number, pool): (usize, &mut Pool),
        (light, mirrored): (&LightBetween<'_>, &[bool]),
        encoder: &mut wgpu::CommandEncoder,
    ) -> Result<bool, RenderError> {
        let known = &mut self.pools[number];
        if !pool.has_order_of_first_pose() || pool.posed_primitives().any(|m| !light.keeps_winding(m, mirrored[m])) {
            *known = None;
            return Ok(false);
        }
        if known.as_ref().is_none_or(|known| known.poses != light.poses) {
            let [before, after] = [0, 1].map(|end| pool.light_words(&|m| light.ends(m)[end]));
            let mixed = MixedLight::new(gpu, &self.kernel, (layout, pool), &before, &after)?;
            *known = Some(KnownLight { poses: light.poses, mixed });
        }
        let Some(known) = known.as_ref().and_then(|known| known.mixed.as_ref()) else { return Ok(false) };
        gpu.write(&known.uniform, 0, bytemuck::bytes_of(&LightMix { count: known.count, share: light.share }));
        let mut pass =
            encoder.begin_compute_pass(&wgpu::ComputePassDescriptor { label: Some("light"), timestamp_writes: None });
        pass.set_pipeline(&self.kernel.pipeline);
        pass.set_bind_group(0, &known.group, &[]);
        dispatch(&mut pass, known.count);
        Ok(true)
    }
}

impl MixedLight {
    /// Uploads the light of two poses, and prepares the light of the pool for it. Returns `None` if the samples of the poses do
    /// not correspond to each other.
    fn new(
        gpu: &Gpu,
        kernel: &Kernel,
        (layout, pool): (&wgpu::BindGroupLayout, &mut Pool),
        before: &LightWords,
        after: &LightWords,
    ) -> Result<Option<Self>, RenderError> {
        if before.words != after.words || before.samples.len() != after.samples.len() {
            return Ok(None);
        }
        pool.light.replace(gpu, layout, before)?;
        let count = before.samples.len() as u32;
        let storage = |samples: &[LightSample]| {
            filled(gpu, "light of a pose", bytemuck::cast_slice(samples), wgpu::BufferUsages::STORAGE)
        };
        let (before, after) = (storage(&before.samples)?, storage(&after.samples)?);
        let uniform = filled(
            gpu,
            "light share",
            bytemuck::bytes_of(&LightMix { count, share: 0.0 }),
            wgpu::BufferUsages::UNIFORM,
        )?;
        let entries = [&uniform, &before, &after, pool.light.samples()].map(|buffer| buffer.as_entire_binding());
        let group = bindings::group(&gpu.device, "light of two poses", &kernel.layout, &entries);
        Ok(Some(Self { count, uniform, group }))
    }
}
