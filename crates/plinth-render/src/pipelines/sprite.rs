//! Pipelines of the passes that determine which points and lines are visible.

use std::collections::BTreeSet;

use plinth_model::TextureSlot;

use super::{DepthView, GEOMETRY_FORMAT, PipelineBase, SpritePass, depth_state, primitive, shader};
use crate::RenderError;
use crate::shader::compose;
use crate::shader::material_source::{Footprint, declarations};
use crate::upload::material::MaterialOnGpu;
use crate::upload::sprite_material::SpriteKind;

const PATH: &str = "pass/sprite.wgsl";

pub(super) fn create(
    base: &PipelineBase<'_>,
    pass: SpritePass,
    kind: SpriteKind,
    material: &MaterialOnGpu,
) -> Result<wgpu::RenderPipeline, RenderError> {
    let alpha_test = material.alpha_test.as_ref();
    let (define, target, samples) = match pass {
        SpritePass::Visibility => ("NUMBERED", Some(base.triangle_format), base.samples),
        SpritePass::Geometry => ("FACING", Some(GEOMETRY_FORMAT), 1),
        SpritePass::Shadow(_) => ("CAST", None, 1),
    };
    let mut defines = BTreeSet::from([define]);
    if kind == SpriteKind::Lines {
        defines.insert("LINES");
    }
    if alpha_test.is_some() {
        defines.insert("ALPHA_TEST");
        if material.key.defines.contains("BLEND") {
            defines.insert("BLEND");
        }
    }
    let textures =
        declarations(alpha_test.map_or(&[], |c| c.slots.as_slice()), &[TextureSlot::BaseColor], Footprint::Neighbors);
    let defines = defines.into_iter().map(str::to_owned).collect();
    let module = shader(base.gpu, PATH, &compose(PATH, &defines, &[("material textures", &textures)])?)?;
    let device = &base.gpu.device;
    let layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
        label: Some(PATH),
        bind_group_layouts: &[Some(base.frame_layout), Some(base.sprites_layout), alpha_test.map(|c| &c.layout)],
        immediate_size: 0,
    });
    let sun = [("SUN_VIEW", f64::from(u8::from(pass == SpritePass::Shadow(DepthView::Sun))))];
    let sample_count = [("SAMPLES", f64::from(base.samples))];
    let targets = [target.map(wgpu::ColorTargetState::from)];
    let is_shadow = matches!(pass, SpritePass::Shadow(_));
    Ok(device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
        label: Some(PATH),
        layout: Some(&layout),
        vertex: wgpu::VertexState {
            module: &module,
            entry_point: Some("vs"),
            compilation_options: wgpu::PipelineCompilationOptions {
                constants: if is_shadow { &sun } else { &[] },
                ..Default::default()
            },
            buffers: &[],
        },
        primitive: primitive(None),
        depth_stencil: Some(depth_state(true, wgpu::CompareFunction::LessEqual, 0)),
        multisample: wgpu::MultisampleState { count: samples, ..Default::default() },
        fragment: (alpha_test.is_some() || target.is_some()).then(|| wgpu::FragmentState {
            module: &module,
            entry_point: Some("fs"),
            compilation_options: wgpu::PipelineCompilationOptions {
                constants: if pass == SpritePass::Visibility { &sample_count } else { &[] },
                ..Default::default()
            },
            targets: if target.is_some() { &targets } else { &[] },
        }),
        multiview_mask: None,
        cache: None,
    }))
}
