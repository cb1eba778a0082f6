//! Draws wireframes. Triangles are replaced by thin bands along their edges. The bands are shaded and cast shadows like
//! other surfaces.

use std::collections::{BTreeMap, BTreeSet};

use glam::{DMat4, Vec3};
use plinth_model::{Model, MorphTarget, Primitive, Topology};

use crate::fit::Motion;
use crate::place::near_origin;
use crate::pose::Placed;
use crate::visible::Visible;

/// Width of an edge in world units. It is about two pixels wide in a video of quality `standard`.
const WIDTH: f32 = 0.004;
/// Maximum number of edges of all wireframes of a model, including instances. Each edge becomes eight vertices.
pub(crate) const MAX_EDGES: usize = 400_000;

/// The wireframes of a model.
pub(crate) struct Wireframes<'a> {
    visible: Visible<'a>,
    /// Number of edges so far, including instances.
    edges: usize,
    /// Size of the model, which is measured before the first wireframe is drawn.
    size: Option<ModelSize>,
}

impl<'a> Wireframes<'a> {
    pub(crate) fn new(visible: Visible<'a>) -> Self {
        Self { visible, edges: 0, size: None }
    }

    /// Replaces the visible triangles of a material by bands along their edges. `draws` contains for each mesh how
    /// often it is drawn. Returns false and changes nothing if all wireframes together would have more than
    /// [`MAX_EDGES`] edges.
    pub(crate) fn draw(&mut self, model: &mut Model, material: usize, draws: &[usize]) -> bool {
        let visible = self.visible;
        let size = *self.size.get_or_insert_with(|| ModelSize::of(model, visible));
        let mut count = self.edges;
        let mut drawn = BTreeMap::new();
        for (place, width) in object_widths(model, material, visible.hidden, size) {
            let primitive = &model.meshes[place.0].primitives[place.1];
            let edges = edges(primitive);
            count += edges.len() * draws[place.0];
            if count > MAX_EDGES {
                return false;
            }
            drawn.insert(place, bands(primitive, &edges, width * 0.5));
        }
        self.edges = count;
        for ((mesh, index), bands) in drawn {
            model.meshes[mesh].primitives[index] = bands;
        }
        let m = &mut model.materials[material];
        m.double_sided = true;
        // The bands have no tangents, which normal maps and anisotropy need.
        (m.normal_texture, m.anisotropy) = (None, None);
        if let Some(coat) = &mut m.clearcoat {
            coat.normal_texture = None;
        }
        true
    }
}

/// The size of a model, from which the width of its edges is computed. The model is later scaled so that `span` becomes
/// 2 world units.
#[derive(Clone, Copy)]
struct ModelSize {
    /// Transform to the coordinate system in which the model is measured.
    measured_from_model: DMat4,
    /// Length of the largest side of the box around all visible meshes over the whole clip.
    span: f32,
}

impl ModelSize {
    fn of(model: &Model, visible: Visible<'_>) -> Self {
        // This fails if nothing is visible. Then no edges are drawn.
        let measured_from_model = near_origin(model, visible.hidden).unwrap_or(DMat4::IDENTITY);
        let placed = Placed { model, hidden: visible.hidden, world_from_model: measured_from_model };
        let clip = visible.clip.and_then(|clip| model.animations.get(clip));
        let bounds = Motion::of(&placed, clip, &[]).bounds(true);
        let span = bounds.map_or(0.0, |(min, max)| (max - min).max_element());
        Self { measured_from_model, span: span.max(f32::MIN_POSITIVE) }
    }
}

/// Returns the width of the edges for each visible primitive of a material, in units of the primitive's space. A key
/// consists of the index of the mesh and the index of the primitive.
fn object_widths(model: &Model, material: usize, hidden: &[bool], size: ModelSize) -> BTreeMap<(usize, usize), f32> {
    let placed = Placed { model, hidden, world_from_model: size.measured_from_model };
    let mut out = BTreeMap::new();
    for one in placed.pose(None, |_draw| true) {
        let Some(mesh) = model.nodes[one.node].mesh else { continue };
        let primitive = &model.meshes[mesh].primitives[one.primitive];
        if primitive.material != material || primitive.topology != Topology::Triangles {
            continue;
        }
        let own = extent(primitive.positions.iter().map(|p| Vec3::from(*p))).length();
        let seen = extent(one.positions.iter().copied()).length();
        // A part that a clip lets grow from nothing has no size in the rest pose. Its edges are as wide as if it were as large
        // as the model.
        let in_part = if seen > 0.0 { size.span * own / seen } else { own };
        // If several nodes draw the mesh, the scale of the first node is used.
        out.entry((mesh, one.primitive)).or_insert(0.5 * WIDTH * in_part);
    }
    out
}

fn extent(points: impl Iterator<Item = Vec3>) -> Vec3 {
    let start = (Vec3::INFINITY, Vec3::NEG_INFINITY);
    let (min, max) = points.fold(start, |(min, max), p| (min.min(p), max.max(p)));
    (max - min).max(Vec3::ZERO)
}

/// Returns each edge once. Vertices at the same position count as one vertex.
fn edges(primitive: &Primitive) -> Vec<[u32; 2]> {
    let mut ids: BTreeMap<[u32; 3], u32> = BTreeMap::new();
    let mut first = |v: u32| {
        let place = (Vec3::from(primitive.positions[v as usize]) + Vec3::ZERO).to_array().map(f32::to_bits);
        *ids.entry(place).or_insert(v)
    };
    let mut out = BTreeSet::new();
    for triangle in primitive.indices.as_chunks::<3>().0 {
        let [a, b, c] = triangle.map(&mut first);
        for (from, to) in [(a, b), (b, c), (c, a)] {
            if from != to {
                out.insert([from.min(to), from.max(to)]);
            }
        }
    }
    out.into_iter().collect()
}

/// Returns two bands along each edge that cross at a right angle: one in the plane of the surface, one perpendicular to
/// it.
fn bands(primitive: &Primitive, edges: &[[u32; 2]], half: f32) -> Primitive {
    let mut out = Primitive { topology: Topology::Triangles, material: primitive.material, ..Primitive::default() };
    out.uvs = vec![Vec::new(); primitive.uvs.len()];
    out.morph_targets = vec![MorphTarget::default(); primitive.morph_targets.len()];
    let position = |v: u32| Vec3::from(primitive.positions[v as usize]);
    let normal = |v: u32| primitive.normals.get(v as usize).map_or(Vec3::Y, |n| Vec3::from(*n));
    for [a, b] in edges {
        let along = (position(*b) - position(*a)).normalize_or(Vec3::X);
        let up = (normal(*a) + normal(*b)).reject_from_normalized(along).normalize_or(along.any_orthonormal_vector());
        let across = along.cross(up);
        for (shift, facing) in [(across, up), (up, across)] {
            let start = out.positions.len() as u32;
            for (v, side) in [(*a, -half), (*b, -half), (*b, half), (*a, half)] {
                copy(primitive, v as usize, &mut out);
                out.positions.push((position(v) + shift * side).to_array());
                out.normals.push(facing.to_array());
            }
            // The triangles must be counter-clockwise as seen from `facing`. The product `along × shift` is `-up` for
            // the first band and `across` for the second band.
            let turned = along.cross(shift).dot(facing) < 0.0;
            let corners = if turned { [0, 2, 1, 0, 3, 2] } else { [0, 1, 2, 0, 2, 3] };
            out.indices.extend(corners.map(|i| start + i));
        }
    }
    out
}

/// Copies all attributes of a vertex except its position and its normal.
fn copy(from: &Primitive, v: usize, to: &mut Primitive) {
    for (to, from) in to.uvs.iter_mut().zip(&from.uvs) {
        to.extend(from.get(v));
    }
    to.colors.extend(from.colors.get(v));
    to.joints.extend(from.joints.get(v));
    to.weights.extend(from.weights.get(v));
    for (to, from) in to.morph_targets.iter_mut().zip(&from.morph_targets) {
        to.positions.extend(from.positions.get(v));
        to.normals.extend(from.normals.get(v));
    }
}
