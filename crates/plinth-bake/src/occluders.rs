//! The surfaces that block rays.

use glam::Vec3;

use crate::bvh::{Bvh, TriangleId};
use crate::inverted_hull::is_inside_out;
use crate::types::{BakeMesh, BakeTexture};

/// A bounding volume hierarchy over the surfaces that block rays.
pub(crate) struct Occluders {
    pub(crate) bvh: Bvh,
    /// For each mesh, whether it blocks all light of every ray that hits it.
    pub(crate) opaque: Vec<bool>,
    /// Whether each mesh blocks all light of every ray that hits it.
    pub(crate) all_opaque: bool,
}

impl Occluders {
    /// Builds the hierarchy for the meshes of one bake.
    pub(crate) fn new(meshes: &[BakeMesh]) -> Self {
        let opaque: Vec<bool> = meshes.iter().map(is_opaque).collect();
        Self { bvh: Bvh::new(triangles(meshes)), all_opaque: !opaque.contains(&false), opaque }
    }
}

fn triangles(meshes: &[BakeMesh]) -> impl Iterator<Item = ([Vec3; 3], TriangleId)> + '_ {
    meshes.iter().enumerate().filter(|(_, mesh)| mesh.occludes && !is_inside_out(mesh)).flat_map(|(m, mesh)| {
        (0..mesh.indices.len() / 3).map(move |t| (mesh.triangle(t), TriangleId { mesh: m as u32, triangle: t as u32 }))
    })
}

fn is_opaque(mesh: &BakeMesh) -> bool {
    let covers = |texture: &BakeTexture| texture.image.texels.iter().all(|[.., alpha]| *alpha >= 1.0);
    mesh.transparency.is_empty() && mesh.texture.as_ref().is_none_or(covers)
}
