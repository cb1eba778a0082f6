//! Sway: a gentle motion that imitates a hand-held camera. It is added to all other camera motions.

use std::f64::consts::TAU;

use glam::DVec3;

/// Approximate duration of one sway in seconds.
const PERIOD_SECS: f64 = 6.0;
/// Amplitude of the sideways motion in degrees at intensity 1. `UPWARD_DEG` is the amplitude of the vertical motion.
const SIDEWAYS_DEG: f64 = 1.6;
const UPWARD_DEG: f64 = 0.9;
/// Amplitude of the second harmonic of the sideways motion, as a fraction of the first harmonic. Because of the second
/// harmonic, the motion does not look like a pendulum.
const SECOND_HARMONIC: f64 = 0.35;
/// Phase shift of the vertical motion in radians. Without it, the camera would move along a straight line.
const UPWARD_AHEAD: f64 = 1.0;
/// Limit of the elevation in degrees, so that the sway does not move the camera over the pole.
const STEEPEST_DEG: f64 = 88.0;
/// Number of degrees below the limit within which the vertical motion decreases to zero. A path that goes straight above
/// the model would jump if the motion ended at once.
const STEEP_DEG: f64 = 8.0;

/// Returns the position of the camera in frame `index` of `count` frames after adding the sway. `position` is the
/// camera position without sway, and `look_at` is the point that the camera looks at. A video contains a whole number
/// of periods, so that it loops.
pub(crate) fn sway(
    position: DVec3,
    look_at: DVec3,
    intensity: f64,
    length_secs: f64,
    (index, count): (u32, u32),
) -> DVec3 {
    let away = position - look_at;
    let distance = away.length();
    if intensity <= 0.0 || distance <= 0.0 {
        return position;
    }
    let periods = (length_secs / PERIOD_SECS).round().max(1.0);
    let phase = TAU * periods * f64::from(index) / f64::from(count.max(1));
    let sideways = (SIDEWAYS_DEG * intensity).to_radians() * (phase.sin() + SECOND_HARMONIC * (2.0 * phase).sin());
    let upward = (UPWARD_DEG * intensity).to_radians() * (phase + UPWARD_AHEAD).sin();
    let azimuth = away.x.atan2(away.z) + sideways;
    let elevation = (away.y / distance).clamp(-1.0, 1.0).asin();
    // If the elevation already exceeds the limit without sway, it stays unchanged.
    let room = (STEEPEST_DEG - elevation.abs().to_degrees()) / STEEP_DEG;
    let elevation = elevation + upward * room.clamp(0.0, 1.0);
    let flat = elevation.cos();
    look_at + DVec3::new(flat * azimuth.sin(), elevation.sin(), flat * azimuth.cos()) * distance
}

#[cfg(test)]
mod tests {
    use super::*;

    const FROM: DVec3 = DVec3::new(1.0, 0.8, 4.0);

    fn at(index: u32, count: u32) -> DVec3 {
        sway(FROM, DVec3::ZERO, 1.0, 12.0, (index, count))
    }

    #[test]
    fn sway_is_small_keeps_the_distance_and_loops() {
        let places: Vec<DVec3> = (0..360).map(|i| at(i, 360)).collect();
        assert!(places.iter().all(|p| (p.length() - FROM.length()).abs() < 1e-9));
        let farthest = places.iter().map(|p| p.angle_between(FROM).to_degrees()).fold(0.0, f64::max);
        assert!((0.8..3.0).contains(&farthest), "{farthest}");
        let steps: Vec<f64> = (0..360).map(|i| places[i].distance(places[(i + 1) % 360])).collect();
        let longest_inside = steps[..359].iter().copied().fold(0.0, f64::max);
        assert!(steps[359] <= longest_inside + 1e-9, "{} {longest_inside}", steps[359]);
    }

    #[test]
    fn a_path_to_the_pole_does_not_jump_and_sway_does_not_cross_the_pole() {
        for index in 0..36 {
            let elevation = |degrees: f64| {
                let (high, flat) = degrees.to_radians().sin_cos();
                let swayed = sway(DVec3::new(0.0, high, flat), DVec3::ZERO, 2.0, 6.0, (index, 36));
                swayed.y.asin().to_degrees()
            };
            let path: Vec<f64> = (700..=899).map(|tenths| elevation(f64::from(tenths) * 0.1)).collect();
            let steps: Vec<f64> = path.windows(2).map(|pair| pair[1] - pair[0]).collect();
            assert!(steps.iter().all(|step| (0.0..0.2).contains(step)), "{index}: {steps:?}");
        }
    }

    #[test]
    fn at_intensity_0_nothing_moves() {
        assert_eq!(sway(FROM, DVec3::ZERO, 0.0, 6.0, (17, 90)), FROM);
    }
}
