//! Render pipelines. All of them are created before the first frame, each variant once.

mod depth;
mod full_screen;
mod sprite;
mod surface;

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;

use crate::RenderError;
use crate::gpu::Gpu;
use crate::gpu_types::{PoseVertex, SurfaceVertex};
use crate::shader::ShaderTarget;
use crate::shader::material_source::SlotUse;
use crate::upload::batch::{Batch, Sortable};
use crate::upload::material::{DrawClass, MaterialOnGpu};
use crate::upload::sprite_material::SpriteKind;

pub(crate) use full_screen::{ADDED, FullScreen, FullScreenTarget, full_screen};

/// Depth format of passes that draw geometry.
pub(crate) const DEPTH_FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::Depth32Float;
/// Format of the targets that store the surfaces of each pixel (`Targets::surfaces`).
pub(crate) const SURFACE_FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::R32Uint;
/// Format in which the number of a pixel's batch is stored as depth.
pub(crate) const BATCH_FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::Depth16Unorm;

/// Format of the nearest surface of a pixel: its normal and its distance.
pub(crate) const GEOMETRY_FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::Rgba32Float;

/// Which kind of colours the shading of surfaces writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum SurfaceOutput {
    /// Display-referred, sRGB-encoded colours. These colours need no processing after the samples have been resolved.
    Display,
    /// Linear premultiplied radiance. A later pass applies the tone curve.
    Radiance,
}

/// Which lights a scene has. Shaders are compiled without the code for other lights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct LightSwitches {
    pub(crate) key: bool,
    pub(crate) key_shadow: bool,
    pub(crate) sun: bool,
    pub(crate) punctual: u32,
    /// Whether the shadow maps of the key light and of the sun have packed copies.
    pub(crate) packed: [bool; 2],
}

impl LightSwitches {
    /// Returns the shader constants that select packed shadow maps. Shaders without `PACKED_SHADOWS` do not have these
    /// constants.
    pub(crate) fn packed_constants(&self) -> [(&'static str, f64); 2] {
        let [key, sun] = self.packed.map(|is_packed| f64::from(u8::from(is_packed)));
        [("KEY_PACKED", key), ("SUN_PACKED", sun)]
    }
}

/// Values that all pipelines of a renderer share.
pub(crate) struct PipelineBase<'a> {
    pub(crate) gpu: &'a Gpu,
    pub(crate) frame_layout: &'a wgpu::BindGroupLayout,
    /// Layout of bind group 1 for shading.
    pub(crate) pool_layout: &'a wgpu::BindGroupLayout,
    /// Layout of bind group 1 for shading glass.
    pub(crate) glass_layout: &'a wgpu::BindGroupLayout,
    /// Layout of bind group 1 for reading triangles: their corners and their pose.
    pub(crate) triangles_layout: &'a wgpu::BindGroupLayout,
    /// Layout of bind group 3 for lit surfaces: their baked light.
    pub(crate) light_layout: &'a wgpu::BindGroupLayout,
    /// Layout of bind group 1 for reading points and lines.
    pub(crate) sprites_layout: &'a wgpu::BindGroupLayout,
    /// Layout of bind group 1 for transmissive surfaces: the scene colour pyramid.
    pub(crate) scene_layout: &'a wgpu::BindGroupLayout,
    pub(crate) samples: u32,
    pub(crate) triangle_format: wgpu::TextureFormat,
    pub(crate) color_format: wgpu::TextureFormat,
    pub(crate) picture_format: wgpu::TextureFormat,
    pub(crate) output: SurfaceOutput,
    /// Whether shading blends the colours of surfaces with those of the target, instead of replacing these.
    pub(crate) adds_surfaces: bool,
    /// Whether the processor determines which surfaces are visible.
    pub(crate) on_host: bool,
    /// Whether there are transmissive or blended surfaces.
    pub(crate) transparent: bool,
    pub(crate) lights: LightSwitches,
}

/// The light for which a shadow map is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum DepthView {
    /// The key light.
    Key,
    /// The sun of the environment.
    Sun,
}

/// The purpose for which points and lines are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum SpritePass {
    /// To determine which point or line is visible in each sample.
    Visibility,
    /// To write the normal and the distance at the centre of each pixel.
    Geometry,
    /// To write depth as seen from a light.
    Shadow(DepthView),
}

/// Which sides of triangles are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Side {
    /// The sides that the material specifies.
    Material,
    /// Both sides, regardless of the material. Both sides are needed to show the inside of closed bodies that are
    /// blended.
    Both,
}

impl Side {
    /// Returns the sides of a sorted batch that are drawn.
    fn of(batch: &Batch, material: &MaterialOnGpu) -> Self {
        let is_closed = batch.sortable().is_some_and(Sortable::is_closed);
        if is_closed && material.key.class == DrawClass::Blended { Self::Both } else { Self::Material }
    }
}

/// How the normal and the distance of a pixel's nearest surface are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Precision {
    /// The values are interpolated by the rasteriser, which is inexact at the edges of triangles that are seen at a
    /// grazing angle.
    Interpolated,
    /// The values are computed from the corners of the triangle.
    Exact,
}

/// The pipelines of a pass for all batches, by batch index. `None` if the pass skips the batch.
pub(crate) type PerBatch = Vec<Option<wgpu::RenderPipeline>>;

/// The pipelines that draw batches. All views share them.
pub(crate) struct Pipelines {
    /// Pipelines that write the numbers of the visible triangles, points and lines. All are `None` if the processor
    /// determines which surfaces are visible.
    pub(crate) visibility: PerBatch,
    /// Pipeline that writes the depth of the triangles that the processor has found to be visible. `None` if nothing is
    /// drawn over them.
    pub(crate) visible_depth: Option<wgpu::RenderPipeline>,
    /// Pipelines that shade the pixels in which a batch is visible.
    pub(crate) shade: PerBatch,
    /// Pipelines that draw transmissive and blended batches over the picture drawn so far.
    pub(crate) transparent: PerBatch,
    pub(crate) shadows: ShadowPipelines,
    /// Pipeline that writes the back faces of glass bodies.
    pub(crate) back_faces: Option<wgpu::RenderPipeline>,
}

/// The pipelines that write depth as seen from the key light and from the sun.
pub(crate) struct ShadowPipelines {
    pub(crate) key: PerBatch,
    pub(crate) sun: PerBatch,
}

impl ShadowPipelines {
    /// Creates the pipelines. Each variant is created once.
    /// Errors: if the driver rejects a shader or a pipeline.
    pub(crate) fn new(
        base: &PipelineBase<'_>,
        batches: &[Batch],
        materials: &[MaterialOnGpu],
    ) -> Result<Self, RenderError> {
        let shadow = |view: DepthView, wanted: bool| {
            let key = |batch: &Batch, material: &MaterialOnGpu| {
                (wanted && !material.shadowless).then(|| match &batch.sprites {
                    Some(sprites) => DepthKey::sprites(SpritePass::Shadow(view), sprites.kind, material),
                    None => DepthKey::Shadow(alpha_test_key(material), view),
                })
            };
            per_batch(batches, materials, key, |key, material| key.create(base, material))
        };
        let (key, sun) =
            rayon::join(|| shadow(DepthView::Key, base.lights.key_shadow), || shadow(DepthView::Sun, base.lights.sun));
        Ok(Self { key: key?, sun: sun? })
    }
}

impl Pipelines {
    /// Creates all pipelines that the batches need besides `shadows`. Each variant is created once; all cores are used.
    /// Errors: if the driver rejects a shader or a pipeline.
    pub(crate) fn new(
        base: &PipelineBase<'_>,
        batches: &[Batch],
        materials: &[MaterialOnGpu],
        shadows: ShadowPipelines,
    ) -> Result<Self, RenderError> {
        let sorted = |batch: &Batch| batch.sortable().is_some();
        let visibility = || {
            per_batch(
                batches,
                materials,
                |batch, material| {
                    (!sorted(batch) && !base.on_host).then(|| match &batch.sprites {
                        Some(sprites) => DepthKey::sprites(SpritePass::Visibility, sprites.kind, material),
                        None => DepthKey::Visibility {
                            alpha_test: alpha_test_key(material),
                            opaque_texels: material.key.class == DrawClass::OpaqueTexels,
                            double_sided: material.key.double_sided,
                        },
                    })
                },
                |key, material| key.create(base, material),
            )
        };
        let shade = || {
            // The pass fills the picture, so it does not depend on the sides of the triangles.
            let key = |batch: &Batch, MaterialOnGpu { key, .. }: &MaterialOnGpu| {
                (!sorted(batch)).then(|| (key.class.is_transparent(), key.defines.clone(), key.slots.clone()))
            };
            per_batch(batches, materials, key, |_, material| surface::create_shade(base, material))
        };
        let transparent = || {
            let key = |batch: &Batch, material: &MaterialOnGpu| {
                sorted(batch)
                    .then(|| (material.key.clone(), Side::of(batch, material), material.opaque_texels.is_some()))
            };
            per_batch(batches, materials, key, |key, material| surface::create_transparent(base, material, key.1))
        };
        let refracts = materials.iter().any(|material| material.refracts);
        let back_faces = || refracts.then(|| depth::create_back_faces(base)).transpose();
        let visible_depth =
            || (base.on_host && base.transparent).then(|| depth::create_blended_depth(base, None, true)).transpose();
        let ((visibility, shade), (transparent, (back_faces, visible_depth))) = rayon::join(
            || rayon::join(visibility, shade),
            || rayon::join(transparent, || (back_faces(), visible_depth())),
        );
        Ok(Self {
            visibility: visibility?,
            visible_depth: visible_depth?,
            shade: shade?,
            transparent: transparent?,
            shadows,
            back_faces: back_faces?,
        })
    }
}

/// Creates the pipelines that write normals and distances. Overlays have no such pipeline, because the surface below
/// them has the same normal and distance.
/// Errors: if the driver rejects a shader or a pipeline.
pub(crate) fn geometry_pipelines(
    base: &PipelineBase<'_>,
    batches: &[Batch],
    materials: &[MaterialOnGpu],
    precision: Precision,
) -> Result<PerBatch, RenderError> {
    let key = |batch: &Batch, material: &MaterialOnGpu| {
        (!material.overlay).then(|| match &batch.sprites {
            Some(sprites) => DepthKey::sprites(SpritePass::Geometry, sprites.kind, material),
            None => DepthKey::Geometry(alpha_test_key(material), material.key.double_sided, precision),
        })
    };
    per_batch(batches, materials, key, |key, material| key.create(base, material))
}

/// Creates the pipelines that write the depth of blended triangles. Overlays have no such pipeline, because the surface
/// below them has the same depth. Blended points and lines have none, because they are drawn with the opaque scene.
/// Errors: if the driver rejects a shader or a pipeline.
pub(crate) fn blended_depth_pipelines(
    base: &PipelineBase<'_>,
    batches: &[Batch],
    materials: &[MaterialOnGpu],
) -> Result<PerBatch, RenderError> {
    let key = |batch: &Batch, material: &MaterialOnGpu| {
        let is_blended = material.key.defines.contains("BLEND") && batch.sprites.is_none() && !material.overlay;
        is_blended.then(|| {
            let double_sided = material.key.double_sided || Side::of(batch, material) == Side::Both;
            DepthKey::Blended(alpha_test_key(material), double_sided)
        })
    };
    per_batch(batches, materials, key, |key, material| key.create(base, material))
}

/// The texture slots that the alpha test of a material reads. `None` if the material has no alpha test.
type AlphaTestKey = Option<Vec<SlotUse>>;

fn alpha_test_key(material: &MaterialOnGpu) -> AlphaTestKey {
    material.alpha_test.as_ref().map(|alpha_test| alpha_test.slots.clone())
}

/// The properties that determine which pipeline draws a batch without shading it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum DepthKey {
    Visibility { alpha_test: AlphaTestKey, opaque_texels: bool, double_sided: bool },
    Geometry(AlphaTestKey, bool, Precision),
    Shadow(AlphaTestKey, DepthView),
    Blended(AlphaTestKey, bool),
    Sprites { pass: SpritePass, kind: SpriteKind, alpha_test: AlphaTestKey, is_blended: bool },
}

impl DepthKey {
    fn sprites(pass: SpritePass, kind: SpriteKind, material: &MaterialOnGpu) -> Self {
        let is_blended = material.key.defines.contains("BLEND");
        Self::Sprites { pass, kind, alpha_test: alpha_test_key(material), is_blended }
    }

    fn create(&self, base: &PipelineBase<'_>, material: &MaterialOnGpu) -> Result<wgpu::RenderPipeline, RenderError> {
        let alpha_test = material.alpha_test.as_ref();
        match *self {
            Self::Visibility { opaque_texels, double_sided, .. } => {
                depth::create_visibility(base, alpha_test, (opaque_texels, double_sided))
            }
            Self::Geometry(_, double_sided, precision) => {
                depth::create_geometry(base, alpha_test, double_sided, precision)
            }
            Self::Shadow(_, view) => depth::create_depth(base, view, alpha_test),
            Self::Blended(_, double_sided) => depth::create_blended_depth(base, alpha_test, double_sided),
            Self::Sprites { pass, kind, .. } => sprite::create(base, pass, kind, material),
        }
    }
}

/// Returns a pipeline for each batch that has a key. One pipeline is created per key, from any of the materials with
/// this key.
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

/// Compiles the source of a shader. Compile errors become [`RenderError`]s.
pub(crate) fn shader(gpu: &Gpu, name: &str, source: &str) -> Result<wgpu::ShaderModule, RenderError> {
    let source = ShaderTarget::of(gpu).adapt(source);
    let scope = gpu.device.push_error_scope(wgpu::ErrorFilter::Validation);
    let module = gpu.device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: Some(name),
        source: wgpu::ShaderSource::Wgsl(source.into()),
    });
    match pollster::block_on(scope.pop()) {
        None => Ok(module),
        Some(error) => Err(RenderError::Shader { name: name.to_owned(), message: error.to_string() }),
    }
}

const POSE_ATTRIBUTES: [wgpu::VertexAttribute; 3] =
    wgpu::vertex_attr_array![0 => Float32x3, 1 => Snorm16x2, 2 => Snorm16x4];
const SURFACE_ATTRIBUTES: [wgpu::VertexAttribute; 3] =
    wgpu::vertex_attr_array![3 => Float32x2, 4 => Float32x2, 5 => Unorm16x4];

/// Returns the vertex attributes that a shader variant reads. Other attributes are not fetched.
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

/// Returns the cull mode: back faces are culled unless `double_sided` is true.
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
