//! Camera intrinsics of a dataset, in pixels.

/// Intrinsics of a pinhole camera. Pixel (0, 0) covers the square from (0, 0) to (1, 1) at the top left.
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
    /// Intrinsics of a square image with a centred principal point; `angle` is the angle of view in radians.
    pub fn square(side: u32, angle: f64) -> Self {
        let (middle, focal) = (f64::from(side) * 0.5, f64::from(side) * 0.5 / (angle * 0.5).tan());
        Self { width: side, height: side, fl_x: focal, fl_y: focal, cx: middle, cy: middle }
    }

    /// Horizontal angle of view in radians, as if the principal point were in the middle.
    pub fn angle_x(&self) -> f64 {
        2.0 * (f64::from(self.width) * 0.5 / self.fl_x).atan()
    }

    /// Vertical angle of view in radians, as if the principal point were in the middle.
    pub fn angle_y(&self) -> f64 {
        2.0 * (f64::from(self.height) * 0.5 / self.fl_y).atan()
    }
}
