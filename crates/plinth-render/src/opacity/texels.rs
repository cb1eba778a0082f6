//! Determines the alpha-blended materials whose opaque texels are drawn with the opaque scene.

use std::collections::{BTreeMap, BTreeSet};

use glam::Vec3;
use plinth_model::{Material, Primitive, Topology};
use plinth_scene::{PosedPrimitive, Scene};
use rayon::prelude::*;

use super::{OpaqueImages, blended_materials};
use crate::upload::geometry::primitive_of;

/// Minimum opaque share of the surface with a material whose opaque texels are drawn with the opaque scene. For a
/// smaller share, the order of triangles hardly matters, and drawing them twice takes more time.
const MIN_SHARE: f32 = 0.25;

/// Maximum number of triangles of a primitive whose texels are read to estimate the share.
const MAX_TRIANGLES: usize = 4096;

/// Returns the indices of the materials whose opaque texels are drawn with the opaque scene.
pub(crate) fn with_opaque_texels(scene: &Scene, posed: &[PosedPrimitive]) -> BTreeSet<usize> {
    let model = &scene.model;
    let blended = blended_materials(model);
    let mut uses: BTreeMap<usize, Vec<&Primitive>> = BTreeMap::new();
    for primitive in posed.iter().filter_map(|one| primitive_of(scene, one)) {
        if primitive.topology == Topology::Triangles && blended.contains(&primitive.material) {
            uses.entry(primitive.material).or_default().push(primitive);
        }
    }
    let images = OpaqueImages::new(model, &uses.keys().copied().collect());
    let worthwhile = |(i, primitives): (usize, Vec<&Primitive>)| {
        (opaque_share(&images, &model.materials[i], &primitives) >= MIN_SHARE).then_some(i)
    };
    uses.into_par_iter().filter_map(worthwhile).collect()
}

/// Estimates the share of a surface that is opaque.
fn opaque_share(images: &OpaqueImages<'_>, material: &Material, primitives: &[&Primitive]) -> f32 {
    let opacity = images.of(material);
    let (mut opaque, mut all) = (0.0, 0.0);
    for primitive in primitives {
        let triangles = primitive.indices.as_chunks::<3>().0;
        for triangle in triangles.iter().step_by(triangles.len().div_ceil(MAX_TRIANGLES).max(1)) {
            let [a, b, c] = triangle.map(|i| Vec3::from(primitive.positions[i as usize]));
            let area = (b - a).cross(c - a).length();
            all += area;
            opaque += area * opacity.opaque_share(primitive, *triangle);
        }
    }
    if all > 0.0 { opaque / all } else { 0.0 }
}
