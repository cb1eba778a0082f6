//! Converts the model to batches. A batch contains triangles in world space that have the same material and are drawn
//! with one call.
//!
//! The pose of the model is computed on the CPU, and the vertex shader only projects the vertices, because software
//! drivers run it on one thread. Geometry that does not move is merged by material. Geometry that moves is merged
//! separately, and is uploaded for each frame.

use std::collections::BTreeMap;
use std::ops::Range;

use bytemuck::Zeroable as _;
use glam::Vec3;
use plinth_bake::BakedMesh;
use plinth_model::{Primitive, Topology};
use plinth_scene::{PosedPrimitive, Scene};

use crate::RenderError;
use crate::gpu::Gpu;
use crate::gpu_types::{self, PoseVertex, SurfaceVertex};
use crate::upload::gathered_light::{BatchLight, LightSample, LightSource};
use crate::upload::numbered::NumberedTriangles;
use crate::upload::sprites;
use crate::upload::sprites::{SpriteInputs, Sprites};
use crate::upload::triangles::{
    FIRST_TRIANGLE, MAX_BATCH_VERTICES, MAX_BATCHES, MAX_TRIANGLES, packed_corners, triangle_format, triangle_words,
};

/// Consecutive vertices of a batch that belong to the same posed primitive.
#[derive(Clone, Copy, Debug)]
pub(crate) struct VertexRange {
    pub(super) posed: usize,
    pub(super) first_vertex: usize,
    pub(super) vertices: usize,
    pub(super) first_triangle: usize,
}

/// Triangles, points or lines that have the same material and are drawn with one call.
pub(crate) struct Batch {
    pub(crate) material: usize,
    pub(crate) moving: bool,
    pub(crate) pose: wgpu::Buffer,
    pub(crate) surface: wgpu::Buffer,
    pub(crate) indices: wgpu::Buffer,
    /// The corners of all triangles in the order of their numbers, for shaders.
    pub(crate) packed_corners: wgpu::Buffer,
    pub(crate) light: BatchLight,
    pub(crate) index_count: u32,
    /// Vertices for passes that write triangle numbers. `None` for points and lines.
    pub(crate) numbered: Option<NumberedTriangles>,
    /// Number of the batch's first triangle in the visibility buffer.
    pub(crate) first_triangle: u32,
    /// World-space bounds in the current pose.
    pub(crate) bounds: (Vec3, Vec3),
    pub(super) pieces: Vec<VertexRange>,
    /// For each piece, whether a mirroring node reverses the winding of its triangles.
    pub(super) mirrored: Vec<bool>,
    /// For each vertex of the batch, its index among the vertices of the pieces. `None` if both are the same.
    pub(super) chosen: Option<Vec<u32>>,
    /// The range of the batch's triangles among the triangles of its pieces.
    pub(super) triangles: Range<usize>,
    /// Vertex indices of the triangle corners. Empty if the batch does not move.
    pub(super) corners: Vec<u32>,
    /// How a transmissive or blended batch is drawn. `None` for opaque and alpha-tested batches.
    pub(crate) transparency: Option<Transparency>,
    /// Points or lines of the batch. A batch with points or lines has no triangles.
    pub(crate) sprites: Option<Sprites>,
}

/// All batches, and the words of all triangles for the visibility buffer.
pub(crate) struct Geometry {
    pub(crate) batches: Vec<Batch>,
    pub(crate) triangles: wgpu::Buffer,
    /// Format of triangle numbers in the visibility buffer.
    pub(crate) triangle_format: wgpu::TextureFormat,
}

/// How a transmissive or blended batch is drawn over the surfaces that are already in the picture.
pub(crate) enum Transparency {
    /// All its triangles, from back to front.
    Sorted(Sortable),
    /// Only its visible triangles, through a visibility buffer.
    VisibilityBuffer {
        /// Mean position of the corners of its triangles.
        center: Vec3,
    },
}

impl Transparency {
    /// Returns the data for sorting the triangles. `None` if they are not sorted.
    pub(crate) fn sortable(&self) -> Option<&Sortable> {
        match self {
            Self::Sorted(sortable) => Some(sortable),
            Self::VisibilityBuffer { .. } => None,
        }
    }
}

/// Triangle corners and their world positions, for sorting triangles from back to front.
pub(crate) struct Sortable {
    pub(crate) indices: Vec<[u32; 3]>,
    positions: Vec<Vec3>,
}

/// PosedModel primitives, the indices with which they are drawn, and whether each of them moves.
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
    /// As part of the opaque scene.
    Opaque,
    /// Over the opaque scene, whose samples they replace.
    Glass,
    /// Over the opaque scene, with which they are blended.
    Blended,
}

/// From this number of triangles on, glass is drawn through a visibility buffer, so that each pixel is shaded once.
/// Drivers shade blocks of pixels, of which a small triangle covers few. The passes of the visibility buffer cost more
/// than they save for a few large triangles.
const FINE_GLASS: usize = 1000;

/// The properties of a material that affect how batches are formed.
#[derive(Clone, Copy)]
pub(crate) struct MaterialUse {
    pub(crate) drawn: DrawMode,
    /// Whether the material is alpha-tested.
    pub(crate) is_alpha_tested: bool,
}

/// Builds all batches. `uses` has one entry per material.
pub(crate) fn build(
    gpu: &Gpu,
    light_layout: &wgpu::BindGroupLayout,
    scene: &Scene,
    all: &PosedModel<'_>,
    baked: &[BakedMesh],
    uses: &[MaterialUse],
    inputs: &SpriteInputs<'_>,
) -> Result<Geometry, RenderError> {
    let PosedModel { primitives: posed, indices, moving } = *all;
    let mut groups: BTreeMap<(usize, bool, usize), Vec<usize>> = BTreeMap::new();
    for (i, one) in posed.iter().enumerate() {
        let Some(primitive) = primitive_of(scene, one) else { continue };
        if primitive.topology == Topology::Triangles && !indices[i].is_empty() {
            // Geometry that is drawn from back to front is first sorted by body, so each body has its own batch.
            let body = if uses[primitive.material].drawn == DrawMode::Opaque { 0 } else { i };
            groups.entry((primitive.material, moving[i], body)).or_default().push(i);
        }
    }
    let most = most_vertices(gpu);
    let mut batches = Vec::new();
    let mut words = Vec::new();
    for ((material, moving, _), members) in groups {
        let mut draft = BatchBuilder::default();
        for i in members {
            if let Some(primitive) = primitive_of(scene, &posed[i]) {
                draft.add(i, &posed[i], primitive, &indices[i]);
            }
        }
        let used = uses[material];
        let is_fine = draft.indices.len() / 3 >= FINE_GLASS;
        let sorted = used.drawn == DrawMode::Blended || (used.drawn == DrawMode::Glass && !is_fine);
        if sorted {
            draft = draft.with_triangles_apart();
        }
        for part in draft.split(most) {
            let first_triangle = FIRST_TRIANGLE + words.len() as u32;
            if !sorted {
                words.extend(triangle_words(batches.len(), &part.pose, &part.indices));
            }
            let kind = (material, moving, used, sorted);
            batches.push(part.upload(gpu, (light_layout, baked), kind, first_triangle)?);
        }
    }
    sprites::build(gpu, scene, all, inputs, (&mut batches, &mut words))?;
    if batches.len() > MAX_BATCHES || words.len() >= MAX_TRIANGLES as usize {
        return Err(RenderError::TooManyParts { materials: batches.len(), triangles: words.len() });
    }
    let triangles = filled(gpu, "triangles", bytemuck::cast_slice(&words), wgpu::BufferUsages::STORAGE)?;
    Ok(Geometry { batches, triangles, triangle_format: triangle_format(words.len()) })
}

/// Returns the maximum number of vertices of a batch. Triangles have room for so many, and their light must fit into one binding of the adapter, even if
/// both sides have light and all lattices have the maximum level.
fn most_vertices(gpu: &Gpu) -> usize {
    let samples = gpu.max_storage_bytes() as usize / size_of::<LightSample>();
    (samples.saturating_sub(plinth_bake::MAX_GRID_VALUES).max(samples / 2) / 2).min(MAX_BATCH_VERTICES)
}

/// A batch that has not been uploaded yet.
#[derive(Default)]
struct BatchBuilder {
    pose: Vec<PoseVertex>,
    surface: Vec<SurfaceVertex>,
    indices: Vec<u32>,
    pieces: Vec<VertexRange>,
    mirrored: Vec<bool>,
    chosen: Option<Vec<u32>>,
    triangles: Range<usize>,
}

impl BatchBuilder {
    fn add(&mut self, index: usize, posed: &PosedPrimitive, primitive: &Primitive, indices: &[u32]) {
        let first = self.pose.len();
        self.pieces.push(VertexRange {
            posed: index,
            first_vertex: first,
            vertices: posed.positions.len(),
            first_triangle: self.triangles.end,
        });
        self.mirrored.push(posed.mirrored);
        write_pose(posed, primitive, &mut self.pose);
        self.surface.extend((0..posed.positions.len()).map(|v| surface_vertex(primitive, v)));
        self.triangles.end += indices.len() / 3;
        let offset = first as u32;
        for corner in indices.chunks_exact(3) {
            let (a, b, c) = (corner[0] + offset, corner[1] + offset, corner[2] + offset);
            self.indices.extend(if posed.mirrored { [a, c, b] } else { [a, b, c] });
        }
    }

    /// Gives each triangle its own vertices, in the order of the triangles. After sorting, a triangle can still be
    /// identified by its vertices.
    fn with_triangles_apart(self) -> Self {
        self.chosen_only(&self.indices, (0..self.indices.len() as u32).collect(), self.triangles.clone())
    }

    /// Returns a batch with only the listed vertices and a range of the triangles. `indices` refer to positions in the
    /// list `vertices`.
    fn chosen_only(&self, vertices: &[u32], indices: Vec<u32>, triangles: Range<usize>) -> Self {
        Self {
            pose: vertices.iter().map(|v| self.pose[*v as usize]).collect(),
            surface: vertices.iter().map(|v| self.surface[*v as usize]).collect(),
            indices,
            triangles,
            pieces: self.pieces.clone(),
            mirrored: self.mirrored.clone(),
            chosen: Some(match &self.chosen {
                None => vertices.to_vec(),
                Some(chosen) => vertices.iter().map(|v| chosen[*v as usize]).collect(),
            }),
        }
    }

    /// Splits the batch into parts with at most `most_vertices` vertices and at most 4/3 as many triangles. The order
    /// of the triangles is kept.
    fn split(self, most_vertices: usize) -> Vec<Self> {
        let most_corners = most_vertices * 4 / 3 * 3;
        if self.pose.len() <= most_vertices && self.indices.len() <= most_corners {
            return vec![self];
        }
        let mut parts = Vec::new();
        let mut vertices: Vec<u32> = Vec::new();
        let mut indices: Vec<u32> = Vec::new();
        let mut place: BTreeMap<u32, u32> = BTreeMap::new();
        let mut first = self.triangles.start;
        let triangles = self.indices.as_chunks::<3>().0;
        for (number, triangle) in (first..).zip(triangles) {
            if vertices.len() + 3 > most_vertices || indices.len() + 3 > most_corners {
                parts.push(self.chosen_only(&vertices, std::mem::take(&mut indices), first..number));
                vertices.clear();
                place.clear();
                first = number;
            }
            for corner in triangle {
                let next = vertices.len() as u32;
                let at = *place.entry(*corner).or_insert(next);
                if at == next {
                    vertices.push(*corner);
                }
                indices.push(at);
            }
        }
        parts.push(self.chosen_only(&vertices, indices, first..self.triangles.end));
        parts
    }

    fn upload(
        self,
        gpu: &Gpu,
        (light_layout, baked): (&wgpu::BindGroupLayout, &[BakedMesh]),
        (material, moving, used, sorted): (usize, bool, MaterialUse, bool),
        first_triangle: u32,
    ) -> Result<Batch, RenderError> {
        let transparency = match used.drawn {
            DrawMode::Opaque => None,
            _ if sorted => Some(Transparency::Sorted(Sortable {
                indices: self.indices.as_chunks::<3>().0.to_vec(),
                positions: self.pose.iter().map(|v| Vec3::from(v.position)).collect(),
            })),
            DrawMode::Glass | DrawMode::Blended => {
                Some(Transparency::VisibilityBuffer { center: center(&self.pose, &self.indices) })
            }
        };
        let storage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST;
        let vertex = wgpu::BufferUsages::VERTEX | storage;
        let index = wgpu::BufferUsages::INDEX | wgpu::BufferUsages::COPY_DST;
        let source = LightSource { pieces: &self.pieces, chosen: self.chosen.as_deref(), triangles: &self.triangles };
        let light = BatchLight::new(gpu, light_layout, source, baked)?;
        let is_alpha_tested = used.is_alpha_tested.then_some(&self.surface[..]);
        let numbered = NumberedTriangles::new(gpu, &self.pose, is_alpha_tested, &self.indices, moving)?;
        Ok(Batch {
            material,
            moving,
            pose: filled(gpu, "pose", bytemuck::cast_slice(&self.pose), vertex)?,
            surface: filled(gpu, "surface", bytemuck::cast_slice(&self.surface), vertex)?,
            indices: filled(gpu, "indices", bytemuck::cast_slice(&self.indices), index)?,
            packed_corners: filled(gpu, "corners", bytemuck::cast_slice(&packed_corners(&self.indices)), storage)?,
            index_count: self.indices.len() as u32,
            light,
            numbered: Some(numbered),
            first_triangle,
            bounds: bounds_of(&self.pose),
            pieces: self.pieces,
            mirrored: self.mirrored,
            chosen: self.chosen,
            triangles: self.triangles,
            corners: if moving { self.indices } else { Vec::new() },
            transparency,
            sprites: None,
        })
    }
}

pub(super) fn bounds_of(vertices: &[PoseVertex]) -> (Vec3, Vec3) {
    vertices.iter().fold((Vec3::MAX, Vec3::MIN), |(low, high), v| {
        let p = Vec3::from(v.position);
        (low.min(p), high.max(p))
    })
}

/// Returns the mean position of the corners of triangles.
fn center(vertices: &[PoseVertex], corners: &[u32]) -> Vec3 {
    let sum = corners.iter().map(|corner| Vec3::from(vertices[*corner as usize].position)).sum::<Vec3>();
    sum / corners.len().max(1) as f32
}

impl Batch {
    /// Returns the uniform of the batch. `number` is the index of the batch. `surface` (0 or 1) is the surface of each
    /// pixel that is shaded.
    pub(crate) fn twin(&self, number: u32, surface: u32) -> gpu_types::Batch {
        let sprites = self.sprites.as_ref().map(|sprites| sprites.look).unwrap_or_default();
        gpu_types::Batch { first_triangle: self.first_triangle, number, surface, sprites }
    }

    /// Replaces the baked light by the light of another pose. `baked` has one entry per posed primitive.
    /// Errors: if the light exceeds the limits of the adapter.
    pub(crate) fn relight(
        &mut self,
        gpu: &Gpu,
        layout: &wgpu::BindGroupLayout,
        baked: &[BakedMesh],
    ) -> Result<(), RenderError> {
        if self.sprites.is_some() {
            return Ok(());
        }
        let source = LightSource { pieces: &self.pieces, chosen: self.chosen.as_deref(), triangles: &self.triangles };
        self.light.update(gpu, layout, source, baked)
    }

    /// Uploads the vertices of a new pose. `number` is the index of the batch.
    pub(crate) fn update(
        &mut self,
        gpu: &Gpu,
        scene: &Scene,
        posed: &[PosedPrimitive],
        number: usize,
        triangles: &wgpu::Buffer,
    ) {
        let mut vertices = Vec::new();
        for piece in &self.pieces {
            if let Some(primitive) = primitive_of(scene, &posed[piece.posed]) {
                debug_assert_eq!(vertices.len(), piece.first_vertex);
                write_pose(&posed[piece.posed], primitive, &mut vertices);
            }
        }
        if let Some(chosen) = &self.chosen {
            vertices = chosen.iter().map(|v| vertices[*v as usize]).collect();
        }
        gpu.write(&self.pose, 0, bytemuck::cast_slice(&vertices));
        if let Some(numbered) = &self.numbered {
            numbered.update(gpu, &vertices);
        }
        self.bounds = bounds_of(&vertices);
        self.turn(gpu, posed);
        match &mut self.transparency {
            Some(Transparency::Sorted(sortable)) => {
                sortable.positions = vertices.iter().map(|v| Vec3::from(v.position)).collect();
            }
            Some(Transparency::VisibilityBuffer { center: known }) => *known = center(&vertices, &self.corners),
            None => {}
        }
        if self.sprites.is_none() && self.sortable().is_none() {
            let words = triangle_words(number, &vertices, &self.corners);
            let offset = u64::from(self.first_triangle - FIRST_TRIANGLE) * size_of::<u32>() as u64;
            gpu.write(triangles, offset, bytemuck::cast_slice(&words));
        }
    }

    /// Reverses the winding of the pieces that the clip has mirrored since the last pose.
    fn turn(&mut self, gpu: &Gpu, posed: &[PosedPrimitive]) {
        let now: Vec<bool> = self.pieces.iter().map(|piece| posed[piece.posed].mirrored).collect();
        if now == self.mirrored {
            return;
        }
        let changed: Vec<bool> = now.iter().zip(&self.mirrored).map(|(a, b)| a != b).collect();
        let turns = |triangle: &[u32; 3]| {
            let vertex = self.chosen.as_ref().map_or(triangle[0], |c| c[triangle[0] as usize]) as usize;
            changed[self.pieces.partition_point(|piece| piece.first_vertex <= vertex) - 1]
        };
        let triangles = self.corners.as_chunks_mut::<3>().0;
        let turned: Vec<usize> = (0..triangles.len()).filter(|number| turns(&triangles[*number])).collect();
        for number in &turned {
            triangles[*number].swap(1, 2);
            if let Some(Transparency::Sorted(sortable)) = &mut self.transparency {
                sortable.indices[*number].swap(1, 2);
            }
        }
        gpu.write(&self.indices, 0, bytemuck::cast_slice(&self.corners));
        gpu.write(&self.packed_corners, 0, bytemuck::cast_slice(&packed_corners(&self.corners)));
        if let Some(numbered) = &mut self.numbered {
            numbered.turn(gpu, &turned);
        }
        self.mirrored = now;
    }

    /// Returns the data for sorting the triangles. `None` if they are not sorted.
    pub(crate) fn sortable(&self) -> Option<&Sortable> {
        self.transparency.as_ref().and_then(Transparency::sortable)
    }

    /// Whether the batch is transmissive and drawn through a visibility buffer.
    pub(crate) const fn is_visibility_buffered_glass(&self) -> bool {
        matches!(self.transparency, Some(Transparency::VisibilityBuffer { .. }))
    }

    /// Sorts the triangles from back to front along `forward`, and uploads them. Does nothing if they are not sorted.
    pub(crate) fn sort(&mut self, gpu: &Gpu, forward: Vec3) {
        let Some(Transparency::Sorted(sortable)) = &mut self.transparency else { return };
        let depth =
            |corners: &[u32; 3]| corners.iter().map(|c| sortable.positions[*c as usize]).sum::<Vec3>().dot(forward);
        let mut keyed: Vec<(f32, [u32; 3])> = sortable.indices.iter().map(|t| (depth(t), *t)).collect();
        keyed.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let ordered: Vec<[u32; 3]> = keyed.into_iter().map(|(_, t)| t).collect();
        gpu.write(&self.indices, 0, bytemuck::cast_slice(&ordered));
    }

    /// Returns the mean depth along `forward`. Batches are sorted by this value.
    pub(crate) fn mean_depth(&self, forward: Vec3) -> f32 {
        match &self.transparency {
            None => 0.0,
            Some(Transparency::Sorted(s)) => {
                s.positions.iter().map(|p| p.dot(forward)).sum::<f32>() / (s.positions.len().max(1) as f32)
            }
            Some(Transparency::VisibilityBuffer { center }) => center.dot(forward),
        }
    }
}

/// Returns whether each edge belongs to exactly two triangles, which run along it in opposite directions. Vertices at
/// the same position count as one. If this is true, the surface encloses a body, and the inside of the body is visible
/// through its front.
pub(crate) fn is_closed(sortable: &Sortable) -> bool {
    let mut ids: BTreeMap<[u32; 3], u32> = BTreeMap::new();
    let corner: Vec<u32> = sortable
        .positions
        .iter()
        .map(|p| {
            let next = ids.len() as u32;
            *ids.entry((*p + Vec3::ZERO).to_array().map(f32::to_bits)).or_insert(next)
        })
        .collect();
    let mut edges: BTreeMap<(u32, u32), i32> = BTreeMap::new();
    for triangle in &sortable.indices {
        let [a, b, c] = triangle.map(|i| corner[i as usize]);
        if a == b || b == c || c == a {
            continue;
        }
        for (from, to) in [(a, b), (b, c), (c, a)] {
            let sign = if from < to { 1 } else { -1 };
            *edges.entry((from.min(to), from.max(to))).or_default() += sign;
        }
    }
    !edges.is_empty() && edges.values().all(|sum| *sum == 0)
}

/// Creates a buffer with this content.
pub(crate) fn filled(
    gpu: &Gpu,
    label: &str,
    bytes: &[u8],
    usage: wgpu::BufferUsages,
) -> Result<wgpu::Buffer, RenderError> {
    let limit = gpu.report().max_buffer_bytes;
    let size = (bytes.len().max(4) as u64).next_multiple_of(4);
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

pub(super) fn write_pose(posed: &PosedPrimitive, primitive: &Primitive, out: &mut Vec<PoseVertex>) {
    let flip = if posed.mirrored { -1.0 } else { 1.0 };
    out.extend(posed.positions.iter().enumerate().map(|(v, position)| {
        let normal = posed.normals.get(v).copied().unwrap_or(Vec3::Y);
        let tangent = posed.tangents.get(v).copied().unwrap_or(Vec3::X);
        // 0 means that the surface has no tangent, so a normal map has no effect.
        let hand = primitive.tangents.get(v).map_or(0.0, |t| t[3]) * flip;
        PoseVertex::new(*position, normal, tangent, hand, uv_of(primitive, 0, v))
    }));
}

/// Returns texture coordinates of a vertex, or zero if it has none.
fn uv_of(primitive: &Primitive, set: usize, v: usize) -> [f32; 2] {
    primitive.uvs.get(set).and_then(|list| list.get(v)).copied().unwrap_or([0.0; 2])
}

pub(super) fn surface_vertex(primitive: &Primitive, v: usize) -> SurfaceVertex {
    let color = primitive.colors.get(v).copied().unwrap_or([1.0; 4]);
    let mut out = SurfaceVertex::zeroed();
    out.uv0 = uv_of(primitive, 0, v);
    out.uv1 = uv_of(primitive, 1, v);
    out.color = color.map(|c| (c.clamp(0.0, 1.0) * 65535.0).round() as u16);
    out
}
