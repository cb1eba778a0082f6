//! Linear radiance to display colours, and the backdrop.

use crate::RenderError;
use crate::gpu::Gpu;
use crate::pipelines::{FullScreen, full_screen};
use crate::upload::geometry::filled;

/// The pass that turns drawn radiance into the finished picture.
pub(crate) struct Composite {
    pipeline: wgpu::RenderPipeline,
    group: wgpu::BindGroup,
}

impl Composite {
    /// `backdrop` is sRGB-encoded with alpha 1, or all zero for a transparent picture.
    pub(crate) fn new(
        gpu: &Gpu,
        frame_layout: &wgpu::BindGroupLayout,
        radiance: &wgpu::TextureView,
        samples: u32,
        format: wgpu::TextureFormat,
        backdrop: [f32; 4],
    ) -> Result<Self, RenderError> {
        let layout = gpu.device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: Some("composite"),
            entries: &[
                wgpu::BindGroupLayoutEntry {
                    binding: 0,
                    visibility: wgpu::ShaderStages::FRAGMENT,
                    ty: wgpu::BindingType::Texture {
                        sample_type: wgpu::TextureSampleType::Float { filterable: false },
                        view_dimension: wgpu::TextureViewDimension::D2,
                        multisampled: samples > 1,
                    },
                    count: None,
                },
                wgpu::BindGroupLayoutEntry {
                    binding: 1,
                    visibility: wgpu::ShaderStages::FRAGMENT,
                    ty: wgpu::BindingType::Buffer {
                        ty: wgpu::BufferBindingType::Uniform,
                        has_dynamic_offset: false,
                        min_binding_size: None,
                    },
                    count: None,
                },
            ],
        });
        let buffer = filled(gpu, "backdrop", bytemuck::bytes_of(&backdrop), wgpu::BufferUsages::UNIFORM)?;
        let multisampled: &[&str] = if samples > 1 { &["MULTISAMPLED"] } else { &[] };
        let constants = [("SAMPLES", f64::from(samples))];
        let pipeline = full_screen(
            gpu,
            &FullScreen {
                label: "composite",
                path: "pass/composite.wgsl",
                defines: multisampled,
                constants: if samples > 1 { &constants } else { &[] },
                groups: &[frame_layout, &layout],
                format,
            },
        )?;
        let group = gpu.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("composite"),
            layout: &layout,
            entries: &[
                wgpu::BindGroupEntry { binding: 0, resource: wgpu::BindingResource::TextureView(radiance) },
                wgpu::BindGroupEntry { binding: 1, resource: buffer.as_entire_binding() },
            ],
        });
        Ok(Self { pipeline, group })
    }

    /// Writes every pixel of the finished picture.
    pub(crate) fn run(&self, encoder: &mut wgpu::CommandEncoder, frame: &wgpu::BindGroup, target: &wgpu::TextureView) {
        let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
            label: Some("composite"),
            color_attachments: &[Some(wgpu::RenderPassColorAttachment {
                view: target,
                depth_slice: None,
                resolve_target: None,
                ops: wgpu::Operations { load: wgpu::LoadOp::Clear(wgpu::Color::TRANSPARENT), store: wgpu::StoreOp::Store },
            })],
            ..Default::default()
        });
        pass.set_pipeline(&self.pipeline);
        pass.set_bind_group(0, frame, &[]);
        pass.set_bind_group(1, &self.group, &[]);
        pass.draw(0..3, 0..1);
    }
}
