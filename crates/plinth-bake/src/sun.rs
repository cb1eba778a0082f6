//! The sun of a panorama as a light with a direction: only so can it cast sharp shadows.

use std::f32::consts::PI;

use glam::Vec3;
use plinth_scene::EnvironmentMap;

/// A small bright light taken out of a panorama.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sun {
    /// Unit vector to it.
    pub to_light: Vec3,
    /// Irradiance on a surface facing it.
    pub irradiance: Vec3,
    /// Angular radius in radians.
    pub angular_radius: f32,
}

/// Largest angular radius of a sun, in radians.
const MAX_RADIUS: f32 = 0.05;
/// Smallest share of the panorama's light that is worth a light of its own.
const MIN_SHARE: f32 = 0.1;
/// Texels belong to the sun above this share of its brightest texel.
const THRESHOLD: f32 = 0.05;

/// Takes the sun out of a panorama, filling its place with what surrounds it. No light is lost: what the sun gives
/// beyond its surroundings is its irradiance.
pub fn extract_sun(map: &EnvironmentMap) -> (EnvironmentMap, Option<Sun>) {
    let brightness = |p: &[f32; 3]| p[0] + p[1] + p[2];
    let brightest =
        (0..map.pixels.len()).max_by(|a, b| brightness(&map.pixels[*a]).total_cmp(&brightness(&map.pixels[*b])));
    let Some(peak) = brightest else { return (map.clone(), None) };
    let (px, py) = (peak as u32 % map.width, peak as u32 / map.width);
    let center = map.direction(px, py);
    let floor = brightness(&map.pixels[peak]) * THRESHOLD;
    let solid_angle = |y: u32| {
        let theta = (y as f32 + 0.5) / map.height as f32 * PI;
        theta.sin() * (PI / map.height as f32) * (2.0 * PI / map.width as f32)
    };
    let mut total = 0.0;
    let (mut ring, mut ring_count) = (Vec3::ZERO, 0.0);
    let mut members = Vec::new();
    for i in 0..map.pixels.len() as u32 {
        let (x, y) = (i % map.width, i / map.width);
        let pixel = &map.pixels[i as usize];
        total += brightness(pixel) * solid_angle(y);
        let angle = map.direction(x, y).dot(center).clamp(-1.0, 1.0).acos();
        if brightness(pixel) >= floor {
            members.push((i, angle));
        } else if angle < 3.0 * MAX_RADIUS {
            ring += Vec3::from(*pixel);
            ring_count += 1.0;
        }
    }
    // Bright texels elsewhere mean that this is no sun but one lamp of several, or a large one.
    if members.iter().any(|(_, angle)| *angle > MAX_RADIUS) || ring_count == 0.0 {
        return (map.clone(), None);
    }
    let around = ring / ring_count;
    let (mut irradiance, mut toward, mut area) = (Vec3::ZERO, Vec3::ZERO, 0.0);
    let mut without = map.clone();
    for (i, _) in &members {
        let (x, y) = (i % map.width, i / map.width);
        let beyond = (Vec3::from(map.pixels[*i as usize]) - around).max(Vec3::ZERO) * solid_angle(y);
        irradiance += beyond;
        toward += map.direction(x, y) * beyond.element_sum();
        area += solid_angle(y);
        without.pixels[*i as usize] = Vec3::from(map.pixels[*i as usize]).min(around).to_array();
    }
    if irradiance.element_sum() < MIN_SHARE * total {
        return (map.clone(), None);
    }
    let sun = Sun { to_light: toward.normalize_or(center), irradiance, angular_radius: (area / PI).sqrt().max(0.0047) };
    (without, Some(sun))
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
    fn a_sun_is_taken_out_and_no_light_is_lost() {
        let mut map = sky();
        map.pixels[40 * 256 + 70] = [20_000.0; 3];
        map.pixels[40 * 256 + 71] = [15_000.0; 3];
        let (without, sun) = extract_sun(&map);
        let sun = sun.unwrap();
        assert!(sun.to_light.dot(map.direction(70, 40)) > 0.999);
        let (before, after) = (energy(&map), energy(&without) + sun.irradiance.x);
        assert!((before - after).abs() < 1e-3 * before, "{before} {after}");
    }

    #[test]
    fn soft_boxes_and_even_skies_have_no_sun() {
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
