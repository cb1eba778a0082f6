//! Render pipelines, all made before the first frame, once per variant.

mod depth;
mod full_screen;
mod sprite;
mod surface;

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;

use crate::RenderError;
use crate::gpu::Gpu;
use crate::gpu_types::{PoseVertex, SurfaceVertex};
use crate::shader::material_source::SlotUse;
use crate::upload::geometry::{Batch, is_closed};
use crate::upload::material::{DrawClass, MaterialOnGpu};
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

/// Which lights a scene has, and how many punctual ones; unused ones are compiled out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct LightSwitches {
    pub(crate) key: bool,
    pub(crate) key_shadow: bool,
    pub(crate) sun: bool,
    pub(crate) punctual: u32,
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

/// The pipelines of all batches in one pass, by their places; nothing where the pass leaves a batch out.
pub(crate) type PerBatch = Vec<Option<wgpu::RenderPipeline>>;

/// What draws batches into the passes of every view.
pub(crate) struct Pipelines {
    /// Notes which triangles, points and lines are seen.
    pub(crate) visibility: PerBatch,
    /// Shades the pixels in which a batch is seen.
    pub(crate) shade: PerBatch,
    /// Draws a batch over what is behind it.
    pub(crate) layered: PerBatch,
    /// Writes depth as the lights see it.
    pub(crate) key_shadow: PerBatch,
    pub(crate) sun_shadow: PerBatch,
    /// Notes where light leaves glass bodies.
    pub(crate) far_side: Option<wgpu::RenderPipeline>,
}

impl Pipelines {
    /// Makes everything that the batches need, each variant once, on all cores.
    /// Errors: a shader or pipeline that the driver refuses.
    pub(crate) fn new(
        base: &PipelineBase<'_>,
        batches: &[Batch],
        materials: &[MaterialOnGpu],
    ) -> Result<Self, RenderError> {
        let drawn = |batch: &Batch| &materials[batch.material];
        let solid = |batch: &Batch| !drawn(batch).key.class.is_layered();
        let visibility = || {
            per_batch(
                batches,
                materials,
                |batch, material| {
                    solid(batch).then(|| match &batch.sprites {
                        Some(sprites) => DepthKey::sprites(SpritePass::Visibility, sprites.kind, material),
                        None => DepthKey::Visibility(cut_key(material), material.key.double_sided),
                    })
                },
                |key, material| key.create(base, material),
            )
        };
        let shade = || {
            let key = |batch: &Batch, material: &MaterialOnGpu| solid(batch).then(|| material.key.clone());
            per_batch(batches, materials, key, |_, material| surface::create_shade(base, material))
        };
        let layered = || {
            let key = |batch: &Batch, material: &MaterialOnGpu| {
                let is_closed = batch.sortable.as_ref().is_some_and(is_closed);
                let both = is_closed && material.key.class == DrawClass::Blended;
                (!solid(batch)).then(|| (material.key.clone(), if both { Side::Both } else { Side::Material }))
            };
            per_batch(batches, materials, key, |key, material| surface::create_layered(base, material, key.1))
        };
        let shadow = |view: DepthView, wanted: bool| {
            let key = |batch: &Batch, material: &MaterialOnGpu| {
                (wanted && !material.shadowless).then(|| match &batch.sprites {
                    Some(sprites) => DepthKey::sprites(SpritePass::Shadow(view), sprites.kind, material),
                    None => DepthKey::Shadow(cut_key(material), view),
                })
            };
            per_batch(batches, materials, key, |key, material| key.create(base, material))
        };
        let refracts = materials.iter().any(|material| material.refracts);
        let far_side = || refracts.then(|| depth::create_far_side(base)).transpose();
        let ((visibility, shade), ((layered, far_side), (key_shadow, sun_shadow))) = rayon::join(
            || rayon::join(visibility, shade),
            || {
                rayon::join(
                    || rayon::join(layered, far_side),
                    || {
                        rayon::join(
                            || shadow(DepthView::Key, base.lights.key_shadow),
                            || shadow(DepthView::Sun, base.lights.sun),
                        )
                    },
                )
            },
        );
        Ok(Self {
            visibility: visibility?,
            shade: shade?,
            layered: layered?,
            key_shadow: key_shadow?,
            sun_shadow: sun_shadow?,
            far_side: far_side?,
        })
    }
}

/// The pipelines that note normal and distance; nothing for what lies on another surface, which has both.
/// Errors: a shader or pipeline that the driver refuses.
pub(crate) fn geometry_pipelines(
    base: &PipelineBase<'_>,
    batches: &[Batch],
    materials: &[MaterialOnGpu],
    precision: Precision,
) -> Result<PerBatch, RenderError> {
    let key = |batch: &Batch, material: &MaterialOnGpu| {
        (!material.overlay).then(|| match &batch.sprites {
            Some(sprites) => DepthKey::sprites(SpritePass::Geometry, sprites.kind, material),
            None => DepthKey::Geometry(cut_key(material), material.key.double_sided, precision),
        })
    };
    per_batch(batches, materials, key, |key, material| key.create(base, material))
}

/// The slots a cut reads; nothing where a material has no holes.
type CutKey = Option<Vec<SlotUse>>;

fn cut_key(material: &MaterialOnGpu) -> CutKey {
    material.cut.as_ref().map(|cut| cut.slots.clone())
}

/// What tells apart the pipelines that write where things are.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum DepthKey {
    Visibility(CutKey, bool),
    Geometry(CutKey, bool, Precision),
    Shadow(CutKey, DepthView),
    Sprites { pass: SpritePass, kind: SpriteKind, cut: CutKey, is_blended: bool },
}

impl DepthKey {
    fn sprites(pass: SpritePass, kind: SpriteKind, material: &MaterialOnGpu) -> Self {
        let is_blended = material.key.defines.contains("BLEND");
        Self::Sprites { pass, kind, cut: cut_key(material), is_blended }
    }

    fn create(&self, base: &PipelineBase<'_>, material: &MaterialOnGpu) -> Result<wgpu::RenderPipeline, RenderError> {
        let cut = material.cut.as_ref();
        match *self {
            Self::Visibility(_, double_sided) => depth::create_visibility(base, cut, double_sided),
            Self::Geometry(_, double_sided, precision) => depth::create_geometry(base, cut, double_sided, precision),
            Self::Shadow(_, view) => depth::create_depth(base, view, cut),
            Self::Sprites { pass, kind, .. } => sprite::create(base, pass, kind, material),
        }
    }
}

/// The pipeline of each batch that has a key: each is made once, from any material of that key.
fn per_batch<K: Ord + Send + Sync>(
    batches: &[Batch],
    materials: &[MaterialOnGpu],
    key: impl Fn(&Batch, &MaterialOnGpu) -> Option<K>,
    create: impl Fn(&K, &MaterialOnGpu) -> Result<wgpu::RenderPipeline, RenderError> + Sync,
) -> Result<PerBatch, RenderError> {
    let mut uses: BTreeMap<K, Vec<usize>> = BTreeMap::new();
    for (i, batch) in batches.iter().enumerate() {
        if let Some(key) = key(batch, &materials[batch.material]) {
            uses.entry(key).or_default().push(i);
        }
    }
    let made: Vec<(wgpu::RenderPipeline, &Vec<usize>)> = uses
        .par_iter()
        .map(|(key, uses)| Ok((create(key, &materials[batches[uses[0]].material])?, uses)))
        .collect::<Result<_, RenderError>>()?;
    let mut out: PerBatch = vec![None; batches.len()];
    for (pipeline, uses) in made {
        for i in uses {
            out[*i] = Some(pipeline.clone());
        }
    }
    Ok(out)
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
