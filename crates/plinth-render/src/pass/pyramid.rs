//! The mip levels of a picture, and of a second texture that belongs to the picture.

use plinth_frame::Region;

use super::{cleared, kept};
use crate::RenderError;
use crate::bindings;
use crate::gpu::Gpu;
use crate::pipelines::{FullScreen, FullScreenTarget, full_screen};
use crate::recorder::Recorder;

/// Two textures with mip levels. Other passes draw level 0.
pub(crate) struct Pyramid {
    halve_both: wgpu::RenderPipeline,
    halve_first: wgpu::RenderPipeline,
    groups: Vec<wgpu::BindGroup>,
    /// Width and height of level 0.
    size: (u32, u32),
    /// For each level, views of both textures.
    pub(crate) levels: Vec<[wgpu::TextureView; 2]>,
    /// Views of both textures with all levels.
    pub(crate) all: [wgpu::TextureView; 2],
}

impl Pyramid {
    /// Creates the passes for two textures of the same size.
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
        let formats = textures.map(wgpu::Texture::format);
        let pipeline = |defines: &[&str], colors: &[_]| {
            full_screen(
                gpu,
                &FullScreen {
                    label: "halved",
                    path: "pass/halve.wgsl",
                    defines,
                    constants: &[],
                    groups: &[frame_layout, &layout],
                    target: FullScreenTarget { colors, ..Default::default() },
                },
            )
        };
        let halve_both = pipeline(&[], &formats)?;
        let halve_first = pipeline(&["FIRST"], &formats[..1])?;
        let groups = levels
            .iter()
            .map(|views| bindings::group(device, "halved", &layout, &views.each_ref().map(bindings::view)))
            .collect();
        let size = (textures[0].width(), textures[0].height());
        Ok(Self { halve_both, halve_first, groups, size, levels, all: level(0, mips) })
    }

    /// Computes all levels from level 0. Level 0 is empty outside the region `drawn`.
    pub(crate) fn fill(
        &self,
        recorder: &mut Recorder<'_>,
        frame: &wgpu::BindGroup,
        label: &'static str,
        drawn: Region,
    ) {
        self.for_each_level(drawn, |source, target, part| {
            let colors = target.each_ref().map(cleared);
            draw(&mut recorder.pass(label, frame, &colors, None), &self.halve_both, source, part);
        });
    }

    /// Computes the levels of the first texture again, after level 0 of this texture has changed in a region.
    pub(crate) fn fill_first(
        &self,
        recorder: &mut Recorder<'_>,
        frame: &wgpu::BindGroup,
        label: &'static str,
        changed: Region,
    ) {
        self.for_each_level(changed, |source, [target, _], part| {
            draw(&mut recorder.pass(label, frame, &[kept(target)], None), &self.halve_first, source, part);
        });
    }

    /// Calls `each` for every level except level 0. The arguments of `each` are the source, the target textures, and
    /// the region of the target that depends on the region `first` of level 0.
    fn for_each_level(&self, first: Region, mut each: impl FnMut(&wgpu::BindGroup, &[wgpu::TextureView; 2], Region)) {
        let mut part = first;
        let (mut width, mut height) = self.size;
        for (source, target) in self.groups.iter().zip(&self.levels[1..]) {
            (width, height) = ((width / 2).max(1), (height / 2).max(1));
            part = halved(part, width, height);
            each(source, target, part);
        }
    }
}

fn draw(pass: &mut wgpu::RenderPass<'_>, pipeline: &wgpu::RenderPipeline, source: &wgpu::BindGroup, part: Region) {
    pass.set_pipeline(pipeline);
    pass.set_bind_group(1, source, &[]);
    pass.set_scissor_rect(part.x, part.y, part.width, part.height);
    pass.draw(0..3, 0..1);
}

/// Returns the region of a level that depends on the region `part` of the previous level. `width` and `height` are the
/// size of the level. The filter extends the region by two texels.
fn halved(part: Region, width: u32, height: u32) -> Region {
    const REACH: u32 = 2;
    let span = |start: u32, length: u32, size: u32| {
        let from = (start / 2).saturating_sub(REACH).min(size - 1);
        let to = ((start + length).div_ceil(2) + REACH).min(size);
        (from, to - from)
    };
    let ((x, width), (y, height)) = (span(part.x, part.width, width), span(part.y, part.height, height));
    Region { x, y, width, height }
}
