//! Gives opaque triangles of alpha-blended materials an opaque material.

use std::collections::BTreeMap;
use std::sync::Arc;

use glam::Vec3;
use plinth_model::{AlphaMode, Material, Model, Primitive, Topology};
use plinth_scene::Scene;
use rayon::prelude::*;

use super::{OpaqueImages, blended_materials};
use crate::upload::closed::is_closed;

/// The triangles of a primitive, by opacity.
struct Separated {
    mesh: usize,
    primitive: usize,
    opaque: Vec<u32>,
    other: Vec<u32>,
    /// Whether both sides of the triangles are drawn, because the triangles together enclose a body whose inside is
    /// visible through its translucent part.
    both_sides: bool,
}

/// Divides primitives with alpha-blended materials: triangles that are opaque everywhere become primitives with an
/// opaque material. Does nothing if there are no such triangles.
pub fn separate_opaque_triangles(scene: &mut Scene) {
    let separated = separated(&scene.model);
    if separated.is_empty() {
        return;
    }
    let model = Arc::make_mut(&mut scene.model);
    // The indices of the added materials, by the original material, whether they are opaque, and whether they are
    // double-sided.
    let mut added: BTreeMap<(usize, bool, bool), usize> = BTreeMap::new();
    for part in separated {
        let Separated { mesh, primitive, opaque, other, both_sides } = part;
        let primitives = &mut model.meshes[mesh].primitives;
        let whole = &primitives[primitive];
        let original = whole.material;
        let materials = &mut model.materials;
        let mut material = |is_opaque: bool| {
            let double_sided = both_sides || materials[original].double_sided;
            *added.entry((original, is_opaque, double_sided)).or_insert_with(|| {
                let alpha_mode = if is_opaque { AlphaMode::Opaque } else { AlphaMode::Blend };
                materials.push(Material { alpha_mode, double_sided, ..materials[original].clone() });
                materials.len() - 1
            })
        };
        if other.is_empty() {
            primitives[primitive].material = material(true);
        } else {
            let opaque = Primitive { material: material(true), ..whole.part(&opaque) };
            primitives[primitive] = Primitive { material: material(false), ..whole.part(&other) };
            primitives.push(opaque);
        }
    }
}

/// Returns the primitives that have opaque triangles.
fn separated(model: &Model) -> Vec<Separated> {
    let materials = blended_materials(model);
    if materials.is_empty() {
        return Vec::new();
    }
    let images = OpaqueImages::new(model, &materials);
    let of_primitive = |(mesh, index, primitive): (usize, usize, &Primitive)| {
        if primitive.topology != Topology::Triangles || !materials.contains(&primitive.material) {
            return None;
        }
        let opacity = images.of(&model.materials[primitive.material]);
        let triangles = primitive.indices.as_chunks::<3>().0;
        let (opaque, other): (Vec<[u32; 3]>, Vec<[u32; 3]>) =
            triangles.par_iter().partition(|triangle| opacity.is_opaque(primitive, **triangle));
        let both_sides = || {
            let positions: Vec<Vec3> = primitive.positions.iter().map(|p| Vec3::from(*p)).collect();
            is_closed(triangles, &positions)
        };
        (!opaque.is_empty()).then(|| Separated {
            mesh,
            primitive: index,
            both_sides: !other.is_empty() && both_sides(),
            opaque: opaque.into_flattened(),
            other: other.into_flattened(),
        })
    };
    let primitives = model.meshes.iter().enumerate().flat_map(|(m, mesh)| {
        let of_mesh = mesh.primitives.iter().enumerate();
        of_mesh.map(move |(p, primitive)| (m, p, primitive))
    });
    let primitives: Vec<_> = primitives.collect();
    primitives.into_par_iter().filter_map(of_primitive).collect()
}
