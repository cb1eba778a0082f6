//! Changes of all vertex lists of a primitive alike.

use glam::Vec3;

use crate::model::{MorphTarget, Primitive};

/// What is done to each list of vertices.
pub(crate) trait Rearrange {
    /// Changes a list that is not empty.
    fn change<T: Copy>(&self, list: &mut Vec<T>);
}

/// The entries that indices name, in their order.
pub(crate) struct Picked<'a>(pub(crate) &'a [u32]);

impl Rearrange for Picked<'_> {
    fn change<T: Copy>(&self, list: &mut Vec<T>) {
        *list = self.0.iter().map(|i| list[*i as usize]).collect();
    }
}

/// All entries, then once more those that indices name.
pub(crate) struct Appended<'a>(pub(crate) &'a [u32]);

impl Rearrange for Appended<'_> {
    fn change<T: Copy>(&self, list: &mut Vec<T>) {
        list.reserve_exact(self.0.len());
        for i in self.0 {
            list.push(list[*i as usize]);
        }
    }
}

/// Changes every vertex list of a primitive that is there. Indices stay.
pub(crate) fn rearrange(primitive: &mut Primitive, how: &impl Rearrange) {
    fn change<T: Copy>(list: &mut Vec<T>, how: &impl Rearrange) {
        if !list.is_empty() {
            how.change(list);
        }
    }
    change(&mut primitive.positions, how);
    change(&mut primitive.normals, how);
    change(&mut primitive.tangents, how);
    primitive.uvs.iter_mut().for_each(|set| change(set, how));
    change(&mut primitive.colors, how);
    change(&mut primitive.joints, how);
    change(&mut primitive.weights, how);
    for MorphTarget { positions, normals, tangents } in &mut primitive.morph_targets {
        change(positions, how);
        change(normals, how);
        change(tangents, how);
    }
}

/// What a vertex takes in all lists that are there, its normal included.
pub(crate) fn bytes_per_vertex(primitive: &Primitive) -> u64 {
    let vec = size_of::<Vec3>() as u64;
    let of = |present: bool, bytes: u64| if present { bytes } else { 0 };
    let uvs = 8 * primitive.uvs.iter().filter(|set| !set.is_empty()).count() as u64;
    let (colors, influences) = (of(!primitive.colors.is_empty(), 16), of(!primitive.joints.is_empty(), 24));
    let morph = |t: &MorphTarget| {
        of(!t.positions.is_empty(), vec) + of(!t.normals.is_empty(), vec) + of(!t.tangents.is_empty(), vec)
    };
    2 * vec + uvs + colors + influences + primitive.morph_targets.iter().map(morph).sum::<u64>()
}
