//! Equirectangular panoramas whose texels are radiances.

use std::borrow::Cow;
use std::f32::consts::{PI, TAU};

use glam::{Vec2, Vec3};
use rayon::prelude::*;

use crate::SceneError;

/// Maximum width of a panorama. Larger panoramas are scaled down.
const MAX_WIDTH: u32 = 4096;
/// Maximum height of a panorama. Larger panoramas are scaled down.
const MAX_HEIGHT: u32 = 2048;
/// Maximum width of a panorama that is only used as a light source. More detail would have no visible effect.
const MAX_LIGHT_WIDTH: u32 = 1024;
/// Maximum height of a panorama that is only used as a light source.
const MAX_LIGHT_HEIGHT: u32 = 512;
/// Maximum width of a panorama in a file. Larger files are rejected.
pub(crate) const MAX_FILE_WIDTH: u32 = 8192;
/// Maximum height of a panorama in a file. Larger files are rejected.
pub(crate) const MAX_FILE_HEIGHT: u32 = 4096;
/// A panorama with at least this many columns is rotated by a whole number of columns. The rounding error is at most a
/// quarter of a degree.
const SHARP_WIDTH: u32 = 720;

/// An equirectangular panorama of radiance in linear Rec.709.
///
/// Row 0 is at the zenith. The direction (x, y, z) has the texture coordinates `u = atan2(z, x) / 2π + 0.5`, `v =
/// acos(y) / π`.
#[derive(Clone, Debug, PartialEq)]
pub struct EnvironmentMap {
    /// Number of columns; at least 2.
    pub width: u32,
    /// Number of rows; at least 1.
    pub height: u32,
    /// `width × height` radiances, which are finite and not negative.
    pub pixels: Vec<[f32; 3]>,
}

/// The directions of all texels of a panorama. Cosine and sine of the azimuth are computed only once per column.
pub struct TexelDirections {
    /// Cosine and sine of the azimuth of each column.
    azimuths: Vec<Vec2>,
    height: u32,
}

impl TexelDirections {
    /// Returns the unit directions of the texels of row `y`, from left to right. The directions equal the results of
    /// [`EnvironmentMap::direction`].
    pub fn of_row(&self, y: u32) -> impl Iterator<Item = Vec3> {
        let theta = (y as f32 + 0.5) / self.height as f32 * PI;
        let (sin, cos) = (theta.sin(), theta.cos());
        self.azimuths.iter().map(move |azimuth| Vec3::new(sin * azimuth.x, cos, sin * azimuth.y))
    }
}

impl EnvironmentMap {
    /// Returns the unit direction of the centre of a texel.
    pub fn direction(&self, x: u32, y: u32) -> Vec3 {
        let phi = ((x as f32 + 0.5) / self.width as f32 - 0.5) * TAU;
        let theta = (y as f32 + 0.5) / self.height as f32 * PI;
        Vec3::new(theta.sin() * phi.cos(), theta.cos(), theta.sin() * phi.sin())
    }

    /// Returns the directions of all texels.
    pub fn directions(&self) -> TexelDirections {
        let phi = |x: u32| ((x as f32 + 0.5) / self.width as f32 - 0.5) * TAU;
        TexelDirections {
            azimuths: (0..self.width).map(|x| Vec2::new(phi(x).cos(), phi(x).sin())).collect(),
            height: self.height,
        }
    }

    /// Returns the radiance from the direction `d`, with bilinear interpolation.
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

    /// Rotates the panorama about +Y, counter-clockwise as seen from above, like three.js' `environmentRotation.y`.
    ///
    /// Wide panoramas are rotated by a whole number of columns, so that a small sun is not blurred. Narrow panoramas
    /// are interpolated.
    pub fn rotated(mut self, radians: f32) -> Self {
        // The texture coordinate u decreases when a direction turns from +X toward −Z.
        let shift = f64::from(radians) / std::f64::consts::TAU * f64::from(self.width);
        let shift = if self.width >= SHARP_WIDTH { shift.round() } else { shift };
        let width = self.width as usize;
        let whole = (shift.floor() as i64).rem_euclid(i64::from(self.width)) as usize;
        let part = shift.rem_euclid(1.0) as f32;
        if whole == 0 && part == 0.0 {
            return self;
        }
        self.pixels.par_chunks_exact_mut(width).for_each(|row| {
            row.rotate_left(whole);
            if part > 0.0 {
                let first = row[0];
                for x in 0..width {
                    let next = row.get(x + 1).copied().unwrap_or(first);
                    row[x] = Vec3::from(row[x]).lerp(Vec3::from(next), part).to_array();
                }
            }
        });
        self
    }

    /// Multiplies all radiances by a colour.
    pub fn scaled(mut self, factor: Vec3) -> Self {
        if factor != Vec3::ONE {
            self.pixels.par_iter_mut().for_each(|p| *p = (Vec3::from(*p) * factor).to_array());
        }
        self
    }

    /// Builds a panorama from the texels of a file, scaled down to at most 4096 × 2048. Negative and non-finite values
    /// become 0.
    pub(crate) fn gathered(width: u32, height: u32, texel: impl Fn(u32, u32) -> [f32; 3] + Sync) -> Self {
        let clean = |x, y| texel(x, y).map(|c| if c.is_finite() { c.max(0.0) } else { 0.0 });
        averaged((width, height), (width.min(MAX_WIDTH), height.min(MAX_HEIGHT)), clean)
    }

    /// Scales the panorama down to at most 1024 × 512, which is enough for a light source.
    pub(crate) fn for_light(self) -> Self {
        if self.width <= MAX_LIGHT_WIDTH && self.height <= MAX_LIGHT_HEIGHT {
            return self;
        }
        self.reduced(MAX_LIGHT_WIDTH, MAX_LIGHT_HEIGHT)
    }

    /// Scales the panorama down to at most `columns` columns and `rows` rows. Texels are weighted by their solid angle,
    /// which preserves the total light.
    pub fn reduced(&self, columns: u32, rows: u32) -> Self {
        let size = (self.width, self.height);
        averaged(size, (self.width.min(columns), self.height.min(rows)), |x, y| {
            self.pixels[(y * self.width + x) as usize]
        })
    }

    /// Resamples the panorama with bilinear interpolation, if it has less than `columns` columns or `rows` rows. The result
    /// has at least as many of both.
    pub fn enlarged(&self, columns: u32, rows: u32) -> Cow<'_, Self> {
        let (width, height) = (self.width.max(columns), self.height.max(rows));
        if (width, height) == (self.width, self.height) {
            return Cow::Borrowed(self);
        }
        let mut out = Self { width, height, pixels: Vec::with_capacity(width as usize * height as usize) };
        let directions = out.directions();
        for y in 0..height {
            out.pixels.extend(directions.of_row(y).map(|d| self.radiance(d).to_array()));
        }
        Cow::Owned(out)
    }
}

/// Checks the size of a panorama in a file.
/// Errors: if the panorama has less than 2 × 1 or more than 8192 × 4096 texels.
pub(super) fn check_size(width: u32, height: u32) -> Result<(), SceneError> {
    if width < 2 || height == 0 || width > MAX_FILE_WIDTH || height > MAX_FILE_HEIGHT {
        let problem = format!("a size of {width}×{height} is not between 2×1 and {MAX_FILE_WIDTH}×{MAX_FILE_HEIGHT}");
        return Err(SceneError::Environment { problem });
    }
    Ok(())
}

/// Scales an image down. Texels are weighted by their solid angle, so the total light is preserved.
fn averaged(
    (width, height): (u32, u32),
    (columns, rows): (u32, u32),
    texel: impl Fn(u32, u32) -> [f32; 3] + Sync,
) -> EnvironmentMap {
    let (across, down) = (shares(width, columns), shares(height, rows));
    let row = |y: usize| -> Vec<[f32; 3]> {
        let lines: Vec<(u32, f32)> = down[y]
            .iter()
            .map(|(line, share)| (*line, share * ((*line as f32 + 0.5) / height as f32 * PI).sin()))
            .collect();
        let total: f32 = lines.iter().map(|(_, weight)| weight).sum();
        let mut out = vec![Vec3::ZERO; columns as usize];
        for (line, weight) in lines {
            for (sum, parts) in out.iter_mut().zip(&across) {
                *sum += parts.iter().map(|(x, share)| Vec3::from(texel(*x, line)) * *share).sum::<Vec3>()
                    * (weight / total);
            }
        }
        out.into_iter().map(|p| p.to_array()).collect()
    };
    let pixels = (0..rows as usize).into_par_iter().flat_map_iter(row).collect();
    EnvironmentMap { width: columns, height: rows, pixels }
}

/// Splits `from` texels into `to` intervals of equal length. Returns for each interval the indices of the texels that
/// it overlaps, and their weights.
fn shares(from: u32, to: u32) -> Vec<Vec<(u32, f32)>> {
    let step = f64::from(from) / f64::from(to);
    (0..to)
        .map(|part| {
            let (start, end) = (f64::from(part) * step, f64::from(part + 1) * step);
            let covered = |i: u32| ((f64::from(i) + 1.0).min(end) - f64::from(i).max(start)).max(0.0) / step;
            (start as u32..from.min(end.ceil() as u32))
                .map(|i| (i, covered(i) as f32))
                .filter(|(_, s)| *s > 0.0)
                .collect()
        })
        .collect()
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
    fn the_directions_of_rows_equal_those_of_single_texels() {
        let map = EnvironmentMap { width: 33, height: 17, pixels: Vec::new() };
        let directions = map.directions();
        for y in 0..map.height {
            let row: Vec<Vec3> = directions.of_row(y).collect();
            assert_eq!(row, (0..map.width).map(|x| map.direction(x, y)).collect::<Vec<_>>());
        }
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

    #[test]
    fn rotating_the_map_equals_rotating_directions_and_keeps_the_light() {
        let pixels = (0..64 * 32).map(|i| [(i % 64) as f32 * 0.1, (i / 64) as f32, 1.0]).collect();
        let map = EnvironmentMap { width: 64, height: 32, pixels };
        for degrees in [30.0_f32, -75.0, 180.0, 359.0] {
            let turned = map.clone().rotated(degrees.to_radians());
            let back = glam::Quat::from_rotation_y(-degrees.to_radians());
            let d = turned.direction(40, 10);
            let expected = map.radiance(back * d);
            assert!((Vec3::from(turned.pixels[10 * 64 + 40]) - expected).length() < 0.02, "{degrees}");
            let sum = |m: &EnvironmentMap| m.pixels.iter().map(|p| f64::from(p[0])).sum::<f64>();
            assert!((sum(&turned) / sum(&map) - 1.0).abs() < 1e-5);
        }
    }

    #[test]
    fn rotation_does_not_blur_a_sun() {
        let mut map = EnvironmentMap { width: 1024, height: 2, pixels: vec![[0.0; 3]; 2048] };
        map.pixels[700] = [70_000.0; 3];
        let turned = map.rotated(60_f32.to_radians());
        assert_eq!(turned.pixels.iter().filter(|p| p[0] > 0.0).count(), 1);
    }

    #[test]
    fn scaling_down_a_large_panorama_keeps_its_light() {
        let texel = |x: u32, y: u32| {
            let sun = if x / 3 == 500 && y / 3 == 200 { 9000.0 } else { 0.0 };
            [sun + 0.01 * y as f32, f32::NAN, -1.0]
        };
        let (width, height) = (2500, 1250);
        let map = EnvironmentMap::gathered(width, height, texel).for_light();
        assert_eq!((map.width, map.height), (1024, 512));
        let solid = |y: u32, rows: u32| f64::from(((y as f32 + 0.5) / rows as f32 * PI).sin()) / f64::from(rows);
        let before: f64 = (0..height)
            .flat_map(|y| (0..width).map(move |x| f64::from(texel(x, y)[0]) * solid(y, height) / f64::from(width)))
            .sum();
        let after: f64 =
            (0..512 * 1024_u32).map(|i| f64::from(map.pixels[i as usize][0]) * solid(i / 1024, 512) / 1024.0).sum();
        assert!((after / before - 1.0).abs() < 1e-3, "{before} {after}");
        assert!(map.pixels.iter().all(|p| p[1] == 0.0 && p[2] == 0.0));
    }

    #[test]
    fn small_panoramas_are_unchanged() {
        let map = EnvironmentMap::gathered(8, 4, |x, y| [x as f32, y as f32, 0.5]);
        assert_eq!(map.pixels[2 * 8 + 5].map(f32::to_bits), [5.0_f32, 2.0, 0.5].map(f32::to_bits));
    }
}
