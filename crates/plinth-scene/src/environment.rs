//! Light from all around.

/// An equirectangular panorama of radiance.
///
/// Linear Rec.709, row 0 at the zenith. A direction (x, y, z) is found at `u = atan2(z, x) / 2π + 0.5`,
/// `v = acos(y) / π`.
#[derive(Clone, Debug, PartialEq)]
pub struct EnvironmentMap {
    /// Columns; at least 2.
    pub width: u32,
    /// Rows; at least 1.
    pub height: u32,
    /// `width × height` finite, non-negative radiances.
    pub pixels: Vec<[f32; 3]>,
}
