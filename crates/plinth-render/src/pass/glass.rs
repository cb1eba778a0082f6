//! Passes for glass that is drawn through a visibility buffer of its own. The visible surfaces of the glass are found
//! and shaded like opaque surfaces. Then they are drawn over the samples of the picture drawn so far.

use plinth_frame::Region;

use super::expand_samples::{ExpandSamples, SurfaceColors};
use super::visibility::{Classify, OutsideRegion, SCISSOR_MARGIN, Shading};
use super::{depth_target, kept};
use crate::RenderError;
use crate::gpu::Gpu;
use crate::pipelines::{DEPTH_FORMAT, FullScreen, FullScreenTarget, SURFACE_FORMAT, full_screen};
use crate::recorder::Recorder;
use crate::region::widened;
use crate::targets::{GlassTargets, TargetDescriptor, Targets};

/// Finds the surfaces of glass, and draws their colours.
pub(crate) struct Glass {
    pub(crate) classify: Classify,
    expand_samples: ExpandSamples,
    empty_triangles: wgpu::RenderPipeline,
    empty_surfaces: wgpu::RenderPipeline,
    /// Width and height of the canvas.
    size: (u32, u32),
}

impl Glass {
    pub(crate) fn new(
        gpu: &Gpu,
        frame_layout: &wgpu::BindGroupLayout,
        (targets, glass): (&Targets, &GlassTargets),
        look: TargetDescriptor,
        shading: &Shading<'_>,
    ) -> Result<Self, RenderError> {
        let empty = |defines: &[&str], target| {
            let groups = &[frame_layout];
            full_screen(
                gpu,
                &FullScreen { label: "empty", path: "pass/empty.wgsl", defines, constants: &[], groups, target },
            )
        };
        let over = Some((DEPTH_FORMAT, wgpu::CompareFunction::Always));
        let triangles =
            FullScreenTarget { colors: &[look.triangle_format], over, samples: look.samples, ..Default::default() };
        let surfaces = FullScreenTarget { colors: &[SURFACE_FORMAT], ..Default::default() };
        let canvas = look.canvas();
        let classify = Classify::new(gpu, frame_layout, targets.glass_maps(glass), look, shading)?;
        Ok(Self {
            size: (canvas.width, canvas.height),
            expand_samples: ExpandSamples::new(
                gpu,
                frame_layout,
                (&glass.surfaces, &glass.colors),
                &classify.tiles,
                SurfaceColors::Whole,
                &look,
            )?,
            classify,
            empty_triangles: empty(&["TRIANGLES"], triangles)?,
            empty_surfaces: empty(&[], surfaces)?,
        })
    }

    /// Determines the visible triangles of glass in a region of the canvas, and their surfaces. `draw` draws the
    /// triangles.
    pub(crate) fn find(
        &self,
        recorder: &mut Recorder<'_>,
        frame: &wgpu::BindGroup,
        (targets, glass): (&Targets, &GlassTargets),
        part: Region,
        draw: impl FnOnce(&mut wgpu::RenderPass<'_>),
    ) {
        let fill = |pass: &mut wgpu::RenderPass<'_>, pipeline, part: Region| {
            pass.set_scissor_rect(part.x, part.y, part.width, part.height);
            pass.set_pipeline(pipeline);
            pass.draw(0..3, 0..1);
        };
        let (width, height) = self.size;
        let depth = depth_target(&targets.depth, None, true);
        let mut pass = recorder.pass("glass", frame, &[kept(&targets.triangles)], Some(depth));
        fill(&mut pass, &self.empty_triangles, widened(part, 2 * SCISSOR_MARGIN, width, height));
        pass.set_scissor_rect(part.x, part.y, part.width, part.height);
        draw(&mut pass);
        drop(pass);
        fill(
            &mut recorder.pass("glass", frame, &[kept(&glass.surfaces[1])], None),
            &self.empty_surfaces,
            widened(part, 2 * SCISSOR_MARGIN, width, height),
        );
        self.classify.run(
            recorder,
            frame,
            targets.glass_maps(glass),
            (Some(widened(part, SCISSOR_MARGIN, width, height)), OutsideRegion::Kept),
        );
    }

    /// Draws the colours of the glass surfaces to the samples in a region of the canvas.
    pub(crate) fn draw(&self, pass: &mut wgpu::RenderPass<'_>, part: Region) {
        pass.set_scissor_rect(part.x, part.y, part.width, part.height);
        self.expand_samples.draw(pass, &self.classify.tiles, part);
    }
}
