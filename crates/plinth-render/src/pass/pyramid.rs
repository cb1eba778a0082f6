//! Ever blurrier halves of a picture and of what goes with it.

use super::cleared;
use crate::RenderError;
use crate::bindings;
use crate::gpu::Gpu;
use crate::pipelines::{FullScreen, FullScreenTarget, full_screen};
use crate::recorder::Recorder;

/// Two textures with mip levels; the first level is drawn by others.
pub(crate) struct Pyramid {
    halve: wgpu::RenderPipeline,
    groups: Vec<wgpu::BindGroup>,
    /// Both textures of each level.
    pub(crate) levels: Vec<[wgpu::TextureView; 2]>,
    /// Both with all their levels.
    pub(crate) all: [wgpu::TextureView; 2],
}

impl Pyramid {
    /// Of two textures of one size.
    pub(crate) fn new(
        gpu: &Gpu,
        frame_layout: &wgpu::BindGroupLayout,
        textures: [&wgpu::Texture; 2],
    ) -> Result<Self, RenderError> {
        let device = &gpu.device;
        let mips = textures[0].mip_level_count();
        let level = |mip: u32, count: u32| {
            textures.map(|texture| {
                texture.create_view(&wgpu::TextureViewDescriptor {
                    base_mip_level: mip,
                    mip_level_count: Some(count),
                    ..Default::default()
                })
            })
        };
        let levels: Vec<_> = (0..mips).map(|mip| level(mip, 1)).collect();
        let layout = bindings::layout(
            device,
            "halved",
            &[bindings::texture(0, bindings::FILTERED), bindings::texture(1, bindings::FILTERED)],
        );
        let halve = full_screen(
            gpu,
            &FullScreen {
                label: "halved",
                path: "pass/halve.wgsl",
                defines: &[],
                constants: &[],
                groups: &[frame_layout, &layout],
                target: FullScreenTarget { colors: &textures.map(wgpu::Texture::format), ..Default::default() },
            },
        )?;
        let groups = levels
            .iter()
            .map(|views| bindings::group(device, "halved", &layout, &views.each_ref().map(bindings::view)))
            .collect();
        Ok(Self { halve, groups, levels, all: level(0, mips) })
    }

    /// Fills all levels from the first.
    pub(crate) fn fill(&self, recorder: &mut Recorder<'_>, frame: &wgpu::BindGroup, label: &'static str) {
        for (source, target) in self.groups.iter().zip(&self.levels[1..]) {
            let colors = target.each_ref().map(cleared);
            let mut pass = recorder.pass(label, frame, &colors, None);
            pass.set_pipeline(&self.halve);
            pass.set_bind_group(1, source, &[]);
            pass.draw(0..3, 0..1);
        }
    }
}
