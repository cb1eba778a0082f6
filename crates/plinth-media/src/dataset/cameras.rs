//! Cameras of a dataset.

use glam::{DMat4, DVec3};

use super::depth::METRIC_LIMIT;
use super::transforms::split_warning;

/// Cameras of a dataset. The dataset's world space is right-handed with +Z up.
#[derive(Clone, Debug, PartialEq)]
pub struct DatasetCameras {
    /// Width of every view in pixels.
    pub width: u32,
    /// Height of every view in pixels.
    pub height: u32,
    /// Focal lengths in pixels: the horizontal and the vertical focal length.
    pub focal: (f64, f64),
    /// Principal point in pixels: its distance from the left edge and from the top edge.
    pub principal_point: (f64, f64),
    /// Camera-to-world transform of each view. The camera looks along its −Z axis, and its +Y axis points up in the
    /// image.
    pub world_from_camera: Vec<DMat4>,
    /// A depth that is smaller than the depth of every surface in every view.
    pub depth_near: f64,
    /// A depth that is larger than the depth of every surface in every view.
    pub depth_far: f64,
    /// Transform from the model file's coordinates to the dataset's world space.
    pub world_from_model: DMat4,
    /// Largest absolute value of any world coordinate of the model.
    pub reach: f64,
}

impl DatasetCameras {
    /// Returns a warning if the depth of the model exceeds the range of metric depth images.
    pub fn warning(&self) -> Option<String> {
        (self.depth_far > METRIC_LIMIT).then(|| {
            let far = self.depth_far;
            format!("depth_metric is 0 beyond {METRIC_LIMIT} units, and the model is up to {far:.1} units away from a camera")
        })
    }

    /// Returns a warning if there are too few views for the train, validation and test files.
    pub fn split_warning(&self) -> Option<String> {
        split_warning(self.world_from_camera.len())
    }

    /// Returns the field of view in radians, given the length of an image side and the focal length in pixels.
    pub(crate) fn angle(side: u32, focal: f64) -> f64 {
        2.0 * (f64::from(side) * 0.5 / focal).atan()
    }

    /// Returns the world-space point that the centre of a pixel shows if the surface has this depth.
    pub(crate) fn point(&self, view: usize, x: u32, y: u32, depth: f32) -> DVec3 {
        let depth = f64::from(depth);
        let right = (f64::from(x) + 0.5 - self.principal_point.0) / self.focal.0;
        let down = (f64::from(y) + 0.5 - self.principal_point.1) / self.focal.1;
        let in_camera = DVec3::new(right * depth, -down * depth, -depth);
        self.world_from_camera.get(view).map_or(in_camera, |pose| pose.transform_point3(in_camera))
    }
}

pub(crate) fn rows(matrix: &DMat4) -> [[f64; 4]; 4] {
    matrix.transpose().to_cols_array_2d()
}
