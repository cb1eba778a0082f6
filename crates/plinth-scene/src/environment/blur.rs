//! Blurs panoramas.

use std::f32::consts::{PI, TAU};

use rayon::prelude::*;

use super::EnvironmentMap;

/// Maximum width of a panorama that is blurred. Larger panoramas are scaled down first.
const MAX_WIDTH: u32 = 1024;
/// Minimum width of a panorama that is scaled down before it is blurred.
const MIN_WIDTH: u32 = 128;
/// Number of columns per standard deviation of the blur. With fewer columns, bilinear filtering would show steps.
const COLUMNS: f32 = 1.5;
/// Weights are ignored if they are smaller than this fraction of the largest weight.
const LEAST: f32 = 1e-3;

impl EnvironmentMap {
    /// Blurs the panorama with a filter on the sphere. The kernel is a von Mises–Fisher lobe, which corresponds to a
    /// Gaussian and has the same shape everywhere, including the poles. `deviation` is its standard deviation in
    /// radians.
    pub(crate) fn blurred(&self, deviation: f32) -> Self {
        let columns = ((COLUMNS * TAU / deviation) as u32).clamp(MIN_WIDTH, MAX_WIDTH);
        let small = self.reduced(columns, columns / 2);
        let rows = (0..small.height).into_par_iter().flat_map_iter(|y| small.blurred_row(y, deviation)).collect();
        Self { pixels: rows, ..small }
    }

    fn blurred_row(&self, y: u32, deviation: f32) -> Vec<[f32; 3]> {
        let polar = |row: u32| (row as f32 + 0.5) / self.height as f32 * PI;
        let sine = polar(y).sin();
        let width = self.width as usize;
        let mut sums = vec![[0.0_f32; 3]; width];
        let mut total = 0.0;
        for other in 0..self.height {
            let other_sine = polar(other).sin();
            // The lobe is `exp(angle / deviation²)`, where `angle` is the cosine of the angle between the two texels,
            // minus 1.
            let weight = |step: usize| {
                let turn = step as f32 / self.width as f32 * TAU;
                let angle = sine * other_sine * (turn.cos() - 1.0) + (polar(y) - polar(other)).cos() - 1.0;
                (angle / (deviation * deviation)).exp()
            };
            let weights: Vec<f32> = (0..=width / 2).map(weight).take_while(|w| *w > LEAST).collect();
            let row = &self.pixels[other as usize * width..(other as usize + 1) * width];
            for (step, weight) in weights.iter().map(|w| w * other_sine).enumerate() {
                // The weight applies to the texels `step` columns to the left and to the right. Both are the same texel
                // if `step` is zero or half the width.
                let sides: &[usize] = if step == 0 || 2 * step == width { &[step] } else { &[step, width - step] };
                for shift in sides {
                    total += weight;
                    for (x, sum) in sums.iter_mut().enumerate() {
                        let from = row[(x + shift) % width];
                        *sum = std::array::from_fn(|c| sum[c] + from[c] * weight);
                    }
                }
            }
        }
        sums.into_iter().map(|sum| sum.map(|c| c / total)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::Vec3;

    fn light(map: &EnvironmentMap) -> f64 {
        let row = |i: usize| (i as u32 / map.width) as f32;
        let solid = |i: usize| f64::from(((row(i) + 0.5) / map.height as f32 * PI).sin());
        let sum: f64 = map.pixels.iter().enumerate().map(|(i, p)| f64::from(p[0]) * solid(i)).sum();
        sum / f64::from(map.width * map.height)
    }

    fn spot(at: (u32, u32)) -> EnvironmentMap {
        let mut map = EnvironmentMap { width: 256, height: 128, pixels: vec![[1.0; 3]; 256 * 128] };
        map.pixels[(at.1 * 256 + at.0) as usize] = [5000.0; 3];
        map
    }

    #[test]
    fn a_uniform_panorama_is_unchanged() {
        let even = EnvironmentMap { width: 200, height: 100, pixels: vec![[0.5, 1.0, 2.0]; 20_000] };
        for pixel in even.blurred(0.1).pixels {
            assert!((Vec3::from(pixel) - Vec3::new(0.5, 1.0, 2.0)).length() < 1e-4);
        }
    }

    #[test]
    fn a_spot_spreads_evenly_and_keeps_its_total_light() {
        for at in [(128, 64), (128, 3)] {
            let (sharp, soft) = (spot(at), spot(at).blurred(0.15));
            assert!((light(&soft) / light(&sharp) - 1.0).abs() < 0.03, "{at:?}: {} {}", light(&soft), light(&sharp));
            let middle = sharp.direction(at.0, at.1);
            let around = middle.any_orthonormal_vector();
            let ring: Vec<f32> = (0..12)
                .map(|k| {
                    let side = glam::Quat::from_axis_angle(middle, TAU * k as f32 / 12.0) * around;
                    soft.radiance((middle + side * 0.15).normalize()).x
                })
                .collect();
            let (low, high) = ring.iter().fold((f32::MAX, 0.0_f32), |(l, h), v| (l.min(*v), h.max(*v)));
            assert!(high / low < 1.25, "{at:?}: {ring:?}");
        }
    }

    #[test]
    fn a_blurred_panorama_has_no_steps() {
        let soft = spot((100, 40)).blurred(0.3);
        let peak = soft.pixels.iter().map(|p| p[0]).fold(0.0, f32::max);
        let rows = soft.pixels.chunks_exact(soft.width as usize);
        let step = rows.flat_map(|row| row.windows(2).map(|w| (w[1][0] - w[0][0]).abs())).fold(0.0, f32::max);
        assert!(step < 0.15 * peak, "{step} of {peak}");
    }
}
