//! The environment as an octahedral map of low resolution, from which rays read the radiance. The resolution suffices
//! for light that arrives from a large part of the sky.

use std::f32::consts::{PI, TAU};

use glam::{Vec2, Vec3, Vec4};
use plinth_scene::EnvironmentMap;
use rayon::prelude::*;

use crate::octahedron::{MapPoint, direction, texel};

/// Number of texels along each side of the map. Each texel spans about three degrees.
const SIDE: usize = 64;
/// Minimum number of columns at which the panorama is sampled. With fewer columns, some texels of the map could get no
/// sample.
const MIN_COLUMNS: u32 = 8 * SIDE as u32;

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
        let sources: Vec<(Vec3, Vec3)> = (0..GLOSSY_SIDE * GLOSSY_SIDE)
            .map(|i| {
                let (x, y) = (i % GLOSSY_SIDE * 2, i / GLOSSY_SIDE * 2);
                let sum: Vec3 =
                    [(0, 0), (1, 0), (0, 1), (1, 1)].map(|(dx, dy)| texels[(y + dy) * SIDE + x + dx]).into_iter().sum();
                (glossy_direction(i), sum / 4.0)
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
                        for (d, light) in &sources {
                            let cos = r.dot(*d);
                            if cos > 0.0 {
                                let h2 = (1.0 + cos) * 0.5;
                                let f = h2 * (a2 - 1.0) + 1.0;
                                let w = cos * a2 / (f * f);
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
    let scale = MIN_COLUMNS.div_ceil(map.width);
    let (columns, rows) = (map.width * scale, map.height * scale);
    let azimuths: Vec<Vec2> =
        (0..columns).map(|x| Vec2::from_angle(((x as f32 + 0.5) / columns as f32 - 0.5) * TAU)).collect();
    let mut sums = vec![Vec4::ZERO; SIDE * SIDE];
    for y in 0..rows {
        let (sin, cos) = ((y as f32 + 0.5) / rows as f32 * PI).sin_cos();
        for (x, azimuth) in azimuths.iter().enumerate() {
            let d = Vec3::new(sin * azimuth.x, cos, sin * azimuth.y);
            let radiance =
                if scale == 1 { Vec3::from(map.pixels[y as usize * columns as usize + x]) } else { map.radiance(d) };
            sums[texel(d, SIDE)] += radiance.extend(1.0) * sin;
        }
    }
    sums.into_iter().map(|sum| sum.truncate() / sum.w.max(1e-9)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
