//! Model, floor and backdrop become one picture.

use plinth_frame::Region;

use crate::RenderError;
use crate::gpu::Gpu;
use crate::pass::floor::Floor;
use crate::pipelines::{FullScreen, full_screen};
use crate::upload::geometry::filled;

/// The pass that puts model, floor and backdrop together.
pub(crate) struct Composite {
    pipeline: wgpu::RenderPipeline,
    group: wgpu::BindGroup,
    /// The model's part, relative to the drawn region.
    part: Region,
    backdrop: wgpu::Color,
}

/// What is put together, and how.
pub(crate) struct CompositeLook<'a> {
    /// The drawn model.
    pub(crate) model: &'a wgpu::TextureView,
    /// Its samples per pixel.
    pub(crate) samples: u32,
    /// Whether it is linear radiance.
    pub(crate) radiance: bool,
    /// Format of the finished picture.
    pub(crate) format: wgpu::TextureFormat,
    /// The model's part, relative to the drawn region.
    pub(crate) part: Region,
    /// sRGB-encoded with alpha 1, or all zero for a transparent picture.
    pub(crate) backdrop: wgpu::Color,
}

impl Composite {
    pub(crate) fn new(
        gpu: &Gpu,
        frame_layout: &wgpu::BindGroupLayout,
        look: &CompositeLook<'_>,
    ) -> Result<Self, RenderError> {
        let stages = wgpu::ShaderStages::FRAGMENT;
        let layout = gpu.device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: Some("composite"),
            entries: &[
                wgpu::BindGroupLayoutEntry {
                    binding: 0,
                    visibility: stages,
                    ty: wgpu::BindingType::Texture {
                        sample_type: wgpu::TextureSampleType::Float { filterable: false },
                        view_dimension: wgpu::TextureViewDimension::D2,
                        multisampled: look.samples > 1,
                    },
                    count: None,
                },
                wgpu::BindGroupLayoutEntry {
                    binding: 1,
                    visibility: stages,
                    ty: wgpu::BindingType::Buffer {
                        ty: wgpu::BufferBindingType::Uniform,
                        has_dynamic_offset: false,
                        min_binding_size: None,
                    },
                    count: None,
                },
            ],
        });
        let origin = [look.part.x as f32, look.part.y as f32, 0.0, 0.0];
        let buffer = filled(gpu, "place", bytemuck::bytes_of(&origin), wgpu::BufferUsages::UNIFORM)?;
        let mut defines = Vec::new();
        if look.samples > 1 {
            defines.push("MULTISAMPLED");
        }
        if look.radiance {
            defines.push("RADIANCE");
        }
        let constants = [("SAMPLES", f64::from(look.samples))];
        let pipeline = full_screen(
            gpu,
            &FullScreen {
                label: "composite",
                path: "pass/composite.wgsl",
                defines: &defines,
                constants: if look.samples > 1 { &constants } else { &[] },
                groups: &[frame_layout, &layout],
                format: look.format,
                blend: Some(wgpu::BlendState::PREMULTIPLIED_ALPHA_BLENDING),
            },
        )?;
        let group = gpu.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("composite"),
            layout: &layout,
            entries: &[
                wgpu::BindGroupEntry { binding: 0, resource: wgpu::BindingResource::TextureView(look.model) },
                wgpu::BindGroupEntry { binding: 1, resource: buffer.as_entire_binding() },
            ],
        });
        Ok(Self { pipeline, group, part: look.part, backdrop: look.backdrop })
    }

    /// Writes every pixel of the finished picture. The floor is behind the model wherever it is seen at all.
    pub(crate) fn run(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        frame: &wgpu::BindGroup,
        floor: Option<&Floor>,
        target: &wgpu::TextureView,
    ) {
        let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
            label: Some("composite"),
            color_attachments: &[Some(wgpu::RenderPassColorAttachment {
                view: target,
                depth_slice: None,
                resolve_target: None,
                ops: wgpu::Operations { load: wgpu::LoadOp::Clear(self.backdrop), store: wgpu::StoreOp::Store },
            })],
            ..Default::default()
        });
        pass.set_bind_group(0, frame, &[]);
        if let Some(floor) = floor {
            floor.draw(&mut pass);
        }
        pass.set_pipeline(&self.pipeline);
        pass.set_bind_group(1, &self.group, &[]);
        pass.set_scissor_rect(self.part.x, self.part.y, self.part.width, self.part.height);
        pass.draw(0..3, 0..1);
    }
}
