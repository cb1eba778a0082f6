//! The cameras of a set.

use glam::{DMat4, DVec3};

/// The cameras of a set, in its world: +Z up, right-handed.
#[derive(Clone, Debug, PartialEq)]
pub struct DatasetCameras {
    /// Columns of every view.
    pub width: u32,
    /// Rows of every view.
    pub height: u32,
    /// Focal lengths in pixels: horizontal, vertical.
    pub focal: (f64, f64),
    /// Where the axis meets the picture, in pixels from the left and upper edges.
    pub principal_point: (f64, f64),
    /// World from camera of each view: the camera looks along its −Z, +Y is up.
    pub world_from_camera: Vec<DMat4>,
    /// No surface of any view is nearer than this, along the axis.
    pub depth_near: f64,
    /// No surface of any view is farther than this.
    pub depth_far: f64,
    /// World from the model file's own space.
    pub world_from_model: DMat4,
    /// The largest coordinate of the model, without its sign.
    pub reach: f64,
}

impl DatasetCameras {
    /// Angle of view in radians across `side` pixels with this focal length.
    pub(crate) fn angle(side: u32, focal: f64) -> f64 {
        2.0 * (f64::from(side) * 0.5 / focal).atan()
    }

    /// The world point at a depth behind the middle of a pixel.
    pub(crate) fn point(&self, view: usize, x: u32, y: u32, depth: f32) -> DVec3 {
        let depth = f64::from(depth);
        let right = (f64::from(x) + 0.5 - self.principal_point.0) / self.focal.0;
        let down = (f64::from(y) + 0.5 - self.principal_point.1) / self.focal.1;
        let in_camera = DVec3::new(right * depth, -down * depth, -depth);
        self.world_from_camera.get(view).map_or(in_camera, |pose| pose.transform_point3(in_camera))
    }
}

/// Rows of a matrix.
pub(crate) fn rows(matrix: &DMat4) -> [[f64; 4]; 4] {
    matrix.transpose().to_cols_array_2d()
}
