//! Pipelines that compute the colours of surfaces. There is one pipeline for each set of material features.

use std::collections::BTreeSet;

use plinth_model::TextureSlot;

use super::{
    BATCH_FORMAT, POSE_ATTRIBUTES, PipelineBase, SURFACE_ATTRIBUTES, Side, SurfaceOutput, back_unless, depth_state,
    pose_stream, primitive, shader, surface_stream, wanted,
};
use crate::RenderError;
use crate::gpu_types::ShadedBatch;
use crate::shader::compose;
use crate::shader::material_source::{Footprint, declarations};
use crate::upload::material::{DrawClass, MaterialOnGpu};

/// The shader module, the pipeline layout and the constants of a variant.
struct Variant {
    module: wgpu::ShaderModule,
    layout: wgpu::PipelineLayout,
    defines: BTreeSet<String>,
    constants: Vec<(&'static str, f64)>,
}

fn variant(
    base: &PipelineBase<'_>,
    material: &MaterialOnGpu,
    path: &str,
    footprint: Footprint,
    group1: Option<&wgpu::BindGroupLayout>,
) -> Result<Variant, RenderError> {
    let mut defines = material.key.defines.clone();
    if base.output == SurfaceOutput::Display {
        defines.insert("DISPLAY".to_owned());
    }
    let is_lit = defines.contains("LIT");
    if is_lit && base.gpu.is_software() {
        defines.insert("PACKED_SHADOWS".to_owned());
    }
    let textures = declarations(&material.key.slots, &[TextureSlot::BaseColor], footprint);
    let source = compose(path, &defines, &[("material textures", &textures)])?;
    let module = shader(base.gpu, path, &source)?;
    let layout = base.gpu.device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
        label: Some(path),
        bind_group_layouts: &[Some(base.frame_layout), group1, Some(&material.layout), Some(base.light_layout)],
        immediate_size: 0,
    });
    let switch = |on: bool| f64::from(u8::from(on));
    let lights = base.lights;
    let mut constants = Vec::new();
    if is_lit {
        constants.extend([
            ("KEY", switch(lights.key)),
            ("KEY_SHADOW", switch(lights.key_shadow)),
            ("SUN", switch(lights.sun)),
            ("PUNCTUAL", f64::from(lights.punctual)),
        ]);
    }
    if defines.contains("PACKED_SHADOWS") {
        constants.extend(lights.packed_constants());
    }
    Ok(Variant { module, layout, defines, constants })
}

/// Creates the pipeline that shades the pixels of batches. The depth target contains the number of the batch at each
/// pixel, so the depth test selects the pixels of a batch. Each instance is one batch.
pub(super) fn create_shade(
    base: &PipelineBase<'_>,
    material: &MaterialOnGpu,
) -> Result<wgpu::RenderPipeline, RenderError> {
    let group1 = if material.key.class.is_transparent() { base.glass_layout } else { base.pool_layout };
    let Variant { module, layout, mut constants, .. } =
        variant(base, material, "pass/shade.wgsl", Footprint::Steps, Some(group1))?;
    let has_bytes = base.color_format == wgpu::TextureFormat::Rgba8Unorm;
    let batches = wgpu::VertexBufferLayout {
        array_stride: size_of::<ShadedBatch>() as u64,
        step_mode: wgpu::VertexStepMode::Instance,
        attributes: &wgpu::vertex_attr_array![0 => Float32x4, 1 => Uint32x3],
    };
    constants.extend([("SAMPLES", f64::from(base.samples)), ("STEPS", if has_bytes { 255.0 } else { 0.0 })]);
    Ok(base.gpu.device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
        label: Some("shade"),
        layout: Some(&layout),
        vertex: wgpu::VertexState {
            module: &module,
            entry_point: Some("vs"),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            buffers: &[Some(batches)],
        },
        primitive: wgpu::PrimitiveState::default(),
        depth_stencil: Some(wgpu::DepthStencilState {
            format: BATCH_FORMAT,
            ..depth_state(false, wgpu::CompareFunction::Equal, 0)
        }),
        multisample: wgpu::MultisampleState::default(),
        fragment: Some(wgpu::FragmentState {
            module: &module,
            entry_point: Some("fs"),
            compilation_options: wgpu::PipelineCompilationOptions { constants: &constants, ..Default::default() },
            targets: &[Some(wgpu::ColorTargetState {
                format: base.color_format,
                blend: base.adds_surfaces.then_some(wgpu::BlendState::PREMULTIPLIED_ALPHA_BLENDING),
                write_mask: wgpu::ColorWrites::ALL,
            })],
        }),
        multiview_mask: None,
        cache: None,
    }))
}

/// Distance by which translucent texels are drawn behind the opaque texels of the same surface, in steps of depth.
const DEPTH_TOLERANCE: i32 = 16;

/// Creates the pipeline that draws triangles over the picture drawn so far.
pub(super) fn create_transparent(
    base: &PipelineBase<'_>,
    material: &MaterialOnGpu,
    side: Side,
) -> Result<wgpu::RenderPipeline, RenderError> {
    let key = &material.key;
    let group1 = (key.class == DrawClass::Transmissive).then_some(base.scene_layout);
    let Variant { module, layout, defines, constants } =
        variant(base, material, "pass/transparent.wgsl", Footprint::Neighbors, group1)?;
    let pose = wanted(&POSE_ATTRIBUTES, &defines);
    let surface = wanted(&SURFACE_ATTRIBUTES, &defines);
    let blended = defines.contains("BLEND");
    Ok(base.gpu.device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
        label: Some("transparent"),
        layout: Some(&layout),
        vertex: wgpu::VertexState {
            module: &module,
            entry_point: Some("vs"),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            buffers: &[Some(pose_stream(&pose)), Some(surface_stream(&surface))],
        },
        primitive: primitive(back_unless(key.double_sided || side == Side::Both)),
        depth_stencil: Some(wgpu::DepthStencilState {
            // Opaque texels are already in the picture. Drivers may compute their depth a little differently in the two
            // passes.
            bias: wgpu::DepthBiasState {
                constant: if material.opaque_texels.is_some() { DEPTH_TOLERANCE } else { 0 },
                ..Default::default()
            },
            ..depth_state(!blended, wgpu::CompareFunction::LessEqual, 0)
        }),
        multisample: wgpu::MultisampleState { count: base.samples, ..Default::default() },
        fragment: Some(wgpu::FragmentState {
            module: &module,
            entry_point: Some("fs"),
            compilation_options: wgpu::PipelineCompilationOptions { constants: &constants, ..Default::default() },
            targets: &[Some(wgpu::ColorTargetState {
                format: base.color_format,
                blend: blended.then_some(wgpu::BlendState::PREMULTIPLIED_ALPHA_BLENDING),
                write_mask: wgpu::ColorWrites::ALL,
            })],
        }),
        multiview_mask: None,
        cache: None,
    }))
}
