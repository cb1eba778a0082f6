//! Render pipelines, made once per variant.

mod depth;
mod full_screen;
mod sprite;
mod surface;

use std::collections::{BTreeMap, BTreeSet};

use crate::RenderError;
use crate::gpu::Gpu;
use crate::gpu_types::{PoseVertex, SurfaceVertex};
use crate::shader::material_source::SlotUse;
use crate::upload::material::{CutMaterial, MaterialOnGpu, VariantKey};
use crate::upload::sprite_material::SpriteKind;

pub(crate) use full_screen::{ADDED, FullScreen, FullScreenTarget, full_screen};

/// Format of depth targets that geometry is drawn into.
pub(crate) const DEPTH_FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::Depth32Float;
/// Format of triangle numbers: two halves of 16 bits, which every adapter can sample more than once a pixel.
pub(crate) const TRIANGLE_FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::Rg16Uint;
/// Format of a pixel's surfaces.
pub(crate) const SURFACE_FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::R32Uint;
/// Format in which a pixel's batch is kept as depth.
pub(crate) const BATCH_FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::Depth16Unorm;

/// Format of the first surface of a pixel: normal and distance.
pub(crate) const GEOMETRY_FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::Rgba32Float;

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
    /// Group 1 of shaded batches.
    pub(crate) batch_layout: &'a wgpu::BindGroupLayout,
    /// Group 1 where triangles are fetched: corners and pose.
    pub(crate) triangles_layout: &'a wgpu::BindGroupLayout,
    /// Group 3 of lit surfaces: their gathered light.
    pub(crate) light_layout: &'a wgpu::BindGroupLayout,
    /// Group 1 where points and lines are fetched.
    pub(crate) sprites_layout: &'a wgpu::BindGroupLayout,
    /// Group 1 of transmissive surfaces: what was drawn before.
    pub(crate) scene_layout: &'a wgpu::BindGroupLayout,
    pub(crate) samples: u32,
    pub(crate) color_format: wgpu::TextureFormat,
    pub(crate) picture_format: wgpu::TextureFormat,
    pub(crate) output: SurfaceOutput,
    /// Whether surfaces are shaded into the picture itself.
    pub(crate) direct: bool,
    pub(crate) lights: LightSwitches,
}

/// Which light's view a depth-only pass takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum DepthView {
    /// The key light.
    Key,
    /// The environment's sun.
    Sun,
}

/// What a pass asks of points and lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum SpritePass {
    /// Which of them each sample shows.
    Visibility,
    /// Normal and distance at the middle of each pixel.
    Geometry,
    /// Depth as a light sees it.
    Shadow(DepthView),
}

/// Which sides of triangles a draw shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Side {
    /// As the material says.
    Material,
    /// Both, whatever the material says: the inside of a closed shell.
    Both,
}

/// How closely the first surface of a pixel is noted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Precision {
    /// As the rasteriser interpolates: at grazing edges values run on beyond them.
    Interpolated,
    /// On the triangle itself.
    Exact,
}

/// The slots a cut reads; nothing where a material has no holes.
type CutKey = Option<Vec<SlotUse>>;

/// Pipelines by variant.
#[derive(Default)]
pub(crate) struct Pipelines {
    geometries: BTreeMap<(CutKey, bool, Precision), wgpu::RenderPipeline>,
    visibilities: BTreeMap<(CutKey, bool), wgpu::RenderPipeline>,
    shades: BTreeMap<VariantKey, wgpu::RenderPipeline>,
    layered: BTreeMap<(VariantKey, Side), wgpu::RenderPipeline>,
    depths: BTreeMap<(DepthView, CutKey), wgpu::RenderPipeline>,
    far_side: BTreeMap<(), wgpu::RenderPipeline>,
    sprites: BTreeMap<(SpritePass, SpriteKind, CutKey, bool), wgpu::RenderPipeline>,
}

impl Pipelines {
    /// The pipeline that notes which triangles are seen.
    pub(crate) fn visibility(
        &mut self,
        base: &PipelineBase<'_>,
        material: &MaterialOnGpu,
    ) -> Result<&wgpu::RenderPipeline, RenderError> {
        let cut = material.cut.as_ref();
        let key = (cut_key(cut), material.key.double_sided);
        cached(&mut self.visibilities, &key, || depth::create_visibility(base, cut, key.1))
    }

    /// The pipeline that notes normal and distance.
    pub(crate) fn geometry(
        &mut self,
        base: &PipelineBase<'_>,
        material: &MaterialOnGpu,
        precision: Precision,
    ) -> Result<&wgpu::RenderPipeline, RenderError> {
        let cut = material.cut.as_ref();
        let key = (cut_key(cut), material.key.double_sided, precision);
        cached(&mut self.geometries, &key, || depth::create_geometry(base, cut, key.1, precision))
    }

    /// The pipeline that shades the pixels in which a material is seen.
    pub(crate) fn shade(
        &mut self,
        base: &PipelineBase<'_>,
        material: &MaterialOnGpu,
    ) -> Result<&wgpu::RenderPipeline, RenderError> {
        cached(&mut self.shades, &material.key, || surface::create_shade(base, material))
    }

    /// The pipeline that draws a material over what is behind it.
    pub(crate) fn layered(
        &mut self,
        base: &PipelineBase<'_>,
        material: &MaterialOnGpu,
        side: Side,
    ) -> Result<&wgpu::RenderPipeline, RenderError> {
        let key = (material.key.clone(), side);
        cached(&mut self.layered, &key, || surface::create_layered(base, material, side))
    }

    /// The pipeline that notes where light leaves a glass body.
    pub(crate) fn far_side(&mut self, base: &PipelineBase<'_>) -> Result<&wgpu::RenderPipeline, RenderError> {
        cached(&mut self.far_side, &(), || depth::create_far_side(base))
    }

    /// The pipeline that notes where points or lines are.
    pub(crate) fn sprites(
        &mut self,
        base: &PipelineBase<'_>,
        pass: SpritePass,
        kind: SpriteKind,
        material: &MaterialOnGpu,
    ) -> Result<&wgpu::RenderPipeline, RenderError> {
        let key = (pass, kind, cut_key(material.cut.as_ref()), material.key.defines.contains("BLEND"));
        cached(&mut self.sprites, &key, || sprite::create(base, pass, kind, material))
    }

    /// The pipeline that writes depth as a light sees it; `cut` where alpha makes holes.
    pub(crate) fn depth(
        &mut self,
        base: &PipelineBase<'_>,
        view: DepthView,
        cut: Option<&CutMaterial>,
    ) -> Result<&wgpu::RenderPipeline, RenderError> {
        let key = (view, cut_key(cut));
        cached(&mut self.depths, &key, || depth::create_depth(base, view, cut))
    }
}

fn cut_key(cut: Option<&CutMaterial>) -> CutKey {
    cut.map(|c| c.slots.clone())
}

fn cached<'a, K: Ord + Clone>(
    made: &'a mut BTreeMap<K, wgpu::RenderPipeline>,
    key: &K,
    create: impl FnOnce() -> Result<wgpu::RenderPipeline, RenderError>,
) -> Result<&'a wgpu::RenderPipeline, RenderError> {
    match made.entry(key.clone()) {
        std::collections::btree_map::Entry::Occupied(entry) => Ok(entry.into_mut()),
        std::collections::btree_map::Entry::Vacant(entry) => Ok(entry.insert(create()?)),
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
const SURFACE_ATTRIBUTES: [wgpu::VertexAttribute; 3] =
    wgpu::vertex_attr_array![3 => Float32x2, 4 => Float32x2, 5 => Unorm16x4];

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
            _ => has("VERTEX_COLOR"),
        })
        .collect()
}

const fn pose_stream(attributes: &[wgpu::VertexAttribute]) -> wgpu::VertexBufferLayout<'_> {
    wgpu::VertexBufferLayout {
        array_stride: size_of::<PoseVertex>() as u64,
        step_mode: wgpu::VertexStepMode::Vertex,
        attributes,
    }
}

const fn surface_stream(attributes: &[wgpu::VertexAttribute]) -> wgpu::VertexBufferLayout<'_> {
    wgpu::VertexBufferLayout {
        array_stride: size_of::<SurfaceVertex>() as u64,
        step_mode: wgpu::VertexStepMode::Vertex,
        attributes,
    }
}

fn primitive(cull_mode: Option<wgpu::Face>) -> wgpu::PrimitiveState {
    wgpu::PrimitiveState { cull_mode, ..Default::default() }
}

/// Back faces are left out where both sides are not shown.
fn back_unless(double_sided: bool) -> Option<wgpu::Face> {
    (!double_sided).then_some(wgpu::Face::Back)
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
