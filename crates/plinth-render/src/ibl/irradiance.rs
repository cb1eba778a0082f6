//! Computes the irradiance of a surface as a function of its normal, and stores it in an octahedral map.
//!
//! Usually, irradiance is stored as spherical harmonics of degree 2 (Ramamoorthi and Hanrahan 2001, "An Efficient
//! Representation for Irradiance Environment Maps"). If small lamps give most of the light, spherical harmonics have
//! errors of 50 % and more. A map does not have these errors.

use std::f32::consts::{PI, TAU};

use glam::Vec3;
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
/// Number of texels whose irradiance is computed at once.
const TEXELS: usize = 64;

/// A part of the sphere that emits light.
struct Lamp {
    /// Unit vector to the middle of the part.
    direction: Vec3,
    radiance: Vec3,
    /// Solid angle in steradians.
    solid_angle: f32,
}

/// Computes the irradiance map, in units of π times radiance. The centres of the outermost texels are exactly on the
/// folded border of the map, so that filtering is also correct at the border.
pub(crate) fn irradiance_map(map: &EnvironmentMap) -> OctahedralMap {
    OctahedralMap { side: SIDE, mips: vec![texels(&lamps(map), sum_function())] }
}

/// Returns the texels of the irradiance map. `sum_lamps` computes some of them.
fn texels(lamps: &[Lamp], sum_lamps: SumLamps) -> Vec<[f32; 4]> {
    let mut texels = vec![[0.0; 4]; (SIDE * SIDE) as usize];
    texels.par_chunks_mut(TEXELS).enumerate().for_each(|(i, texels)| sum_lamps(lamps, TEXELS * i, texels));
    texels
}

/// Computes at most [`TEXELS`] consecutive texels. The arguments are the lamps, the index of the first texel, and the texels.
type SumLamps = fn(&[Lamp], usize, &mut [[f32; 4]]);

/// Returns the fastest function for this processor. All have the same results.
fn sum_function() -> SumLamps {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        return |lamps, first, texels| {
            #[expect(unsafe_code, reason = "a function with target features; see decision 0087")]
            // SAFETY: The processor has AVX2, which is all that the function requires.
            unsafe {
                sum_lamps_avx2(lamps, first, texels);
            }
        };
    }
    sum_lamps
}

/// Same as [`sum_lamps`], compiled for AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn sum_lamps_avx2(lamps: &[Lamp], first: usize, texels: &mut [[f32; 4]]) {
    sum_lamps(lamps, first, texels);
}

/// Computes at most [`TEXELS`] consecutive texels, of which the first one has the index `first`.
#[inline(always)]
fn sum_lamps(lamps: &[Lamp], first: usize, texels: &mut [[f32; 4]]) {
    let (side, last) = (SIDE as usize, (SIDE - 1) as f32);
    // The normals as a structure of arrays.
    let (mut x, mut y, mut z) = ([0.0; TEXELS], [0.0; TEXELS], [0.0; TEXELS]);
    for k in 0..texels.len().min(TEXELS) {
        let (column, row) = ((first + k) % side, (first + k) / side);
        let normal = direction(column as f32 / last, row as f32 / last);
        (x[k], y[k], z[k]) = (normal.x, normal.y, normal.z);
    }
    let (mut red, mut green, mut blue) = ([0.0; TEXELS], [0.0; TEXELS], [0.0; TEXELS]);
    let mut weights = [0.0; TEXELS];
    for Lamp { direction, radiance, solid_angle } in lamps {
        for k in 0..TEXELS {
            let cosine = x[k] * direction.x + y[k] * direction.y + z[k] * direction.z;
            let weight = cosine.max(0.0) * solid_angle;
            red[k] += weight * radiance.x;
            green[k] += weight * radiance.y;
            blue[k] += weight * radiance.z;
            weights[k] += weight;
        }
    }
    for (k, texel) in texels.iter_mut().enumerate().take(TEXELS) {
        // The cosine weights of the samples do not add up to exactly π, so the sum is corrected.
        *texel = (Vec3::new(red[k], green[k], blue[k]) * (PI / weights[k])).extend(1.0).to_array();
    }
}

/// Divides the sphere into parts.
fn lamps(map: &EnvironmentMap) -> Vec<Lamp> {
    let (columns, rows) = (PANORAMA_WIDTH, PANORAMA_WIDTH / 2);
    let reduced = map.reduced(columns, rows);
    let grid = reduced.enlarged(columns, rows);
    let directions = grid.directions();
    let row = |(pixels, y): (&[[f32; 3]], u32)| {
        let theta = (y as f32 + 0.5) / grid.height as f32 * PI;
        let solid_angle = theta.sin() * (PI / grid.height as f32) * (TAU / grid.width as f32);
        let lamp =
            |(pixel, direction): (&[f32; 3], Vec3)| Lamp { direction, radiance: Vec3::from(*pixel), solid_angle };
        pixels.iter().zip(directions.of_row(y)).map(lamp).collect::<Vec<_>>()
    };
    grid.pixels.chunks(grid.width as usize).zip(0..).flat_map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directed_texels(map: &EnvironmentMap) -> impl Iterator<Item = (Vec3, [f32; 4])> {
        let at = |i: usize| i as f32 / (SIDE - 1) as f32;
        let all = irradiance_map(map).mips.remove(0);
        let side = SIDE as usize;
        all.into_iter().enumerate().map(move |(i, texel)| (direction(at(i % side), at(i / side)), texel))
    }

    #[test]
    fn the_map_is_the_same_with_and_without_avx2() {
        let pixels = (0..64 * 32).map(|i| [i % 7, i % 11, i * 5 % 17].map(|c| c as f32)).collect();
        let lamps = lamps(&EnvironmentMap { width: 64, height: 32, pixels });
        let bits = |sum_lamps: SumLamps| -> Vec<u32> {
            texels(&lamps, sum_lamps).iter().flatten().map(|c| c.to_bits()).collect()
        };
        assert_eq!(bits(sum_lamps), bits(sum_function()));
    }

    #[test]
    fn a_uniform_environment_gives_pi_times_its_radiance() {
        let map = EnvironmentMap { width: 64, height: 32, pixels: vec![[1.0, 2.0, 3.0]; 2048] };
        for (normal, [r, _, b, _]) in directed_texels(&map) {
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
        for (normal, [r, ..]) in directed_texels(&map) {
            let expected = full * normal.dot(lamp).max(0.0);
            assert!((r - expected).abs() < 1e-3 * full, "{normal}: {r} for {expected}");
        }
    }
}
