//! Intrinsics of the cameras of a dataset, in pixels.

/// Intrinsics of a pinhole camera, in pixels. The pixel (0, 0) at the top left covers the square from (0, 0) to (1, 1).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Intrinsics {
    /// Image width.
    pub width: u32,
    /// Image height.
    pub height: u32,
    /// Horizontal focal length.
    pub fl_x: f64,
    /// Vertical focal length.
    pub fl_y: f64,
    /// Horizontal position of the principal point.
    pub cx: f64,
    /// Vertical position of the principal point.
    pub cy: f64,
}

impl Intrinsics {
    /// Returns the intrinsics of a square image whose principal point is in the middle. `angle` is the field of view in
    /// radians.
    pub fn square(side: u32, angle: f64) -> Self {
        let (middle, focal) = (f64::from(side) * 0.5, f64::from(side) * 0.5 / (angle * 0.5).tan());
        Self { width: side, height: side, fl_x: focal, fl_y: focal, cx: middle, cy: middle }
    }

    /// Returns the horizontal field of view in radians, assuming that the principal point is in the middle.
    pub fn angle_x(&self) -> f64 {
        2.0 * (f64::from(self.width) * 0.5 / self.fl_x).atan()
    }

    /// Returns the vertical field of view in radians, assuming that the principal point is in the middle.
    pub fn angle_y(&self) -> f64 {
        2.0 * (f64::from(self.height) * 0.5 / self.fl_y).atan()
    }
}
