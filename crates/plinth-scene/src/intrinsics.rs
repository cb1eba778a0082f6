//! The lens of a dataset's cameras, in pixels.

/// A pinhole camera's picture. Pixel (0, 0) covers the square from (0, 0) to (1, 1) at the top left.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Intrinsics {
    /// Columns.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Horizontal focal length.
    pub fl_x: f64,
    /// Vertical focal length.
    pub fl_y: f64,
    /// Column in which the axis meets the picture.
    pub cx: f64,
    /// Row in which it does.
    pub cy: f64,
}

impl Intrinsics {
    /// A centred square picture with an angle of view in radians.
    pub fn square(side: u32, angle: f64) -> Self {
        let (middle, focal) = (f64::from(side) * 0.5, f64::from(side) * 0.5 / (angle * 0.5).tan());
        Self { width: side, height: side, fl_x: focal, fl_y: focal, cx: middle, cy: middle }
    }

    /// Angle of view in radians from the left edge to the right one, as if the axis were in the middle.
    pub fn angle_x(&self) -> f64 {
        2.0 * (f64::from(self.width) * 0.5 / self.fl_x).atan()
    }

    /// Angle of view in radians from the upper edge to the lower one, as if the axis were in the middle.
    pub fn angle_y(&self) -> f64 {
        2.0 * (f64::from(self.height) * 0.5 / self.fl_y).atan()
    }
}
