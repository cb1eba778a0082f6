//! Pipelines of the passes that determine which surfaces are visible: for the visibility buffer, the shadow maps and the
//! reflecting floor.

use std::collections::BTreeSet;

use plinth_model::TextureSlot;

use super::{
    DepthView, GEOMETRY_FORMAT, POSE_ATTRIBUTES, PipelineBase, Precision, SURFACE_ATTRIBUTES, back_unless, depth_state,
    pose_stream, primitive, shader, surface_stream,
};
use crate::RenderError;
use crate::shader::compose;
use crate::shader::material_source::{Footprint, declarations};
use crate::targets::NORMAL_FORMAT;
use crate::upload::material::AlphaTest;

/// What vertex stream 0 contains.
#[derive(Clone, Copy)]
enum Vertices {
    /// Posed vertices. The value is the number of their attributes that the shader reads.
    Pose(usize),
    /// Positions of [`NumberedTriangles`](crate::upload::numbered::NumberedTriangles).
    Numbered,
}

/// Parameters of a pipeline that this file creates.
struct Geometry<'a> {
    label: &'a str,
    path: &'a str,
    /// Preprocessor defines for the vertex attributes other than the position.
    defines: &'a [&'a str],
    group1: Option<&'a wgpu::BindGroupLayout>,
    alpha_test: Option<&'a AlphaTest>,
    vertices: Vertices,
    vertex_constants: &'a [(&'a str, f64)],
    fragment_constants: &'a [(&'a str, f64)],
    cull: Option<wgpu::Face>,
    slope_bias: u8,
    samples: u32,
    target: Option<wgpu::TextureFormat>,
}

pub(super) fn create_visibility(
    base: &PipelineBase<'_>,
    alpha_test: Option<&AlphaTest>,
    (opaque_texels, double_sided): (bool, bool),
) -> Result<wgpu::RenderPipeline, RenderError> {
    let samples = [("SAMPLES", f64::from(base.samples))];
    create(
        base,
        &Geometry {
            label: "visibility",
            path: "pass/visibility.wgsl",
            defines: if opaque_texels { &["NUMBERED", "OPAQUE_TEXELS"] } else { &["NUMBERED"] },
            group1: None,
            alpha_test,
            vertices: Vertices::Numbered,
            vertex_constants: &[],
            fragment_constants: if alpha_test.is_some() && !opaque_texels { &samples } else { &[] },
            cull: back_unless(double_sided),
            slope_bias: 0,
            samples: base.samples,
            target: Some(base.triangle_format),
        },
    )
}

pub(super) fn create_depth(
    base: &PipelineBase<'_>,
    view: DepthView,
    alpha_test: Option<&AlphaTest>,
) -> Result<wgpu::RenderPipeline, RenderError> {
    create(
        base,
        &Geometry {
            label: "depth",
            path: "pass/depth.wgsl",
            defines: &[],
            group1: None,
            alpha_test,
            vertices: Vertices::Pose(1),
            vertex_constants: &[("SUN_VIEW", if view == DepthView::Sun { 1.0 } else { 0.0 })],
            fragment_constants: &[],
            // Both sides of triangles cast shadows, because the surface of a model need not be closed.
            cull: None,
            slope_bias: 2,
            samples: 1,
            target: None,
        },
    )
}

/// Creates a pipeline that writes the depth of a blended surface as seen from the camera of a view.
pub(super) fn create_blended_depth(
    base: &PipelineBase<'_>,
    alpha_test: Option<&AlphaTest>,
    double_sided: bool,
) -> Result<wgpu::RenderPipeline, RenderError> {
    let constants = [("CAMERA_VIEW", 1.0)];
    create(
        base,
        &Geometry {
            label: "blended depth",
            path: "pass/depth.wgsl",
            defines: &[],
            group1: None,
            alpha_test,
            vertices: Vertices::Pose(1),
            vertex_constants: &constants,
            fragment_constants: &constants,
            cull: back_unless(double_sided),
            slope_bias: 0,
            samples: base.samples,
            target: None,
        },
    )
}

/// Creates a pipeline that writes the normal and the distance of the nearest surface at the centres of pixels.
pub(super) fn create_geometry(
    base: &PipelineBase<'_>,
    alpha_test: Option<&AlphaTest>,
    double_sided: bool,
    precision: Precision,
) -> Result<wgpu::RenderPipeline, RenderError> {
    let exact = precision == Precision::Exact;
    create(
        base,
        &Geometry {
            label: "geometry",
            path: "pass/geometry.wgsl",
            defines: if exact { &["NUMBERED", "EXACT"] } else { &["FACING"] },
            group1: exact.then_some(base.triangles_layout),
            alpha_test,
            vertices: if exact { Vertices::Numbered } else { Vertices::Pose(2) },
            vertex_constants: &[],
            fragment_constants: &[],
            cull: back_unless(double_sided),
            slope_bias: 0,
            samples: 1,
            target: Some(GEOMETRY_FORMAT),
        },
    )
}

/// Creates the pipeline that draws the back faces of glass bodies.
pub(super) fn create_back_faces(base: &PipelineBase<'_>) -> Result<wgpu::RenderPipeline, RenderError> {
    create(
        base,
        &Geometry {
            label: "back faces",
            path: "pass/back_faces.wgsl",
            defines: &["FACING"],
            group1: None,
            alpha_test: None,
            vertices: Vertices::Pose(2),
            vertex_constants: &[],
            fragment_constants: &[],
            cull: Some(wgpu::Face::Front),
            slope_bias: 0,
            samples: 1,
            target: Some(NORMAL_FORMAT),
        },
    )
}

fn create(base: &PipelineBase<'_>, look: &Geometry<'_>) -> Result<wgpu::RenderPipeline, RenderError> {
    let alpha_test = look.alpha_test.map(|_| "ALPHA_TEST");
    let defines: BTreeSet<String> = look.defines.iter().copied().chain(alpha_test).map(str::to_owned).collect();
    let slots = look.alpha_test.map_or(&[][..], |c| c.slots.as_slice());
    let textures = declarations(slots, &[TextureSlot::BaseColor], Footprint::Neighbors);
    let source = compose(look.path, &defines, &[("material textures", &textures)])?;
    let module = shader(base.gpu, look.label, &source)?;
    let device = &base.gpu.device;
    let layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
        label: Some(look.label),
        bind_group_layouts: &[Some(base.frame_layout), look.group1, look.alpha_test.map(|c| &c.layout)],
        immediate_size: 0,
    });
    let surface: Vec<_> = SURFACE_ATTRIBUTES.iter().copied().filter(|a| a.shader_location <= 5).collect();
    let positions = match look.vertices {
        Vertices::Pose(attributes) => pose_stream(&POSE_ATTRIBUTES[..attributes]),
        Vertices::Numbered => wgpu::VertexBufferLayout {
            array_stride: size_of::<[f32; 3]>() as u64,
            ..pose_stream(&POSE_ATTRIBUTES[..1])
        },
    };
    let buffers = [Some(positions), Some(surface_stream(&surface))];
    let targets =
        [look.target.map(|format| wgpu::ColorTargetState { format, blend: None, write_mask: wgpu::ColorWrites::ALL })];
    let has_fragments = look.alpha_test.is_some() || look.target.is_some();
    Ok(device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
        label: Some(look.label),
        layout: Some(&layout),
        vertex: wgpu::VertexState {
            module: &module,
            entry_point: Some("vs"),
            compilation_options: wgpu::PipelineCompilationOptions {
                constants: look.vertex_constants,
                ..Default::default()
            },
            buffers: if look.alpha_test.is_some() { &buffers } else { &buffers[..1] },
        },
        primitive: primitive(look.cull),
        depth_stencil: Some(depth_state(true, wgpu::CompareFunction::LessEqual, look.slope_bias)),
        multisample: wgpu::MultisampleState { count: look.samples, ..Default::default() },
        fragment: has_fragments.then(|| wgpu::FragmentState {
            module: &module,
            entry_point: Some("fs"),
            compilation_options: wgpu::PipelineCompilationOptions {
                constants: look.fragment_constants,
                ..Default::default()
            },
            targets: if look.target.is_some() { &targets } else { &[] },
        }),
        multiview_mask: None,
        cache: None,
    }))
}
