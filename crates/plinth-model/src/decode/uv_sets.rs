//! Reduces the texture coordinate sets of each material to two. A file may use any number of sets, but the renderer
//! supports only two per vertex.

use std::collections::BTreeSet;

use glam::{DMat3, DVec3};

use crate::model::{Material, Mesh, Primitive, TextureRef};
use crate::texture_slot::TextureSlot;
use crate::warnings::Warnings;

/// Maximum number of texture coordinate sets per material.
const MAX_SETS: usize = 2;
/// Maximum deviation at which a set counts as a transformed copy of another set. Coordinates that are stored as
/// normalised bytes are rounded by up to half of 1/255; the value is larger by a margin for other rounding errors.
const MAX_DEVIATION: f64 = 0.0025;

/// Renumbers texture coordinate sets, in textures as well as in primitives, so that each material only uses the sets 0
/// and 1. Materials that already do so are not changed.
///
/// If a material uses more than two sets, a set that is an affine transform of another set is replaced by this other
/// set and a texture transform. If a texture still needs a third set, it uses set 0 instead, and a warning is added.
pub(crate) fn renumber(materials: &mut [Material], meshes: &mut [Mesh], warnings: &mut Warnings) {
    for (index, material) in materials.iter_mut().enumerate() {
        let used: BTreeSet<usize> =
            TextureSlot::ALL.iter().filter_map(|slot| slot.of(material)).map(|r| r.uv_set).collect();
        if used.iter().all(|set| *set < MAX_SETS) {
            continue;
        }
        let has_material = |p: &&mut Primitive| p.material == index;
        let mut primitives: Vec<&mut Primitive> =
            meshes.iter_mut().flat_map(|m| &mut m.primitives).filter(has_material).collect();
        let ReducedSets { kept, replaced, has_unsupported_set } = reduce(&used, &primitives);
        if has_unsupported_set {
            let name = crate::source::shortened(&material.name);
            let sets = used.len();
            warnings.add(&format!(
                "material '{name}': its textures use {sets} texture coordinate sets, but only {MAX_SETS} are supported"
            ));
        }
        for slot in TextureSlot::ALL {
            let Some(Some(reference)) = slot.of_mut(material) else { continue };
            match replaced.iter().find(|f| f.set == reference.uv_set) {
                Some(f) => *reference = transformed(*reference, f),
                None => reference.uv_set = kept.iter().position(|set| *set == reference.uv_set).unwrap_or(0),
            }
        }
        for primitive in &mut primitives {
            primitive.uvs = kept.iter().map(|set| primitive.uvs.get(*set).cloned().unwrap_or_default()).collect();
        }
    }
}

/// The result of reducing the texture coordinate sets of a material.
struct ReducedSets {
    /// Old indices of the sets that are kept. The position in the list is the new index.
    kept: Vec<usize>,
    replaced: Vec<ReplacedSet>,
    /// Whether there is a set that is neither kept nor replaced.
    has_unsupported_set: bool,
}

/// A set that is replaced because it is an affine transform of a kept set.
struct ReplacedSet {
    set: usize,
    /// New index of the kept set.
    base: usize,
    /// Matrix that converts coordinates (u, v, 1) of the kept set to coordinates of the replaced set.
    from_base: DMat3,
}

fn reduce(used: &BTreeSet<usize>, primitives: &[&mut Primitive]) -> ReducedSets {
    let mut out = ReducedSets { kept: Vec::new(), replaced: Vec::new(), has_unsupported_set: false };
    for set in used.iter().copied() {
        let related_to = |base: &usize| Some((*base, affine_map(primitives, out.kept[*base], set)?));
        let related = if used.len() > MAX_SETS { (0..out.kept.len()).find_map(|base| related_to(&base)) } else { None };
        match related {
            Some((base, from_base)) => out.replaced.push(ReplacedSet { set, base, from_base }),
            None if out.kept.len() < MAX_SETS => out.kept.push(set),
            None => out.has_unsupported_set = true,
        }
    }
    out
}

/// Returns the affine map from the set `from` to the set `to`. The map is fitted by least squares, then checked at
/// every vertex. Returns `None` if the sets are not related by an affine map.
fn affine_map(primitives: &[&mut Primitive], from: usize, to: usize) -> Option<DMat3> {
    let homogeneous = |uv: &[f32; 2]| DVec3::new(f64::from(uv[0]), f64::from(uv[1]), 1.0);
    let mut pairs = Vec::new();
    for primitive in primitives {
        let (from, to) = (primitive.uvs.get(from)?, primitive.uvs.get(to)?);
        if from.len() != primitive.positions.len() || to.len() != from.len() {
            return None;
        }
        pairs.extend(from.iter().map(homogeneous).zip(to.iter().map(homogeneous)));
    }
    let outer = |a: DVec3, b: DVec3| DMat3::from_cols(a * b.x, a * b.y, a * b.z);
    let (mut moments, mut mixed) = (DMat3::ZERO, DMat3::ZERO);
    for (a, b) in &pairs {
        moments += outer(*a, *a);
        mixed += outer(*b, *a);
    }
    let map = mixed * moments.inverse();
    let close = |(a, b): &(DVec3, DVec3)| (map * *a - *b).abs().max_element() <= MAX_DEVIATION;
    (map.is_finite() && pairs.iter().all(close)).then_some(map)
}

/// Returns a copy of `reference` that uses the kept set and a texture transform instead of the replaced set.
fn transformed(reference: TextureRef, replaced: &ReplacedSet) -> TextureRef {
    let [a, b, c, d, e, f] = reference.transform.unwrap_or([1.0, 0.0, 0.0, 0.0, 1.0, 0.0]).map(f64::from);
    let own_transform = DMat3::from_cols_array(&[a, d, 0.0, b, e, 0.0, c, f, 1.0]);
    let [a, d, _, b, e, _, c, f, _] = (own_transform * replaced.from_base).to_cols_array();
    TextureRef { uv_set: replaced.base, transform: Some([a, b, c, d, e, f].map(|x| x as f32)), ..reference }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::texture_slot::material_with_all_extensions;

    #[test]
    fn the_set_of_each_slot_is_renumbered() {
        let mut material = material_with_all_extensions();
        for slot in TextureSlot::ALL {
            *slot.of_mut(&mut material).unwrap() = Some(TextureRef { texture: 0, uv_set: 2, transform: None });
        }
        renumber(std::slice::from_mut(&mut material), &mut [], &mut Warnings::default());
        for slot in TextureSlot::ALL {
            assert_eq!(slot.of(&material).map(|reference| reference.uv_set), Some(0), "{}", slot.name());
        }
    }
}
