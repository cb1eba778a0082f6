//! A panorama of radiance.

use std::f32::consts::{PI, TAU};

use glam::Vec3;

/// Longest width that is kept; wider panoramas are averaged down.
const MAX_WIDTH: u32 = 1024;

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

impl EnvironmentMap {
    /// The unit direction of a texel's centre.
    pub fn direction(&self, x: u32, y: u32) -> Vec3 {
        let phi = ((x as f32 + 0.5) / self.width as f32 - 0.5) * TAU;
        let theta = (y as f32 + 0.5) / self.height as f32 * PI;
        Vec3::new(theta.sin() * phi.cos(), theta.cos(), theta.sin() * phi.sin())
    }

    /// Radiance in a direction, between texels linear.
    pub fn radiance(&self, d: Vec3) -> Vec3 {
        let u = d.z.atan2(d.x) / TAU + 0.5;
        let v = d.y.clamp(-1.0, 1.0).acos() / PI;
        let x = u * self.width as f32 - 0.5;
        let y = (v * self.height as f32 - 0.5).clamp(0.0, (self.height - 1) as f32);
        let column = |i: f32| (i.rem_euclid(self.width as f32) as u32).min(self.width - 1);
        let (left, right) = (column(x.floor()), column(x.floor() + 1.0));
        let (top, bottom) = (y.floor() as u32, (y.floor() as u32 + 1).min(self.height - 1));
        let at = |x: u32, y: u32| Vec3::from(self.pixels[(y * self.width + x) as usize]);
        let (fx, fy) = (x - x.floor(), y - y.floor());
        at(left, top).lerp(at(right, top), fx).lerp(at(left, bottom).lerp(at(right, bottom), fx), fy)
    }

    /// Turned about +Y, counter-clockwise seen from above, as three.js' `environmentRotation.y` turns it.
    pub fn rotated(&self, radians: f32) -> Self {
        if radians == 0.0 {
            return self.clone();
        }
        let turn = glam::Quat::from_rotation_y(-radians);
        let pixels = (0..self.width * self.height)
            .map(|i| self.radiance(turn * self.direction(i % self.width, i / self.width)).to_array())
            .collect();
        Self { pixels, ..*self }
    }

    /// Multiplied by a colour.
    pub fn scaled(mut self, factor: Vec3) -> Self {
        for p in &mut self.pixels {
            *p = (Vec3::from(*p) * factor).to_array();
        }
        self
    }

    /// Averaged down to at most 1024 columns; texels that are not finite or negative become 0.
    pub(crate) fn bounded(mut self) -> Self {
        for c in self.pixels.iter_mut().flatten() {
            *c = if c.is_finite() { c.max(0.0) } else { 0.0 };
        }
        while self.width > MAX_WIDTH && self.height > 1 {
            self = self.halved();
        }
        self
    }

    fn halved(&self) -> Self {
        let (width, height) = (self.width / 2, self.height / 2);
        let at = |x: u32, y: u32| Vec3::from(self.pixels[(y * self.width + x) as usize]);
        let pixels = (0..width * height)
            .map(|i| {
                let (x, y) = (2 * (i % width), 2 * (i / width));
                ((at(x, y) + at(x + 1, y) + at(x, y + 1) + at(x + 1, y + 1)) * 0.25).to_array()
            })
            .collect();
        Self { width, height, pixels }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directions_and_texels_agree() {
        let mut map = EnvironmentMap { width: 64, height: 32, pixels: vec![[0.0; 3]; 2048] };
        map.pixels[10 * 64 + 20] = [5.0; 3];
        assert!((map.radiance(map.direction(20, 10)).x - 5.0).abs() < 1e-2);
        assert!(map.direction(48, 16).dot(Vec3::Z) > 0.98, "u = 0.75 is +Z");
    }

    #[test]
    fn a_rotation_by_90_degrees_turns_plus_z_to_plus_x() {
        let mut map = EnvironmentMap { width: 64, height: 32, pixels: vec![[0.0; 3]; 2048] };
        for x in 47..49 {
            for y in 15..17 {
                map.pixels[y * 64 + x] = [5.0; 3];
            }
        }
        let turned = map.rotated(std::f32::consts::FRAC_PI_2);
        assert!(turned.radiance(Vec3::X).x > 4.0, "{:?}", turned.radiance(Vec3::X));
    }
}
