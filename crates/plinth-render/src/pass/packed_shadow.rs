//! Packed copies of shadow maps, which software drivers read instead of the maps. Each texel of a copy contains four
//! neighbouring depths. A software driver reads the 128 bits of such a texel as fast as the 32 bits of a depth.

use super::cleared;
use super::shadow_map::ShadowMap;
use crate::RenderError;
use crate::bindings;
use crate::gpu::Gpu;
use crate::pipelines::{FullScreen, FullScreenTarget, full_screen};
use crate::recorder::Recorder;

/// Maximum side length of a shadow map that has a packed copy. The copy of a larger map would take too much memory.
const MAX_SIDE: u32 = 1024;
const FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::Rgba32Float;

/// The packed copy of a shadow map.
pub(crate) struct PackedShadow {
    pub(crate) view: wgpu::TextureView,
    pipeline: wgpu::RenderPipeline,
    source: wgpu::BindGroup,
}

impl PackedShadow {
    /// Gives each map a packed copy if this saves time. `frame_layout` is the layout of bind group 0.
    /// Errors: if the driver rejects the shader.
    pub(crate) fn add(
        gpu: &Gpu,
        frame_layout: &wgpu::BindGroupLayout,
        maps: [&mut ShadowMap; 2],
    ) -> Result<(), RenderError> {
        let is_packed = |map: &ShadowMap| gpu.is_software() && map.is_used && map.view.texture().width() <= MAX_SIDE;
        let packed: Vec<_> = maps.into_iter().filter(|map| is_packed(map)).collect();
        if packed.is_empty() {
            return Ok(());
        }
        let layout = bindings::layout(
            &gpu.device,
            "packed shadow map",
            &[
                bindings::texture(0, wgpu::TextureSampleType::Depth),
                bindings::sampler(1, wgpu::SamplerBindingType::NonFiltering),
            ],
        );
        let pipeline = full_screen(
            gpu,
            &FullScreen {
                label: "packed shadow map",
                path: "pass/packed_shadow.wgsl",
                defines: &[],
                constants: &[],
                groups: &[frame_layout, &layout],
                target: FullScreenTarget { colors: &[FORMAT], ..Default::default() },
            },
        )?;
        let nearest = gpu.device.create_sampler(&wgpu::SamplerDescriptor::default());
        for map in packed {
            let resources = [bindings::view(&map.view), wgpu::BindingResource::Sampler(&nearest)];
            let source = bindings::group(&gpu.device, "packed shadow map", &layout, &resources);
            let view = packed_texture(gpu, map.view.texture().width());
            map.packed = Some(Self { view, pipeline: pipeline.clone(), source });
        }
        Ok(())
    }

    /// Fills the copy after the shadow map has been drawn. `frame` is a bind group without shadow maps.
    pub(crate) fn fill(&self, recorder: &mut Recorder<'_>, frame: &wgpu::BindGroup) {
        let mut pass = recorder.pass("packed shadow map", frame, &[cleared(&self.view)], None);
        pass.set_pipeline(&self.pipeline);
        pass.set_bind_group(1, &self.source, &[]);
        pass.draw(0..3, 0..1);
    }
}

/// Creates the texture of a packed shadow map.
pub(crate) fn packed_texture(gpu: &Gpu, side: u32) -> wgpu::TextureView {
    gpu.device
        .create_texture(&wgpu::TextureDescriptor {
            label: Some("packed shadow map"),
            size: wgpu::Extent3d { width: side, height: side, depth_or_array_layers: 1 },
            mip_level_count: 1,
            sample_count: 1,
            dimension: wgpu::TextureDimension::D2,
            format: FORMAT,
            usage: wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::TEXTURE_BINDING,
            view_formats: &[],
        })
        .create_view(&wgpu::TextureViewDescriptor::default())
}
