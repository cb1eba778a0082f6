//! Meshes, their primitives and morph targets.

use rayon::prelude::*;

/// A mesh: a list of primitives that share morph weights.
#[derive(Clone, Debug, Default)]
pub struct Mesh {
    /// The name in the file, or a generated name.
    pub name: String,
    /// The primitives of the mesh, each with one material.
    pub primitives: Vec<Primitive>,
}

/// The kind of elements that a primitive draws.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Topology {
    /// Triangles with three indices each. Triangle strips and fans are converted to this form.
    #[default]
    Triangles,
    /// Line segments with two indices each.
    Lines,
    /// Points with one index each.
    Points,
}

/// Geometry with one material. Each vertex list is either empty or has as many entries as `positions`.
#[derive(Clone, Debug, Default)]
pub struct Primitive {
    /// The kind of elements that the indices describe.
    pub topology: Topology,
    /// Indices into the vertex lists.
    pub indices: Vec<u32>,
    /// Object-space positions; all values are finite.
    pub positions: Vec<[f32; 3]>,
    /// Unit object-space normals. Triangles always have normals. If the file has none for a primitive of triangles,
    /// flat normals are generated and shared vertices are duplicated, as glTF requires. For lines and points, the list
    /// is then empty.
    pub normals: Vec<[f32; 3]>,
    /// Whether the normals are face normals and no two triangles share a vertex. When a primitive is animated, such
    /// normals must be computed again from the posed triangles.
    pub is_flat: bool,
    /// Unit tangents with the handedness in w. The handedness is 0 where the texture coordinates do not vary. There are
    /// tangents if the material needs them (for a normal map, a clearcoat normal map, or anisotropy) and the primitive
    /// has the required texture coordinates. For generated tangents, vertices at the seams of mirrored textures are
    /// duplicated.
    pub tangents: Vec<[f32; 4]>,
    /// Texture coordinate sets by index. A set that is missing in the file is an empty list.
    pub uvs: Vec<Vec<[f32; 2]>>,
    /// Linear vertex colours with alpha; empty if the file has none.
    pub colors: Vec<[f32; 4]>,
    /// Indices into the joints of the skin. Of the influences on a vertex, only the four with the largest weights are
    /// kept. The list is empty if the primitive has no joints.
    pub joints: Vec<[u16; 4]>,
    /// Weights of `joints`, which add up to 1 for each vertex. The list has the same length as `joints`.
    pub weights: Vec<[f32; 4]>,
    /// Morph targets. Their displacements are multiplied by the morph weights.
    pub morph_targets: Vec<MorphTarget>,
    /// Index into [`Model::materials`](super::Model::materials).
    pub material: usize,
}

impl Primitive {
    /// Returns a primitive that consists of some of the triangles, lines or points, and the vertices that they use.
    /// `indices` are indices of this primitive's vertices.
    pub fn part(&self, indices: &[u32]) -> Self {
        const UNUSED: u32 = u32::MAX;
        let mut places = vec![UNUSED; self.positions.len()];
        for i in indices {
            places[*i as usize] = 0;
        }
        let mut used = Vec::new();
        for (i, place) in (0..).zip(&mut places).filter(|(_, place)| **place != UNUSED) {
            *place = used.len() as u32;
            used.push(i);
        }
        Self {
            topology: self.topology,
            indices: indices.par_iter().map(|i| places[*i as usize]).collect(),
            positions: chosen(&self.positions, &used),
            normals: chosen(&self.normals, &used),
            is_flat: self.is_flat,
            tangents: chosen(&self.tangents, &used),
            uvs: self.uvs.iter().map(|set| chosen(set, &used)).collect(),
            colors: chosen(&self.colors, &used),
            joints: chosen(&self.joints, &used),
            weights: chosen(&self.weights, &used),
            morph_targets: self.morph_targets.iter().map(|target| target.chosen(&used)).collect(),
            material: self.material,
        }
    }

    pub(super) fn content_bytes(&self) -> usize {
        let morphed =
            self.morph_targets.iter().flat_map(|target| [&target.positions, &target.normals, &target.tangents]);
        size_of_val(&*self.indices)
            + size_of_val(&*self.positions)
            + size_of_val(&*self.normals)
            + size_of_val(&*self.tangents)
            + self.uvs.iter().map(|uvs| size_of_val(&**uvs)).sum::<usize>()
            + size_of_val(&*self.colors)
            + size_of_val(&*self.joints)
            + size_of_val(&*self.weights)
            + morphed.map(|displacements| size_of_val(&**displacements)).sum::<usize>()
    }
}

/// The displacements of one morph target. Each list is either empty or as long as the primitive's positions.
#[derive(Clone, Debug, Default)]
pub struct MorphTarget {
    /// Displacements that are added to the positions.
    pub positions: Vec<[f32; 3]>,
    /// Displacements that are added to the normals.
    pub normals: Vec<[f32; 3]>,
    /// Displacements that are added to the x, y and z components of the tangents.
    pub tangents: Vec<[f32; 3]>,
}

impl MorphTarget {
    /// Returns the displacements of some vertices.
    fn chosen(&self, used: &[u32]) -> Self {
        Self {
            positions: chosen(&self.positions, used),
            normals: chosen(&self.normals, used),
            tangents: chosen(&self.tangents, used),
        }
    }
}

/// Returns the values of some vertices. `values` is empty or has a value for each vertex.
fn chosen<T: Copy + Send + Sync>(values: &[T], used: &[u32]) -> Vec<T> {
    if values.is_empty() { Vec::new() } else { used.par_iter().map(|i| values[*i as usize]).collect() }
}
