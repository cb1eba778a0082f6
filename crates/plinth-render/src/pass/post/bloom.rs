//! Bloom: a glow around bright surfaces.

use plinth_frame::Region;

use crate::RenderError;
use crate::bindings;
use crate::gpu::Gpu;
use crate::pass::{cleared, kept};
use crate::pipelines::{ADDED, FullScreen, FullScreenTarget, full_screen};
use crate::recorder::Recorder;
use crate::targets::texture;

use super::PICTURE_FORMAT;

/// Number of mip levels that are added, the smallest ones. Each of them spreads the light twice as far as the next larger
/// one.
const ADDED_LEVELS: usize = 5;

/// Spreads the light of bright surfaces.
pub(crate) struct Bloom {
    bright: Step,
    down: Vec<Step>,
    up: Vec<Step>,
    levels: Vec<wgpu::TextureView>,
    /// Index of the level to which all smaller levels are added.
    first: usize,
    show: Step,
    shown: wgpu::TextureView,
}

/// A draw from one mip level to another.
struct Step {
    pipeline: wgpu::RenderPipeline,
    group: wgpu::BindGroup,
}

impl Bloom {
    /// Creates the passes. The result has the format `format`.
    pub(crate) fn new(
        gpu: &Gpu,
        frame_layout: &wgpu::BindGroupLayout,
        (region, format): (Region, wgpu::TextureFormat),
        strength: f32,
        radiance: &wgpu::TextureView,
    ) -> Result<Self, RenderError> {
        let quarter = Region::whole(region.width.div_ceil(4), region.height.div_ceil(4));
        let count = level_count(quarter);
        let usage = wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::TEXTURE_BINDING;
        let chain = texture(gpu, quarter, 1, PICTURE_FORMAT, usage, count);
        let levels: Vec<_> = (0..count)
            .map(|level| {
                chain.create_view(&wgpu::TextureViewDescriptor {
                    base_mip_level: level,
                    mip_level_count: Some(1),
                    ..Default::default()
                })
            })
            .collect();
        let last = levels.len() - 1;
        let first = levels.len().saturating_sub(ADDED_LEVELS);
        let size = Region::whole((quarter.width >> first).max(1), (quarter.height >> first).max(1));
        let shown = texture(gpu, size, 1, format, usage, 1).create_view(&wgpu::TextureViewDescriptor::default());
        // The result is the mean over all levels that are added, so that the total light is preserved.
        let strength = [("STRENGTH", f64::from(strength) / (levels.len() - first) as f64)];
        let layout = bindings::layout(&gpu.device, "bloom", &[bindings::texture(0, bindings::FILTERED)]);
        let step = |define: &str, format, blend: Option<wgpu::BlendState>, source: &wgpu::TextureView| {
            let pipeline = full_screen(
                gpu,
                &FullScreen {
                    label: "bloom",
                    path: "pass/bloom.wgsl",
                    defines: &[define],
                    constants: if define == "DISPLAYED" { &strength } else { &[] },
                    groups: &[frame_layout, &layout],
                    target: FullScreenTarget { colors: &[format], blend, ..Default::default() },
                },
            )?;
            let group = bindings::group(&gpu.device, "bloom", &layout, &[bindings::view(source)]);
            Ok::<_, RenderError>(Step { pipeline, group })
        };
        Ok(Self {
            bright: step("BRIGHT", PICTURE_FORMAT, None, radiance)?,
            down: levels[..last]
                .iter()
                .map(|level| step("HALVE", PICTURE_FORMAT, None, level))
                .collect::<Result<_, _>>()?,
            up: levels[first + 1..]
                .iter()
                .map(|level| step("WIDEN", PICTURE_FORMAT, Some(ADDED), level))
                .collect::<Result<_, _>>()?,
            show: step("DISPLAYED", format, None, &levels[first])?,
            levels,
            first,
            shown,
        })
    }

    /// Returns the texture with the glow, which is smaller than the picture.
    pub(crate) fn result(&self) -> &wgpu::TextureView {
        &self.shown
    }

    pub(crate) fn run(&self, recorder: &mut Recorder<'_>, frame: &wgpu::BindGroup) {
        let mut draw = |step: &Step, target| {
            let mut pass = recorder.pass("bloom", frame, &[target], None);
            pass.set_pipeline(&step.pipeline);
            pass.set_bind_group(1, &step.group, &[]);
            pass.draw(0..3, 0..1);
        };
        draw(&self.bright, cleared(&self.levels[0]));
        for (step, target) in self.down.iter().zip(&self.levels[1..]) {
            draw(step, cleared(target));
        }
        for (step, target) in self.up.iter().zip(&self.levels[self.first..]).rev() {
            draw(step, kept(target));
        }
        draw(&self.show, cleared(&self.shown));
    }
}

/// Returns the number of mip levels for a picture. Level 0 has the size `quarter`: a quarter of the width and height of the
/// picture.
///
/// A texel of the last level covers between a sixth and a third of the picture's shorter side, so that pictures of all
/// sizes have about the same glow. A picture that is twice as large as another has one level more.
fn level_count(quarter: Region) -> u32 {
    let side = quarter.width.min(quarter.height).max(3);
    (side * 4 / 3).ilog2() - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_widest_glow_is_the_same_fraction_of_pictures_of_all_sizes() {
        let count = |width: u32, height: u32| level_count(Region::whole(width.div_ceil(4), height.div_ceil(4)));
        let tiers = [(960, 540), (1920, 1080), (3840, 2160), (2160, 3840)];
        assert_eq!(tiers.map(|(width, height)| count(width, height)), [6, 7, 8, 8]);
        for side in 64..2160 {
            let widest = f64::from(4_u32 << (count(side, 2 * side) - 1)) / f64::from(side);
            assert!((0.16..0.35).contains(&widest), "{side}: {widest}");
        }
        assert!((1..12).all(|side| count(side, 4096) == 1), "tiny pictures");
    }
}
