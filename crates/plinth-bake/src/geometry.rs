//! What a bake computes from the meshes alone.

use crate::occluders::Occluders;
use crate::samples::VertexPoints;
use crate::types::{BakeMesh, BakeOptions};
use crate::vertex_smoothing::VertexSmoothing;

/// The surfaces that block rays, and the sample points at the vertices with their neighbours. They do not depend on
/// light, so bakes of the same meshes with different lights can share them.
pub struct MeshGeometry {
    pub(crate) occluders: Occluders,
    pub(crate) vertices: VertexPoints,
    pub(crate) smoothing: VertexSmoothing,
}

impl MeshGeometry {
    /// Computes the geometry of the meshes of a bake with these options.
    pub fn new(meshes: &[BakeMesh], options: &BakeOptions) -> Self {
        let (occluders, (vertices, smoothing)) = rayon::join(
            || Occluders::new(meshes),
            || {
                let vertices = VertexPoints::new(meshes, options.shared_cell);
                let smoothing = VertexSmoothing::new(meshes, &vertices);
                (vertices, smoothing)
            },
        );
        Self { occluders, vertices, smoothing }
    }
}
