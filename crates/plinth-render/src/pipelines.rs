//! Render pipelines, made once per variant.

use std::collections::{BTreeMap, BTreeSet};

use crate::RenderError;
use crate::gpu::Gpu;
use crate::gpu_types::{PoseVertex, SurfaceVertex};
use crate::shader::compose;
use crate::shader::material_source::{Slot, SlotUse, declarations};
use crate::upload::material::{CutMaterial, DrawClass, MaterialOnGpu, VariantKey};

/// Format of every depth target.
pub(crate) const DEPTH_FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::Depth32Float;

/// What surfaces write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum SurfaceOutput {
    /// Display-referred, sRGB-encoded colours: nothing is left to do after the resolve.
    Display,
    /// Linear radiance, premultiplied: a later pass applies the tone curve.
    Radiance,
}

/// Which lights a scene has; unused ones are compiled out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct LightSwitches {
    pub(crate) key: bool,
    pub(crate) key_shadow: bool,
    pub(crate) sun: bool,
    pub(crate) punctual: bool,
}

/// What all pipelines of a renderer share.
pub(crate) struct PipelineBase<'a> {
    pub(crate) gpu: &'a Gpu,
    pub(crate) frame_layout: &'a wgpu::BindGroupLayout,
    pub(crate) samples: u32,
    pub(crate) color_format: wgpu::TextureFormat,
    pub(crate) finished_format: wgpu::TextureFormat,
    pub(crate) output: SurfaceOutput,
    pub(crate) lights: LightSwitches,
    /// Group 1 of transmissive surfaces: what was drawn before.
    pub(crate) scene_layout: &'a wgpu::BindGroupLayout,
}

/// Which view a depth-only pass takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum DepthView {
    /// The camera: the prepass.
    Camera,
    /// The key light.
    Key,
    /// The environment's sun.
    Sun,
}

/// Pipelines by variant.
#[derive(Default)]
pub(crate) struct Pipelines {
    surfaces: BTreeMap<(VariantKey, Side), wgpu::RenderPipeline>,
    depths: BTreeMap<(DepthView, Vec<SlotUse>, bool), wgpu::RenderPipeline>,
}

/// Which sides of triangles a draw shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Side {
    /// As the material says.
    Material,
    /// Both, whatever the material says: the inside of a closed shell.
    Both,
}

impl Pipelines {
    /// The pipeline that shades a material, made when first asked for.
    pub(crate) fn surface(
        &mut self,
        base: &PipelineBase<'_>,
        material: &MaterialOnGpu,
        side: Side,
    ) -> Result<&wgpu::RenderPipeline, RenderError> {
        let key = (material.key.clone(), side);
        if !self.surfaces.contains_key(&key) {
            let made = create_surface(base, material, side)?;
            self.surfaces.insert(key.clone(), made);
        }
        self.surfaces.get(&key).ok_or_else(|| RenderError::Shader { name: "surface".to_owned(), words: String::new() })
    }

    /// The pipeline that writes depth only; `cut` where alpha makes holes.
    pub(crate) fn depth(
        &mut self,
        base: &PipelineBase<'_>,
        view: DepthView,
        cut: Option<&CutMaterial>,
        double_sided: bool,
    ) -> Result<&wgpu::RenderPipeline, RenderError> {
        let slots = cut.map_or_else(Vec::new, |c| c.slots.clone());
        let marker = cut.is_some();
        let key = (view, if marker { slots } else { Vec::new() }, double_sided || marker);
        if !self.depths.contains_key(&key) {
            let made = create_depth(base, view, cut, double_sided)?;
            self.depths.insert(key.clone(), made);
        }
        self.depths.get(&key).ok_or_else(|| RenderError::Shader { name: "depth".to_owned(), words: String::new() })
    }
}

/// Compiles a composed shader and turns the compiler's complaint into an error.
pub(crate) fn shader(gpu: &Gpu, name: &str, source: &str) -> Result<wgpu::ShaderModule, RenderError> {
    let scope = gpu.device.push_error_scope(wgpu::ErrorFilter::Validation);
    let module = gpu.device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: Some(name),
        source: wgpu::ShaderSource::Wgsl(source.into()),
    });
    match pollster::block_on(scope.pop()) {
        None => Ok(module),
        Some(error) => Err(RenderError::Shader { name: name.to_owned(), words: error.to_string() }),
    }
}

const POSE_ATTRIBUTES: [wgpu::VertexAttribute; 3] =
    wgpu::vertex_attr_array![0 => Float32x3, 1 => Snorm16x4, 2 => Snorm16x4];
const SURFACE_ATTRIBUTES: [wgpu::VertexAttribute; 6] = wgpu::vertex_attr_array![
    3 => Float32x2, 4 => Float32x2, 5 => Unorm16x4, 6 => Float16x4, 7 => Float16x4, 8 => Float16x4
];

/// The attributes a variant reads; the others are not fetched.
fn wanted(all: &[wgpu::VertexAttribute], defines: &BTreeSet<String>) -> Vec<wgpu::VertexAttribute> {
    let has = |name: &str| defines.contains(name);
    all.iter()
        .copied()
        .filter(|attribute| match attribute.shader_location {
            0 | 1 => true,
            2 => has("TANGENT"),
            3 => has("UV"),
            4 => has("UV1"),
            5 => has("VERTEX_COLOR"),
            _ => has("LIT"),
        })
        .collect()
}

#[expect(clippy::too_many_lines, reason = "one descriptor")]
fn create_surface(
    base: &PipelineBase<'_>,
    material: &MaterialOnGpu,
    side: Side,
) -> Result<wgpu::RenderPipeline, RenderError> {
    let key = &material.key;
    let mut defines = key.defines.clone();
    if base.output == SurfaceOutput::Display {
        defines.insert("DISPLAY".to_owned());
    }
    let textures = declarations(&key.slots, &[Slot::BaseColor]);
    let source = compose("pass/surface.wgsl", &defines, &[("material textures", &textures)])?;
    let module = shader(base.gpu, "surface", &source)?;
    let device = &base.gpu.device;
    let layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
        label: Some("surface"),
        bind_group_layouts: &[
            Some(base.frame_layout),
            (key.class == DrawClass::Transmissive).then_some(base.scene_layout),
            Some(&material.layout),
        ],
        immediate_size: 0,
    });
    let switch = |on: bool| f64::from(u8::from(on));
    let lights = base.lights;
    let constants = [
        ("KEY", switch(lights.key)),
        ("KEY_SHADOW", switch(lights.key_shadow)),
        ("SUN", switch(lights.sun)),
        ("PUNCTUAL", switch(lights.punctual)),
    ];
    let mut all_constants: Vec<(&str, f64)> = if defines.contains("LIT") { constants.to_vec() } else { Vec::new() };
    if key.class == DrawClass::Masked {
        all_constants.push(("SAMPLES", f64::from(base.samples)));
    }
    let options = wgpu::PipelineCompilationOptions { constants: &all_constants, ..Default::default() };
    let pose = wanted(&POSE_ATTRIBUTES, &defines);
    let surface = wanted(&SURFACE_ATTRIBUTES, &defines);
    let blended = defines.contains("BLEND");
    let opaque = matches!(key.class, DrawClass::Opaque);
    Ok(device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
        label: Some("surface"),
        layout: Some(&layout),
        vertex: wgpu::VertexState {
            module: &module,
            entry_point: Some("vs"),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            buffers: &[
                Some(wgpu::VertexBufferLayout {
                    array_stride: size_of::<PoseVertex>() as u64,
                    step_mode: wgpu::VertexStepMode::Vertex,
                    attributes: &pose,
                }),
                Some(wgpu::VertexBufferLayout {
                    array_stride: size_of::<SurfaceVertex>() as u64,
                    step_mode: wgpu::VertexStepMode::Vertex,
                    attributes: &surface,
                }),
            ],
        },
        primitive: primitive(!key.double_sided && side == Side::Material),
        depth_stencil: Some(depth_state(
            !(opaque || blended),
            if opaque { wgpu::CompareFunction::Equal } else { wgpu::CompareFunction::LessEqual },
            0,
        )),
        multisample: wgpu::MultisampleState { count: base.samples, ..Default::default() },
        fragment: Some(wgpu::FragmentState {
            module: &module,
            entry_point: Some("fs"),
            compilation_options: options,
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

fn create_depth(
    base: &PipelineBase<'_>,
    view: DepthView,
    cut: Option<&CutMaterial>,
    double_sided: bool,
) -> Result<wgpu::RenderPipeline, RenderError> {
    let mut defines = BTreeSet::new();
    if cut.is_some() {
        defines.insert("CUT".to_owned());
    }
    let textures = declarations(cut.map_or(&[], |c| c.slots.as_slice()), &[Slot::BaseColor]);
    let source = compose("pass/depth.wgsl", &defines, &[("material textures", &textures)])?;
    let module = shader(base.gpu, "depth", &source)?;
    let device = &base.gpu.device;
    let layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
        label: Some("depth"),
        bind_group_layouts: &[Some(base.frame_layout), None, cut.map(|c| &c.layout)],
        immediate_size: 0,
    });
    let number = match view {
        DepthView::Camera => 0.0,
        DepthView::Key => 1.0,
        DepthView::Sun => 2.0,
    };
    let constants = [("LIGHT", number)];
    let camera = view == DepthView::Camera;
    let surface: Vec<_> = SURFACE_ATTRIBUTES.iter().copied().filter(|a| a.shader_location <= 5).collect();
    let buffers = [
        Some(wgpu::VertexBufferLayout {
            array_stride: size_of::<PoseVertex>() as u64,
            step_mode: wgpu::VertexStepMode::Vertex,
            attributes: &POSE_ATTRIBUTES[..1],
        }),
        Some(wgpu::VertexBufferLayout {
            array_stride: size_of::<SurfaceVertex>() as u64,
            step_mode: wgpu::VertexStepMode::Vertex,
            attributes: &surface,
        }),
    ];
    Ok(device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
        label: Some("depth"),
        layout: Some(&layout),
        vertex: wgpu::VertexState {
            module: &module,
            entry_point: Some("vs"),
            compilation_options: wgpu::PipelineCompilationOptions { constants: &constants, ..Default::default() },
            buffers: if cut.is_some() { &buffers } else { &buffers[..1] },
        },
        // A shadow comes from both sides: open models cast it too.
        primitive: primitive(camera && !double_sided),
        depth_stencil: Some(depth_state(true, wgpu::CompareFunction::LessEqual, if camera { 0 } else { 2 })),
        multisample: wgpu::MultisampleState { count: if camera { base.samples } else { 1 }, ..Default::default() },
        fragment: cut.is_some().then(|| wgpu::FragmentState {
            module: &module,
            entry_point: Some("fs"),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            targets: &[],
        }),
        multiview_mask: None,
        cache: None,
    }))
}

fn primitive(cull: bool) -> wgpu::PrimitiveState {
    wgpu::PrimitiveState { cull_mode: cull.then_some(wgpu::Face::Back), ..Default::default() }
}

fn depth_state(write: bool, compare: wgpu::CompareFunction, slope_bias: u8) -> wgpu::DepthStencilState {
    wgpu::DepthStencilState {
        format: DEPTH_FORMAT,
        depth_write_enabled: Some(write),
        depth_compare: Some(compare),
        stencil: wgpu::StencilState::default(),
        bias: wgpu::DepthBiasState { constant: 0, slope_scale: f32::from(slope_bias), clamp: 0.0 },
    }
}

/// A pass that covers its whole target with one triangle and needs no vertices.
pub(crate) struct FullScreen<'a> {
    pub(crate) label: &'a str,
    pub(crate) path: &'a str,
    pub(crate) defines: &'a [&'a str],
    pub(crate) constants: &'a [(&'a str, f64)],
    pub(crate) groups: &'a [&'a wgpu::BindGroupLayout],
    pub(crate) format: wgpu::TextureFormat,
    pub(crate) blend: Option<wgpu::BlendState>,
}

/// Creates the pipeline of a full-screen pass.
pub(crate) fn full_screen(gpu: &Gpu, pass: &FullScreen<'_>) -> Result<wgpu::RenderPipeline, RenderError> {
    let defines = pass.defines.iter().map(|d| (*d).to_owned()).collect();
    let module = shader(gpu, pass.label, &compose(pass.path, &defines, &[])?)?;
    let groups: Vec<_> = pass.groups.iter().map(|g| Some(*g)).collect();
    let layout = gpu.device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
        label: Some(pass.label),
        bind_group_layouts: &groups,
        immediate_size: 0,
    });
    Ok(gpu.device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
        label: Some(pass.label),
        layout: Some(&layout),
        vertex: wgpu::VertexState {
            module: &module,
            entry_point: Some("vs"),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            buffers: &[],
        },
        primitive: wgpu::PrimitiveState::default(),
        depth_stencil: None,
        multisample: wgpu::MultisampleState::default(),
        fragment: Some(wgpu::FragmentState {
            module: &module,
            entry_point: Some("fs"),
            compilation_options: wgpu::PipelineCompilationOptions { constants: pass.constants, ..Default::default() },
            targets: &[Some(wgpu::ColorTargetState {
                format: pass.format,
                blend: pass.blend,
                write_mask: wgpu::ColorWrites::ALL,
            })],
        }),
        multiview_mask: None,
        cache: None,
    }))
}
