//! Texture coordinate sets: a file has any number, a renderer two to a vertex.

use std::collections::BTreeSet;

use glam::{DMat3, DVec3};

use crate::load::{references, references_mut};
use crate::model::{Material, Mesh, Primitive, TextureRef};
use crate::warnings::Warnings;

/// Sets that a material's textures use together.
const SETS: usize = 2;
/// Largest distance at which a set counts as another one transformed: half a step of normalised bytes, and rounding.
const SAME: f64 = 0.0025;

/// Gives the sets of materials that use higher ones the numbers 0 and 1, in the textures and in the primitives.
///
/// Of more sets, one that is another one scaled, turned or moved becomes that one with a texture transform. A texture
/// that needs a third set all the same is drawn with the first, with a warning.
pub(crate) fn renumber(materials: &mut [Material], meshes: &mut [Mesh], warnings: &mut Warnings) {
    for (index, material) in materials.iter_mut().enumerate() {
        let used: BTreeSet<usize> = references(material).iter().map(|r| r.uv_set).collect();
        if used.iter().all(|set| *set < SETS) {
            continue;
        }
        let on = |p: &&mut Primitive| p.material == index;
        let mut primitives: Vec<&mut Primitive> =
            meshes.iter_mut().flat_map(|m| &mut m.primitives).filter(on).collect();
        let Reduced { kept, folded, lost } = reduce(&used, &primitives);
        if lost {
            let name = crate::source::shortened(&material.name);
            let sets = used.len();
            warnings.add(&format!("material '{name}': its textures use {sets} sets of coordinates, {SETS} are drawn"));
        }
        for reference in references_mut(material) {
            match folded.iter().find(|f| f.set == reference.uv_set) {
                Some(f) => *reference = transformed(*reference, f),
                None => reference.uv_set = kept.iter().position(|set| *set == reference.uv_set).unwrap_or(0),
            }
        }
        for primitive in &mut primitives {
            primitive.uvs = kept.iter().map(|set| primitive.uvs.get(*set).cloned().unwrap_or_default()).collect();
        }
    }
}

/// What becomes of the sets of a material.
struct Reduced {
    /// Those that stay, in their new order.
    kept: Vec<usize>,
    folded: Vec<Folded>,
    /// A set neither stays nor is another one transformed.
    lost: bool,
}

/// A set that is another one transformed.
struct Folded {
    set: usize,
    /// Place of the other in the new order.
    base: usize,
    /// This set's coordinates (u, v, 1) from the other's.
    from_base: DMat3,
}

fn reduce(used: &BTreeSet<usize>, primitives: &[&mut Primitive]) -> Reduced {
    let mut out = Reduced { kept: Vec::new(), folded: Vec::new(), lost: false };
    for set in used.iter().copied() {
        let fit = |base: &usize| Some((*base, relation(primitives, out.kept[*base], set)?));
        let related = if used.len() > SETS { (0..out.kept.len()).find_map(|base| fit(&base)) } else { None };
        match related {
            Some((base, from_base)) => out.folded.push(Folded { set, base, from_base }),
            None if out.kept.len() < SETS => out.kept.push(set),
            None => out.lost = true,
        }
    }
    out
}

/// The affine map from one set to another, if there is one: least squares, then every vertex is checked.
fn relation(primitives: &[&mut Primitive], from: usize, to: usize) -> Option<DMat3> {
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
    let close = |(a, b): &(DVec3, DVec3)| (map * *a - *b).abs().max_element() <= SAME;
    (map.is_finite() && pairs.iter().all(close)).then_some(map)
}

/// The same place on the texture, by the coordinates of the other set.
fn transformed(reference: TextureRef, folded: &Folded) -> TextureRef {
    let [a, b, c, d, e, f] = reference.transform.unwrap_or([1.0, 0.0, 0.0, 0.0, 1.0, 0.0]).map(f64::from);
    let own = DMat3::from_cols_array(&[a, d, 0.0, b, e, 0.0, c, f, 1.0]);
    let [a, d, _, b, e, _, c, f, _] = (own * folded.from_base).to_cols_array();
    TextureRef { uv_set: folded.base, transform: Some([a, b, c, d, e, f].map(|x| x as f32)), ..reference }
}
