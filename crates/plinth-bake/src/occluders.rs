//! The surfaces that block rays.

use std::collections::BTreeMap;
use std::sync::Arc;

use glam::Vec3;

use crate::bvh::{Bvh, TriangleId};
use crate::inverted_hull::{is_inside_out, is_lining};
use crate::types::{BakeImage, BakeMesh};

/// A bounding volume hierarchy over the surfaces that block rays.
pub(crate) struct Occluders {
    pub(crate) bvh: Bvh,
    /// For each mesh, whether it blocks all light of every ray that hits it.
    pub(crate) opaque: Vec<bool>,
    /// Whether each mesh blocks all light of every ray that hits it.
    pub(crate) all_opaque: bool,
    /// For each mesh, whether it is an inverted hull, which blocks no rays.
    pub(crate) is_inverted_hull: Vec<bool>,
}

impl Occluders {
    /// Builds the hierarchy for the meshes of one bake.
    pub(crate) fn new(meshes: &[BakeMesh]) -> Self {
        let opaque = opaque_meshes(meshes);
        let mut is_inverted_hull: Vec<bool> = meshes.iter().map(is_inside_out).collect();
        let mut bvh = Bvh::new(triangles(meshes, &is_inverted_hull));
        let is_lining = |m: usize| is_inverted_hull[m] && meshes[m].occludes && is_lining(&meshes[m], meshes, &bvh);
        let linings: Vec<usize> = (0..meshes.len()).filter(|m| is_lining(*m)).collect();
        if !linings.is_empty() {
            for m in linings {
                is_inverted_hull[m] = false;
            }
            bvh = Bvh::new(triangles(meshes, &is_inverted_hull));
        }
        Self { bvh, all_opaque: !opaque.contains(&false), opaque, is_inverted_hull }
    }
}

/// Returns the triangles of all meshes that block rays.
fn triangles<'a>(
    meshes: &'a [BakeMesh],
    is_inverted_hull: &'a [bool],
) -> impl Iterator<Item = ([Vec3; 3], TriangleId)> + 'a {
    let occluders = meshes.iter().enumerate().filter(|(m, mesh)| mesh.occludes && !is_inverted_hull[*m]);
    occluders.flat_map(|(m, mesh)| {
        (0..mesh.indices.len() / 3).map(move |t| (mesh.triangle(t), TriangleId { mesh: m as u32, triangle: t as u32 }))
    })
}

/// Returns for each mesh whether it blocks all light of every ray that hits it. The texels of an image that several
/// meshes share are read only once.
fn opaque_meshes(meshes: &[BakeMesh]) -> Vec<bool> {
    let mut known: BTreeMap<*const BakeImage, bool> = BTreeMap::new();
    let mut covers = |image: &Arc<BakeImage>| {
        *known.entry(Arc::as_ptr(image)).or_insert_with(|| image.texels.iter().all(|[.., alpha]| *alpha >= 1.0))
    };
    let is_opaque = |mesh: &BakeMesh| {
        mesh.transparency.is_empty() && mesh.texture.as_ref().is_none_or(|texture| covers(&texture.image))
    };
    meshes.iter().map(is_opaque).collect()
}
