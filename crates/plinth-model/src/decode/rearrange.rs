//! Applies the same change to all vertex lists of a primitive, such as positions and normals.

use glam::Vec3;

use crate::model::{MorphTarget, Primitive};

/// A change that applies to vertex lists with any type of values.
pub(crate) trait VertexListChange {
    /// Changes a list. The list is never empty.
    fn apply<T: Copy>(&self, list: &mut Vec<T>);
}

/// Replaces a list by the entries at the given indices, in the order of the indices.
pub(crate) struct PickVertices<'a>(pub(crate) &'a [u32]);

impl VertexListChange for PickVertices<'_> {
    fn apply<T: Copy>(&self, list: &mut Vec<T>) {
        *list = self.0.iter().map(|i| list[*i as usize]).collect();
    }
}

/// Appends copies of the entries at the given indices to a list.
pub(crate) struct AppendCopies<'a>(pub(crate) &'a [u32]);

impl VertexListChange for AppendCopies<'_> {
    fn apply<T: Copy>(&self, list: &mut Vec<T>) {
        list.reserve_exact(self.0.len());
        for i in self.0 {
            list.push(list[*i as usize]);
        }
    }
}

/// Applies a change to all vertex lists of a primitive. Empty lists and the triangle indices are not changed.
pub(crate) fn rearrange(primitive: &mut Primitive, change: &impl VertexListChange) {
    fn apply<T: Copy>(list: &mut Vec<T>, change: &impl VertexListChange) {
        if !list.is_empty() {
            change.apply(list);
        }
    }
    apply(&mut primitive.positions, change);
    apply(&mut primitive.normals, change);
    apply(&mut primitive.tangents, change);
    primitive.uvs.iter_mut().for_each(|set| apply(set, change));
    apply(&mut primitive.colors, change);
    apply(&mut primitive.joints, change);
    apply(&mut primitive.weights, change);
    for MorphTarget { positions, normals, tangents } in &mut primitive.morph_targets {
        apply(positions, change);
        apply(normals, change);
        apply(tangents, change);
    }
}

/// Returns the number of bytes per vertex in all lists that are not empty, and in a list of normals.
pub(crate) fn bytes_per_vertex(primitive: &Primitive) -> u64 {
    let vec = size_of::<Vec3>() as u64;
    let bytes_if = |present: bool, bytes: u64| if present { bytes } else { 0 };
    let uvs = 8 * primitive.uvs.iter().filter(|set| !set.is_empty()).count() as u64;
    let (colors, influences) = (bytes_if(!primitive.colors.is_empty(), 16), bytes_if(!primitive.joints.is_empty(), 24));
    let morph = |t: &MorphTarget| {
        bytes_if(!t.positions.is_empty(), vec)
            + bytes_if(!t.normals.is_empty(), vec)
            + bytes_if(!t.tangents.is_empty(), vec)
    };
    2 * vec + uvs + colors + influences + primitive.morph_targets.iter().map(morph).sum::<u64>()
}
