//! Extracts the sun from a panorama as a directional light, because only directional lights cast sharp shadows.

use std::f32::consts::PI;

use glam::Vec3;
use plinth_scene::EnvironmentMap;

/// A small bright light that has been removed from a panorama.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sun {
    /// Unit vector towards the sun.
    pub to_light: Vec3,
    /// Irradiance of a surface that faces the sun.
    pub irradiance: Vec3,
    /// Angular radius of the sun in radians.
    pub angular_radius: f32,
}

/// Maximum angular radius of a sun, in radians.
const MAX_ANGULAR_RADIUS: f32 = 0.05;
/// Angular radius of the surroundings of a sun, in radians.
const SURROUNDINGS_RADIUS: f32 = 3.0 * MAX_ANGULAR_RADIUS;
/// A little less than the cosine of [`SURROUNDINGS_RADIUS`]. Texels with a smaller cosine need no inverse cosine.
const MIN_SURROUNDINGS_COSINE: f32 = 0.98;
/// Minimum fraction of the panorama's total light that a sun must have.
const MIN_SHARE: f32 = 0.1;
/// Minimum brightness of the texels that belong to the sun, relative to the brightest texel.
const BRIGHTNESS_THRESHOLD: f32 = 0.05;

/// Returns the panorama without its sun, and the sun as a directional light. The texels of the sun are replaced by the
/// mean of the surrounding texels, and the light that these texels lose becomes the irradiance of the directional
/// light. Together, panorama and sun give as much light as before. If the panorama has no sun, returns a copy of the
/// panorama and `None`.
pub fn extract_sun(map: &EnvironmentMap) -> (EnvironmentMap, Option<Sun>) {
    let mut without_sun = map.clone();
    let Some(found) = SunTexels::find(map) else { return (without_sun, None) };
    for i in found.texels {
        let pixel = &mut without_sun.pixels[i as usize];
        *pixel = Vec3::from(*pixel).min(found.surrounding_mean).to_array();
    }
    (without_sun, Some(found.sun))
}

/// Returns the sun of a panorama.
pub fn find_sun(map: &EnvironmentMap) -> Option<Sun> {
    SunTexels::find(map).map(|found| found.sun)
}

/// The sun of a panorama, and where it is.
struct SunTexels {
    sun: Sun,
    /// Indices of the texels that belong to the sun.
    texels: Vec<u32>,
    /// Mean radiance of the texels around the sun.
    surrounding_mean: Vec3,
}

impl SunTexels {
    fn find(map: &EnvironmentMap) -> Option<Self> {
        let brightness = |p: &[f32; 3]| p[0] + p[1] + p[2];
        let peak =
            (0..map.pixels.len()).max_by(|a, b| brightness(&map.pixels[*a]).total_cmp(&brightness(&map.pixels[*b])))?;
        let center = map.direction(peak as u32 % map.width, peak as u32 / map.width);
        let min_brightness = brightness(&map.pixels[peak]) * BRIGHTNESS_THRESHOLD;
        let solid_angle = |y: u32| {
            let theta = (y as f32 + 0.5) / map.height as f32 * PI;
            theta.sin() * (PI / map.height as f32) * (2.0 * PI / map.width as f32)
        };
        let mut total = 0.0;
        let (mut ring, mut ring_count) = (Vec3::ZERO, 0.0);
        let mut texels = Vec::new();
        let directions = map.directions();
        for (row, y) in map.pixels.chunks(map.width as usize).zip(0..) {
            let texel_area = solid_angle(y);
            for ((pixel, direction), x) in row.iter().zip(directions.of_row(y)).zip(0..) {
                total += brightness(pixel) * texel_area;
                let cosine = direction.dot(center).clamp(-1.0, 1.0);
                if brightness(pixel) >= min_brightness {
                    // If there are other bright texels farther away, the brightest texel belongs to one of several
                    // lamps or to a large lamp, not to a sun.
                    if cosine.acos() > MAX_ANGULAR_RADIUS {
                        return None;
                    }
                    texels.push(y * map.width + x);
                } else if cosine > MIN_SURROUNDINGS_COSINE && cosine.acos() < SURROUNDINGS_RADIUS {
                    ring += Vec3::from(*pixel);
                    ring_count += 1.0;
                }
            }
        }
        if ring_count == 0.0 {
            return None;
        }
        let surrounding_mean = ring / ring_count;
        let (mut irradiance, mut direction_sum, mut area) = (Vec3::ZERO, Vec3::ZERO, 0.0);
        for i in &texels {
            let (x, y) = (i % map.width, i / map.width);
            let excess = (Vec3::from(map.pixels[*i as usize]) - surrounding_mean).max(Vec3::ZERO) * solid_angle(y);
            irradiance += excess;
            direction_sum += map.direction(x, y) * excess.element_sum();
            area += solid_angle(y);
        }
        let sun = Sun {
            to_light: direction_sum.normalize_or(center),
            irradiance,
            angular_radius: (area / PI).sqrt().max(0.0047),
        };
        (irradiance.element_sum() >= MIN_SHARE * total).then_some(Self { sun, texels, surrounding_mean })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn energy(map: &EnvironmentMap) -> f32 {
        (0..map.pixels.len() as u32)
            .map(|i| {
                let theta = ((i / map.width) as f32 + 0.5) / map.height as f32 * PI;
                map.pixels[i as usize][0] * theta.sin() * (PI / map.height as f32) * (2.0 * PI / map.width as f32)
            })
            .sum()
    }

    fn sky() -> EnvironmentMap {
        EnvironmentMap { width: 256, height: 128, pixels: vec![[0.5; 3]; 256 * 128] }
    }

    #[test]
    fn extracting_a_sun_preserves_the_total_light() {
        let mut map = sky();
        map.pixels[40 * 256 + 70] = [20_000.0; 3];
        map.pixels[40 * 256 + 71] = [15_000.0; 3];
        let (without_sun, sun) = extract_sun(&map);
        let sun = sun.unwrap();
        assert!(sun.to_light.dot(map.direction(70, 40)) > 0.999);
        let (before, after) = (energy(&map), energy(&without_sun) + sun.irradiance.x);
        assert!((before - after).abs() < 1e-3 * before, "{before} {after}");
    }

    #[test]
    fn no_texel_of_the_surroundings_is_left_out() {
        assert!(MIN_SURROUNDINGS_COSINE < SURROUNDINGS_RADIUS.cos());
    }

    #[test]
    fn soft_boxes_and_uniform_skies_have_no_sun() {
        assert!(extract_sun(&sky()).1.is_none());
        let mut map = sky();
        for y in 30..50 {
            for x in 60..90 {
                map.pixels[y * 256 + x] = [9.0; 3];
            }
        }
        assert!(extract_sun(&map).1.is_none());
    }
}
