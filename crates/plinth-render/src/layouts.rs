//! The bind group layouts that pipelines share.

use crate::frame_group::frame_layout;
use crate::gpu::Gpu;
use crate::pass::geometry::triangles_layout;
use crate::pass::scene_color::scene_layout;
use crate::pass::visibility::{glass_layout, pool_layout};
use crate::pipelines::{LightSwitches, PipelineBase};
use crate::targets::TargetDescriptor;
use crate::upload::gathered_light::light_layout;
use crate::upload::sprites::sprites_layout;

/// The bind group layouts that pipelines share.
pub(crate) struct Layouts {
    pub(crate) frame: wgpu::BindGroupLayout,
    pub(crate) scene: wgpu::BindGroupLayout,
    pub(crate) pool: wgpu::BindGroupLayout,
    pub(crate) glass: wgpu::BindGroupLayout,
    pub(crate) light: wgpu::BindGroupLayout,
    pub(crate) triangles: wgpu::BindGroupLayout,
    pub(crate) sprites: wgpu::BindGroupLayout,
}

impl Layouts {
    pub(crate) fn new(gpu: &Gpu) -> Self {
        Self {
            frame: frame_layout(gpu),
            scene: scene_layout(gpu),
            pool: pool_layout(gpu),
            glass: glass_layout(gpu),
            light: light_layout(gpu),
            triangles: triangles_layout(gpu),
            sprites: sprites_layout(gpu),
        }
    }

    /// Returns the values that all pipelines of a renderer share.
    pub(crate) fn pipeline_base<'a>(
        &'a self,
        gpu: &'a Gpu,
        look: TargetDescriptor,
        lights: LightSwitches,
    ) -> PipelineBase<'a> {
        PipelineBase {
            gpu,
            frame_layout: &self.frame,
            samples: look.samples,
            triangle_format: look.triangle_format,
            color_format: look.color_format,
            picture_format: look.picture_format,
            output: look.output,
            adds_surfaces: look.direct || look.around_blended,
            on_host: look.on_host,
            transparent: look.transparent,
            lights,
            pool_layout: &self.pool,
            glass_layout: &self.glass,
            light_layout: &self.light,
            triangles_layout: &self.triangles,
            sprites_layout: &self.sprites,
            scene_layout: &self.scene,
        }
    }
}
