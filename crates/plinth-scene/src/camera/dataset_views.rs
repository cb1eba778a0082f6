//! Camera positions of a dataset, spread evenly over a sphere or its upper half.

use std::f64::consts::PI;

use glam::DVec3;
use plinth_spec::settings::Coverage;

/// Returns unit vectors from the model to `count` cameras. They form a spherical Fibonacci lattice (Swinbank and Purser
/// 2006): the heights advance in equal steps, and the azimuths advance by the golden angle. No camera is at a pole. If
/// the coverage is a hemisphere, all cameras are above the horizon. `start_deg` is the azimuth of the first camera,
/// from +Z toward +X.
pub(crate) fn dataset_views(count: u32, coverage: Coverage, start_deg: f64) -> Vec<DVec3> {
    let golden_angle = PI * (3.0 - 5.0_f64.sqrt());
    let span = match coverage {
        Coverage::Hemisphere => 1.0,
        Coverage::Sphere => 2.0,
    };
    let n = f64::from(count);
    (0..count)
        .map(|i| {
            let height = 1.0 - span * (f64::from(i) + 0.5) / n;
            let azimuth = start_deg.to_radians() + golden_angle * f64::from(i);
            let across = (1.0 - height * height).sqrt();
            DVec3::new(across * azimuth.sin(), height, across * azimuth.cos())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns for each view the angle between it and its nearest neighbour.
    fn nearest(views: &[DVec3]) -> Vec<f64> {
        let cosine = |i: usize| {
            let others = views.iter().enumerate().filter(|(k, _)| *k != i);
            others.map(|(_, v)| v.dot(views[i])).fold(-1.0, f64::max)
        };
        (0..views.len()).map(|i| cosine(i).acos()).collect()
    }

    #[test]
    fn views_are_spread_evenly_and_none_is_at_a_pole() {
        use Coverage::{Hemisphere, Sphere};
        for (count, coverage) in [
            (1, Hemisphere),
            (2, Sphere),
            (24, Hemisphere),
            (100, Hemisphere),
            (100, Sphere),
            (196, Sphere),
            (400, Hemisphere),
        ] {
            let whole = coverage == Sphere;
            let views = dataset_views(count, coverage, 0.0);
            assert_eq!(views.len(), count as usize);
            assert!(views.iter().all(|v| (v.length() - 1.0).abs() < 1e-12 && v.y.abs() < 0.9999), "{count} {whole}");
            assert!(whole || views.iter().all(|v| v.y > 0.0));
            if count >= 24 {
                let angles = nearest(&views);
                let mean = angles.iter().sum::<f64>() / f64::from(count);
                let least = angles.into_iter().fold(f64::MAX, f64::min);
                assert!(least > 0.9 * mean, "{count} {whole}: {least} of {mean}");
                let middle = views.iter().sum::<DVec3>() / f64::from(count);
                let expected = DVec3::new(0.0, if whole { 0.0 } else { 0.5 }, 0.0);
                assert!(middle.distance(expected) < 0.05, "{count} {whole}: {middle}");
            }
        }
    }

    #[test]
    fn the_start_angle_rotates_all_views_about_the_vertical_axis() {
        let (plain, turned) = (dataset_views(10, Coverage::Sphere, 0.0), dataset_views(10, Coverage::Sphere, 90.0));
        for (a, b) in plain.iter().zip(turned) {
            assert!(DVec3::new(a.z, a.y, -a.x).distance(b) < 1e-12);
        }
    }
}
