//! Irradiance as spherical harmonics (Ramamoorthi and Hanrahan 2001, "An Efficient Representation for Irradiance
//! Environment Maps").

use std::f32::consts::{PI, TAU};

use glam::Vec3;
use plinth_scene::EnvironmentMap;
use rayon::prelude::*;

/// Coefficients of irradiance in the polynomial form that the shader evaluates: 1, y, z, x, xy, yz, 3z²−1, xz, x²−y²,
/// with all constants and the cosine lobe's convolution multiplied in. R, G, B and an unused fourth.
pub(crate) fn irradiance_sh(map: &EnvironmentMap) -> [[f32; 4]; 9] {
    let (width, height) = (map.width as usize, map.height as usize);
    let rows: Vec<[Vec3; 9]> = (0..height)
        .into_par_iter()
        .map(|y| {
            let theta = (y as f32 + 0.5) / height as f32 * PI;
            let solid_angle = theta.sin() * (PI / height as f32) * (TAU / width as f32);
            let mut sum = [Vec3::ZERO; 9];
            for x in 0..width {
                let phi = ((x as f32 + 0.5) / width as f32 - 0.5) * TAU;
                let d = Vec3::new(theta.sin() * phi.cos(), theta.cos(), theta.sin() * phi.sin());
                let light = Vec3::from(map.pixels[y * width + x]) * solid_angle;
                for (total, value) in sum.iter_mut().zip(basis(d)) {
                    *total += light * value;
                }
            }
            sum
        })
        .collect();
    let mut total = [Vec3::ZERO; 9];
    for row in rows {
        for (sum, value) in total.iter_mut().zip(row) {
            *sum += value;
        }
    }
    // Basis constants squared (projection and evaluation) times the cosine lobe's coefficients π, 2π/3, π/4.
    let factor = [
        0.282_095_f32.powi(2) * PI,
        0.488_603_f32.powi(2) * 2.0 * PI / 3.0,
        0.488_603_f32.powi(2) * 2.0 * PI / 3.0,
        0.488_603_f32.powi(2) * 2.0 * PI / 3.0,
        1.092_548_f32.powi(2) * PI / 4.0,
        1.092_548_f32.powi(2) * PI / 4.0,
        0.315_392_f32.powi(2) * PI / 4.0,
        1.092_548_f32.powi(2) * PI / 4.0,
        0.546_274_f32.powi(2) * PI / 4.0,
    ];
    std::array::from_fn(|i| (total[i] * factor[i]).extend(0.0).to_array())
}

fn basis(d: Vec3) -> [f32; 9] {
    [1.0, d.y, d.z, d.x, d.x * d.y, d.y * d.z, 3.0 * d.z * d.z - 1.0, d.x * d.z, d.x * d.x - d.y * d.y]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uniform_environment_gives_pi_times_its_radiance() {
        let map = EnvironmentMap { width: 64, height: 32, pixels: vec![[1.0, 2.0, 3.0]; 2048] };
        let sh = irradiance_sh(&map);
        assert!((sh[0][1] - 2.0 * PI).abs() < 0.02, "{sh:?}");
        assert!(sh[1..].iter().flatten().all(|c| c.abs() < 0.02), "{sh:?}");
    }
}
