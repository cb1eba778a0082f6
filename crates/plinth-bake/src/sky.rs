//! The environment as an octahedral map of low resolution, from which rays read the radiance. The resolution suffices
//! for light that arrives from a large part of the sky.

use std::f32::consts::PI;

use glam::{Vec3, Vec4};
use plinth_scene::EnvironmentMap;
use rayon::prelude::*;

use crate::octahedron::{MapPoint, density, direction, texel};

/// Number of texels along each side of the map. Each texel spans about three degrees.
const SIDE: usize = 64;
/// Minimum number of columns and rows at which the panorama is sampled. With fewer, some texels of the map could get no
/// sample.
const MIN_COLUMNS: u32 = 8 * SIDE as u32;
const MIN_ROWS: u32 = MIN_COLUMNS / 2;

/// Number of texels along each side of the maps for glossy reflections.
const GLOSSY_SIDE: usize = 32;
/// Number of roughness levels, which are evenly spaced from 0 to 1.
const GLOSSY_LEVELS: usize = 5;

/// The radiance of the environment in each direction.
pub(crate) struct Sky {
    texels: Vec<Vec3>,
    /// For each roughness level, the radiance around each direction, averaged over the GGX lobe.
    glossy: Vec<Vec<Vec3>>,
}

impl Sky {
    pub(crate) fn new(map: &EnvironmentMap) -> Self {
        let texels = averaged_texels(map);
        let glossy_direction = |i: usize| {
            direction(
                (i % GLOSSY_SIDE) as f32 / GLOSSY_SIDE as f32 + 0.5 / GLOSSY_SIDE as f32,
                (i / GLOSSY_SIDE) as f32 / GLOSSY_SIDE as f32 + 0.5 / GLOSSY_SIDE as f32,
            )
        };
        // Direction, radiance and solid angle of each texel. The unit of the solid angles does not matter.
        let sources: Vec<(Vec3, Vec3, f32)> = (0..GLOSSY_SIDE * GLOSSY_SIDE)
            .map(|i| {
                let (x, y) = (i % GLOSSY_SIDE * 2, i / GLOSSY_SIDE * 2);
                let sum: Vec3 =
                    [(0, 0), (1, 0), (0, 1), (1, 1)].map(|(dx, dy)| texels[(y + dy) * SIDE + x + dx]).into_iter().sum();
                let d = glossy_direction(i);
                (d, sum / 4.0, 1.0 / density(d))
            })
            .collect();
        let glossy = (0..GLOSSY_LEVELS)
            .into_par_iter()
            .map(|level| {
                let alpha = (level as f32 / (GLOSSY_LEVELS - 1) as f32).powi(2).max(0.02);
                let a2 = alpha * alpha;
                (0..GLOSSY_SIDE * GLOSSY_SIDE)
                    .map(|i| {
                        let r = glossy_direction(i);
                        let (mut sum, mut weights) = (Vec3::ZERO, 0.0);
                        for (d, light, solid_angle) in &sources {
                            let cos = r.dot(*d);
                            if cos > 0.0 {
                                let h2 = (1.0 + cos) * 0.5;
                                let f = h2 * (a2 - 1.0) + 1.0;
                                let w = cos * a2 / (f * f) * solid_angle;
                                sum += *light * w;
                                weights += w;
                            }
                        }
                        sum / weights
                    })
                    .collect()
            })
            .collect();
        Self { texels, glossy }
    }

    /// Returns the radiance around a unit direction, averaged over the GGX lobe of a perceptual roughness.
    pub(crate) fn reflected(&self, d: Vec3, roughness: f32) -> Vec3 {
        let level = roughness.clamp(0.0, 1.0) * (GLOSSY_LEVELS - 1) as f32;
        let low = (level as usize).min(GLOSSY_LEVELS - 2);
        let index = texel(d, GLOSSY_SIDE);
        self.glossy[low][index].lerp(self.glossy[low + 1][index], level - low as f32)
    }

    /// Returns the radiance in the direction of a point of an octahedral map.
    pub(crate) fn radiance_at(&self, point: &MapPoint) -> Vec3 {
        self.texels[point.texel(SIDE)]
    }

    /// Returns the radiance in a unit direction.
    pub(crate) fn radiance(&self, d: Vec3) -> Vec3 {
        self.radiance_at(&MapPoint::of(d))
    }
}

/// Returns the mean radiance of each texel of the octahedral map, weighted by solid angle. All pixels of the panorama
/// are averaged, because a lamp may be smaller than a texel.
fn averaged_texels(map: &EnvironmentMap) -> Vec<Vec3> {
    let map = map.enlarged(MIN_COLUMNS, MIN_ROWS);
    let directions = map.directions();
    let mut sums = vec![Vec4::ZERO; SIDE * SIDE];
    for (row, y) in map.pixels.chunks(map.width as usize).zip(0..) {
        let sin = ((y as f32 + 0.5) / map.height as f32 * PI).sin();
        for (pixel, d) in row.iter().zip(directions.of_row(y)) {
            sums[texel(d, SIDE)] += Vec3::from(*pixel).extend(1.0) * sin;
        }
    }
    sums.into_iter().map(|sum| sum.truncate() / sum.w.max(1e-9)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a black panorama with a white round lamp around `to_lamp`. `cosine_of_radius` is the cosine of the lamp's angular
    /// radius.
    fn lamp(to_lamp: Vec3, cosine_of_radius: f32) -> EnvironmentMap {
        let mut map = EnvironmentMap { width: 512, height: 256, pixels: vec![[0.0; 3]; 512 * 256] };
        for i in 0..512 * 256 {
            if map.direction(i % 512, i / 512).dot(to_lamp) > cosine_of_radius {
                map.pixels[i as usize] = [1.0; 3];
            }
        }
        map
    }

    #[test]
    fn rough_reflections_of_a_lamp_do_not_depend_on_its_direction() {
        // The mean over the lobe D(h)·cos of a lamp with a radius of 0.2 in the middle of the lobe.
        let expected = |roughness: f32| {
            let a2 = roughness.powi(4);
            let lobe = |angle: f32| {
                let f = (1.0 + angle.cos()) * 0.5 * (a2 - 1.0) + 1.0;
                angle.cos() * a2 / (f * f) * angle.sin()
            };
            let integral = |to: f32| (0..1000).map(|i| lobe((i as f32 + 0.5) / 1000.0 * to)).sum::<f32>() * to;
            integral(0.2) / integral(PI / 2.0)
        };
        for to_lamp in [Vec3::Y, Vec3::X, Vec3::ONE, Vec3::new(1.0, 0.4, 0.2), Vec3::NEG_Y] {
            let sky = Sky::new(&lamp(to_lamp.normalize(), 0.2_f32.cos()));
            for roughness in [0.75, 1.0] {
                let ratio = sky.reflected(to_lamp.normalize(), roughness).x / expected(roughness);
                assert!((ratio - 1.0).abs() < 0.15, "{to_lamp} {roughness}: {ratio}");
            }
        }
    }

    #[test]
    fn panoramas_of_any_shape_fill_the_map() {
        for (width, height) in [(2, 512), (1024, 16), (2, 1), (1, 1)] {
            let pixels = vec![[1.0; 3]; (width * height) as usize];
            let sky = Sky::new(&EnvironmentMap { width, height, pixels });
            assert!(sky.texels.iter().all(|texel| (texel.x - 1.0).abs() < 1e-4), "{width}x{height}");
        }
    }

    #[test]
    fn radiance_matches_the_panorama_in_every_direction() {
        let mut map = EnvironmentMap { width: 256, height: 128, pixels: vec![[0.0; 3]; 256 * 128] };
        for i in 0..256 * 128 {
            let d = map.direction(i % 256, i / 256);
            map.pixels[i as usize] = (d * 0.5 + Vec3::splat(0.5)).to_array();
        }
        let sky = Sky::new(&map);
        for i in 0..500 {
            let (y, angle) = (1.0 - (i as f32 + 0.5) / 250.0, i as f32 * 2.4);
            let radius = (1.0_f32 - y * y).sqrt();
            let d = Vec3::new(radius * angle.cos(), y, radius * angle.sin());
            let error = (sky.radiance(d) - (d * 0.5 + Vec3::splat(0.5))).abs().max_element();
            assert!(error < 0.03, "{d}: {error}");
        }
    }
}
