//! Converts the model to batches. A batch contains triangles in world space that have the same material.
//!
//! The first pose of the model is computed on the CPU, and the vertex shader only projects the vertices, because software
//! drivers run the vertex shader on one thread. Geometry that does not move is merged by material. Geometry that moves
//! is merged separately. For other poses, a graphics card computes its vertices (`device_pose/`), or the CPU does so and
//! uploads them.
//!
//! A draw call takes a software driver as long as shading some hundred pixels. Therefore opaque batches share their
//! buffers (a pool), and passes that need no material draw many batches with one call.

use std::collections::BTreeMap;

use bytemuck::Zeroable as _;
use glam::Vec3;
use plinth_bake::BakedMesh;
use plinth_model::{Primitive, Topology};
use plinth_scene::{PosedPrimitive, Scene};
use rayon::prelude::*;

use crate::RenderError;
use crate::gpu::Gpu;
use crate::gpu_types::{PoseVertex, SurfaceVertex, rounded};
use crate::upload::batch::Batch;
use crate::upload::gathered_light::LightSample;
use crate::upload::kept_shadows::KeptShadows;
use crate::upload::pool::Pool;
use crate::upload::pool_builder::PoolSize;
use crate::upload::pools::Pools;
use crate::upload::sprites::{self, SpriteInputs};
use crate::upload::triangles::{MAX_BATCHES, MAX_POOL_VERTICES, MAX_TRIANGLES, TriangleWords, triangle_format};
use crate::used_materials::MaterialUses;

/// All batches with their pools, and one word per triangle for the visibility buffer (see `triangles.rs`).
#[derive(Clone)]
pub(crate) struct Geometry {
    pub(crate) pools: Vec<Pool>,
    pub(crate) batches: Vec<Batch>,
    pub(crate) triangles: TriangleWords,
    /// Format of triangle numbers in the visibility buffer.
    pub(crate) triangle_format: wgpu::TextureFormat,
    /// Whether the opaque triangles and `triangles` are also in main memory, from which the processor can determine the
    /// visible surfaces; see [`wants_main_memory`].
    pub(crate) in_main_memory: bool,
    pub(crate) kept_shadows: KeptShadows,
}

/// Posed primitives, the indices with which they are drawn, and whether each of them moves.
#[derive(Clone, Copy)]
pub(crate) struct PosedModel<'a> {
    pub(crate) primitives: &'a [PosedPrimitive],
    pub(crate) indices: &'a [Vec<u32>],
    pub(crate) moving: &'a [bool],
}

/// Returns the primitive of the model from which a posed primitive was computed.
pub(crate) fn primitive_of<'a>(scene: &'a Scene, posed: &PosedPrimitive) -> Option<&'a Primitive> {
    let mesh = scene.model.nodes.get(posed.node)?.mesh?;
    scene.model.meshes.get(mesh)?.primitives.get(posed.primitive)
}

/// The way in which the triangles of a material are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DrawMode {
    /// The triangles are part of the opaque scene.
    Opaque,
    /// The triangles are drawn over the opaque scene and replace its samples.
    Glass,
    /// The triangles are drawn over the opaque scene and blended with it.
    Blended,
}

/// Minimum number of triangles of glass that is drawn through a visibility buffer, so that each pixel is shaded once.
/// Without a visibility buffer, drivers shade blocks of pixels, of which a small triangle covers only a few. For a few
/// large triangles, the passes of the visibility buffer take more time than they save.
const FINE_GLASS: usize = 1000;

/// The properties of a material that affect how batches are formed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MaterialUse {
    pub(crate) drawn: DrawMode,
    /// Whether the material is alpha-tested.
    pub(crate) is_alpha_tested: bool,
    /// The index of the uploaded material that draws the opaque texels of this material, if there is one.
    pub(crate) opaque_texels: Option<usize>,
}

impl MaterialUse {
    /// Returns whether triangles of the material can be in one pool with triangles of other materials. The alpha test
    /// needs vertex attributes that other materials do not need.
    pub(super) fn shares_pool(self) -> bool {
        self.drawn == DrawMode::Opaque && !self.is_alpha_tested
    }

    /// Returns whether a body of this material is glass that is drawn through a visibility buffer. `triangles` is the
    /// number of its triangles.
    pub(super) fn is_visibility_buffered(self, triangles: usize) -> bool {
        self.drawn == DrawMode::Glass && triangles >= FINE_GLASS
    }
}

/// Returns whether the opaque triangles are also kept in main memory, so that the processor can determine which of them
/// are visible. It does so only instead of a software driver, and cannot draw points, lines and alpha-tested triangles.
/// The passes for a reflecting floor and for glass with a visibility buffer need the samples on the device.
pub(super) fn wants_main_memory(gpu: &Gpu, scene: &Scene, all: &PosedModel<'_>, uses: &MaterialUses) -> bool {
    let is_plain = |(one, indices): (&PosedPrimitive, &Vec<u32>)| {
        let Some(primitive) = primitive_of(scene, one).filter(|_primitive| !one.positions.is_empty()) else {
            return true;
        };
        let used = uses.of(uses.uploaded(primitive.material, one));
        primitive.topology == Topology::Triangles
            && (used.shares_pool() || used.drawn != DrawMode::Opaque)
            && used.opaque_texels.is_none()
            && !used.is_visibility_buffered(indices.len() / 3)
    };
    gpu.is_software()
        && !gpu.keeps_visibility
        && scene.reflector.is_none()
        && all.primitives.iter().zip(all.indices).all(is_plain)
}

/// Builds the batches of all triangles, points and lines.
pub(crate) fn build(
    gpu: &Gpu,
    light_layout: &wgpu::BindGroupLayout,
    scene: &Scene,
    all: &PosedModel<'_>,
    baked: &[BakedMesh],
    uses: &MaterialUses,
    inputs: &SpriteInputs<'_>,
) -> Result<Geometry, RenderError> {
    let PosedModel { primitives: posed, indices, moving } = *all;
    let mut groups: BTreeMap<(usize, bool, usize), Vec<usize>> = BTreeMap::new();
    for (i, one) in posed.iter().enumerate() {
        let Some(primitive) = primitive_of(scene, one) else { continue };
        if primitive.topology == Topology::Triangles && !indices[i].is_empty() {
            let material = uses.uploaded(primitive.material, one);
            let used = uses.of(material);
            // Transmissive and blended geometry is drawn body by body, from back to front. Therefore each posed
            // primitive is a batch of its own.
            let body = if used.drawn == DrawMode::Opaque { 0 } else { i };
            groups.entry((material, moving[i], body)).or_default().push(i);
            if let Some(opaque_texels) = used.opaque_texels {
                groups.entry((opaque_texels, moving[i], 0)).or_default().push(i);
            }
        }
    }
    let in_main_memory = wants_main_memory(gpu, scene, all, uses);
    let mut made = Pools::new(gpu, (light_layout, baked), PoolSize::most(most_vertices(gpu)), in_main_memory);
    for ((material, moving, _), members) in groups {
        made.add(scene, all, &members, (material, uses.of(material), moving))?;
    }
    let (mut pools, mut batches, mut words) = made.finish()?;
    sprites::build(gpu, scene, all, inputs, (&mut pools, &mut batches, &mut words))?;
    if batches.len() > MAX_BATCHES || words.len() >= MAX_TRIANGLES as usize {
        return Err(RenderError::TooManyParts { materials: batches.len(), triangles: words.len() });
    }
    let triangle_format = triangle_format(words.len());
    let triangles = TriangleWords::new(gpu, words, in_main_memory)?;
    let kept_shadows = KeptShadows::default();
    Ok(Geometry { pools, batches, triangles, triangle_format, in_main_memory, kept_shadows })
}

/// Returns the maximum number of vertices of a pool. The indices of the vertices must fit into packed corners. The
/// light of the vertices must fit into one binding of the adapter, even if both sides have light and the lattices have
/// the maximum number of values.
fn most_vertices(gpu: &Gpu) -> usize {
    let samples = gpu.max_storage_bytes() as usize / size_of::<LightSample>();
    (samples.saturating_sub(plinth_bake::MAX_GRID_VALUES).max(samples / 2) / 2).min(MAX_POOL_VERTICES)
}

/// Minimum size of a buffer in bytes: the size of the largest element of a storage buffer that can be empty. A binding must have
/// room for at least one element.
const LEAST_BYTES: usize = 16;

/// Creates a buffer with the content `bytes`.
pub(crate) fn filled(
    gpu: &Gpu,
    label: &str,
    bytes: &[u8],
    usage: wgpu::BufferUsages,
) -> Result<wgpu::Buffer, RenderError> {
    let limit = gpu.report().max_buffer_bytes;
    let size = (bytes.len().max(LEAST_BYTES) as u64).next_multiple_of(4);
    if size > limit {
        return Err(RenderError::GeometryTooLarge { bytes: size, limit });
    }
    let buffer = gpu.device.create_buffer(&wgpu::BufferDescriptor {
        label: Some(label),
        size,
        usage: usage | wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: true,
    });
    if let Ok(mut mapped) = buffer.slice(..).get_mapped_range_mut() {
        mapped.slice(..bytes.len()).copy_from_slice(bytes);
    }
    buffer.unmap();
    gpu.check()?;
    Ok(buffer)
}

/// Minimum number of vertices that are converted on one thread.
pub(crate) const MIN_VERTICES: usize = 1024;

pub(super) fn write_pose(posed: &PosedPrimitive, primitive: &Primitive, out: &mut Vec<PoseVertex>) {
    let flip = if posed.mirrored { -1.0 } else { 1.0 };
    out.par_extend(posed.positions.par_iter().with_min_len(MIN_VERTICES).enumerate().map(|(v, position)| {
        let normal = posed.normals.get(v).copied().unwrap_or(Vec3::Y);
        let tangent = posed.tangents.get(v).copied().unwrap_or(Vec3::X);
        // A handedness of 0 means that the surface has no tangents, so a normal map has no effect.
        let hand = primitive.tangents.get(v).map_or(0.0, |t| t[3]) * flip;
        PoseVertex::new(*position, normal, tangent, hand, uv_of(primitive, 0, v))
    }));
}

/// Returns the texture coordinates of a vertex, or zero if the vertex has none.
pub(crate) fn uv_of(primitive: &Primitive, set: usize, v: usize) -> [f32; 2] {
    primitive.uvs.get(set).and_then(|list| list.get(v)).copied().unwrap_or([0.0; 2])
}

pub(super) fn surface_vertex(primitive: &Primitive, v: usize) -> SurfaceVertex {
    let color = primitive.colors.get(v).copied().unwrap_or([1.0; 4]);
    let mut out = SurfaceVertex::zeroed();
    out.uv0 = uv_of(primitive, 0, v);
    out.uv1 = uv_of(primitive, 1, v);
    out.color = color.map(|c| rounded(c.clamp(0.0, 1.0) * 65535.0) as u16);
    out
}
