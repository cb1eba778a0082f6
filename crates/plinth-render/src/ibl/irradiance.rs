//! Computes the irradiance of a surface as a function of its normal, and stores it in an octahedral map.
//!
//! Usually, irradiance is stored as spherical harmonics of degree 2 (Ramamoorthi and Hanrahan 2001, "An Efficient
//! Representation for Irradiance Environment Maps"). If small lamps give most of the light, spherical harmonics have
//! errors of 50 % and more. A map does not have these errors.

use std::f32::consts::{PI, TAU};

use glam::{Vec3, Vec4};
use plinth_bake::octahedral_direction as direction;
use plinth_scene::EnvironmentMap;
use rayon::prelude::*;

use super::OctahedralMap;

/// Number of texels along each side. The number is odd, so that the centre of a texel is exactly on each coordinate
/// axis. Most walls face along an axis. With an even number, the irradiance of a wall would be interpolated between two
/// texels on the border of the map, both of which face below the horizon.
const SIDE: u32 = 49;
/// The panorama is resampled to this number of columns before its light is summed.
const PANORAMA_WIDTH: u32 = 128;

/// Computes the irradiance map, in units of π times radiance. The centres of the outermost texels are exactly on the
/// folded border of the map, so that filtering is also correct at the border.
pub(crate) fn irradiance_map(map: &EnvironmentMap) -> OctahedralMap {
    let lamps = lamps(map);
    let at = |i: u32| i as f32 / (SIDE - 1) as f32;
    // Each component of these vectors belongs to one of four texels.
    let four_texels = |first: u32| {
        let normals = [0, 1, 2, 3].map(|k| direction(at((first + k) % SIDE), at((first + k) / SIDE)));
        let [x, y, z] = [0, 1, 2].map(|axis| Vec4::from_array(normals.map(|normal| normal[axis])));
        let (mut red, mut green, mut blue, mut weights) = (Vec4::ZERO, Vec4::ZERO, Vec4::ZERO, Vec4::ZERO);
        for (d, radiance, solid_angle) in &lamps {
            let weight = (x * d.x + y * d.y + z * d.z).max(Vec4::ZERO) * *solid_angle;
            red += weight * radiance.x;
            green += weight * radiance.y;
            blue += weight * radiance.z;
            weights += weight;
        }
        // The cosine weights of the samples do not add up to exactly π, so the sum is corrected.
        [0, 1, 2, 3].map(|k| (Vec3::new(red[k], green[k], blue[k]) * (PI / weights[k])).extend(1.0).to_array())
    };
    let count = SIDE * SIDE;
    let mut texels: Vec<[f32; 4]> =
        (0..count.div_ceil(4)).into_par_iter().flat_map_iter(|i| four_texels(4 * i)).collect();
    texels.truncate(count as usize);
    OctahedralMap { side: SIDE, mips: vec![texels] }
}

/// Divides the sphere into parts. Returns the direction, the radiance and the solid angle of each part.
fn lamps(map: &EnvironmentMap) -> Vec<(Vec3, Vec3, f32)> {
    let (columns, rows) = (PANORAMA_WIDTH, PANORAMA_WIDTH / 2);
    let reduced = map.reduced(columns, rows);
    let grid = reduced.enlarged(columns, rows);
    let directions = grid.directions();
    let row = |(pixels, y): (&[[f32; 3]], u32)| {
        let theta = (y as f32 + 0.5) / grid.height as f32 * PI;
        let solid_angle = theta.sin() * (PI / grid.height as f32) * (TAU / grid.width as f32);
        let lamp = |(pixel, d): (&[f32; 3], Vec3)| (d, Vec3::from(*pixel), solid_angle);
        pixels.iter().zip(directions.of_row(y)).map(lamp).collect::<Vec<_>>()
    };
    grid.pixels.chunks(grid.width as usize).zip(0..).flat_map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texels(map: &EnvironmentMap) -> impl Iterator<Item = (Vec3, [f32; 4])> {
        let at = |i: usize| i as f32 / (SIDE - 1) as f32;
        let all = irradiance_map(map).mips.remove(0);
        let side = SIDE as usize;
        all.into_iter().enumerate().map(move |(i, texel)| (direction(at(i % side), at(i / side)), texel))
    }

    #[test]
    fn a_uniform_environment_gives_pi_times_its_radiance() {
        let map = EnvironmentMap { width: 64, height: 32, pixels: vec![[1.0, 2.0, 3.0]; 2048] };
        for (normal, [r, _, b, _]) in texels(&map) {
            assert!((r - PI).abs() < 0.02 && (b - 3.0 * PI).abs() < 0.06, "{normal}: {r} {b}");
        }
    }

    #[test]
    fn a_surface_that_faces_up_receives_all_light_of_the_upper_half() {
        let upper = |y: u32| if y < 32 { [1.0, 2.0, 3.0] } else { [0.0; 3] };
        let pixels = (0..64 * 128).map(|i| upper(i / 128)).collect();
        let above = irradiance_map(&EnvironmentMap { width: 128, height: 64, pixels }).above();
        assert!((above - PI * Vec3::new(1.0, 2.0, 3.0)).length() < 0.05, "{above}");
    }

    #[test]
    fn the_irradiance_of_a_small_lamp_is_proportional_to_the_cosine() {
        let mut map = EnvironmentMap { width: 128, height: 64, pixels: vec![[0.0; 3]; 128 * 64] };
        map.pixels[20 * 128 + 30] = [500.0; 3];
        let lamp = map.direction(30, 20);
        let full = 500.0 * (20.5_f32 / 64.0 * PI).sin() * (PI / 64.0) * (TAU / 128.0);
        for (normal, [r, ..]) in texels(&map) {
            let expected = full * normal.dot(lamp).max(0.0);
            assert!((r - expected).abs() < 1e-3 * full, "{normal}: {r} for {expected}");
        }
    }
}
