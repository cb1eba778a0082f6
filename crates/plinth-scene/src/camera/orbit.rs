//! Effects that orbit the model.

use plinth_spec::settings::{CameraMotion, DEFAULT_ZOOM_END, Effect};

use crate::easing::{coast, smooth};

/// Fraction of the effect `reveal` during which the model grows.
const GROWTH: f64 = 0.6;

/// The orbit position of the camera and the scale of the model in one frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Orbit {
    /// Azimuth from +Z toward +X in degrees.
    pub(crate) azimuth_deg: f64,
    /// Factor by which the distance of the camera is multiplied.
    pub(crate) radius: f64,
    /// Scale of the model.
    pub(crate) grow: f64,
}

/// Returns the orbit position in frame `index` of `count` frames. In a motion that returns to its start, the last frame
/// is one step before the start, so that the video loops. In any other motion, the last frame is at the end of the
/// motion.
pub(crate) fn orbit(motion: &CameraMotion, index: u32, count: u32) -> Orbit {
    let looping = f64::from(index) / f64::from(count.max(1));
    let ending = if count > 1 { f64::from(index) / f64::from(count - 1) } else { 0.0 };
    let eased = |u: f64| if motion.easing { smooth(u) } else { u };
    let start = motion.orbit_start_deg;
    let still = Orbit { azimuth_deg: start, radius: 1.0, grow: 1.0 };
    match motion.effect {
        // A turn by a multiple of 360° has no easing: the video loops, so the steps between all frames must be equal.
        Effect::Turntable if motion.makes_whole_turns() => {
            Orbit { azimuth_deg: start + motion.sweep_deg() * looping, ..still }
        }
        Effect::Turntable => Orbit { azimuth_deg: start + motion.sweep_deg() * eased(ending), ..still },
        Effect::HeroSpin => {
            let u = if motion.easing { coast(ending, motion.ease_out_ratio) } else { ending };
            Orbit { azimuth_deg: start + motion.sweep_deg() * u, ..still }
        }
        Effect::Showcase => {
            let u = swing(index, count);
            let u = if motion.easing { (u * std::f64::consts::FRAC_PI_2).sin() } else { u };
            Orbit { azimuth_deg: start + motion.amplitude_deg * u, ..still }
        }
        Effect::ZoomOrbit => Orbit {
            azimuth_deg: start + motion.sweep_deg() * eased(ending),
            radius: motion.zoom_start + (motion.zoom_end - motion.zoom_start) * eased(ending),
            ..still
        },
        Effect::Reveal => {
            // A video with only one frame shows the end of the motion.
            let ending = if count > 1 { ending } else { 1.0 };
            let u = (ending / GROWTH).min(1.0);
            let size = if motion.easing { 1.0 - (1.0 - u).powi(3) } else { u };
            let travelled = if motion.easing { ending * (2.0 - ending) } else { ending };
            Orbit {
                azimuth_deg: start - motion.sweep_deg() * (1.0 - travelled),
                radius: 1.0,
                grow: motion.scale_from + (1.0 - motion.scale_from) * size,
            }
        }
        Effect::Keyframes => still,
    }
}

/// Returns the value of [`Orbit::radius`] at which the model fills the frame. The camera distance is chosen for this
/// value.
pub(crate) const fn framing_radius(effect: Effect) -> f64 {
    match effect {
        // The camera starts farther away, and the model fills the frame at the default value of `zoomEnd`.
        Effect::ZoomOrbit => DEFAULT_ZOOM_END,
        Effect::Turntable | Effect::HeroSpin | Effect::Showcase | Effect::Reveal | Effect::Keyframes => 1.0,
    }
}

/// Returns a triangle wave: 0, 1, 0, −1, 0 over all frames. Frames on the way back have exactly the same values as the
/// corresponding frames on the way out.
fn swing(index: u32, count: u32) -> f64 {
    let count = i64::from(count.max(1));
    let quarters = 4 * i64::from(index);
    let rise = if quarters <= count {
        quarters
    } else if quarters <= 3 * count {
        2 * count - quarters
    } else {
        quarters - 4 * count
    };
    rise as f64 / count as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use plinth_spec::RenderSettings;
    use plinth_spec::settings::ParseOptions;
    use serde_json::json;

    fn motion(settings: &serde_json::Value) -> CameraMotion {
        RenderSettings::from_json(settings, ParseOptions::default()).unwrap().camera().clone()
    }

    fn azimuths(settings: &serde_json::Value, count: u32) -> Vec<f64> {
        let motion = motion(settings);
        (0..count).map(|i| orbit(&motion, i, count).azimuth_deg).collect()
    }

    fn steps_round(settings: &serde_json::Value) -> Vec<f64> {
        let a = azimuths(settings, 180);
        a.windows(2).map(|w| w[1] - w[0]).chain([360.0 + a[0] - a[179]]).collect()
    }

    #[test]
    fn a_turntable_loops_with_equal_steps() {
        for easing in [true, false] {
            let steps = steps_round(&json!({"easing": easing, "rotateY": 30}));
            assert!(steps.iter().all(|s| (s - 2.0).abs() < 1e-9), "{steps:?}");
        }
    }

    #[test]
    fn settings_that_do_not_change_the_orbit_are_those_with_a_warning() {
        let changes = [
            ("easing", json!(false)),
            ("sweepAngle", json!(100)),
            ("easeOutRatio", json!(0.2)),
            ("amplitude", json!(30)),
            ("zoomStart", json!(2)),
            ("zoomEnd", json!(2)),
            ("scaleFrom", json!(0.5)),
        ];
        let orbits = |settings: &serde_json::Value| -> Vec<Orbit> {
            let motion = motion(settings);
            (0..9).map(|i| orbit(&motion, i, 9)).collect()
        };
        let partial = json!({"effect": "turntable", "sweepAngle": 90});
        for before in Effect::NAMES.iter().map(|name| json!({"effect": name})).chain([partial]) {
            for (key, value) in &changes {
                let mut after = before.clone();
                after[*key] = value.clone();
                let settings = RenderSettings::from_json(&after, ParseOptions::default()).unwrap();
                let warns = settings.unused().iter().any(|warning| warning.starts_with(&format!("{key}:")));
                assert_eq!(warns, orbits(&after) == orbits(&before), "{after}");
            }
        }
    }

    #[test]
    fn a_partial_turntable_reaches_its_end_and_eases() {
        let a = azimuths(&json!({"sweepAngle": 90, "rotateY": 10}), 61);
        assert!((a[0] - 10.0).abs() < 1e-9 && (a[60] - 100.0).abs() < 1e-9);
        assert!(a[1] - a[0] < 0.2 && a[31] - a[30] > 1.5);
    }

    #[test]
    fn a_hero_spin_starts_fast_and_ends_at_rest() {
        let a = azimuths(&json!({"effect": "hero-spin"}), 181);
        assert!((a[180] - 540.0).abs() < 1e-9);
        assert!(a[1] - a[0] > 4.0 && a[180] - a[179] < 0.1);
    }

    #[test]
    fn a_showcase_swings_to_both_sides_and_loops() {
        for easing in [true, false] {
            let a = azimuths(&json!({"effect": "showcase", "amplitude": 40, "easing": easing}), 120);
            assert!((a[30] - 40.0).abs() < 1e-6 && (a[90] + 40.0).abs() < 1e-6 && a[0].abs() < 1e-9);
            assert!(
                (1..60).all(|i| a[i].to_bits() == a[60 - i].to_bits()),
                "frames of the way back differ from those of the way out"
            );
        }
    }

    #[test]
    fn a_zoom_orbit_moves_closer() {
        let m = motion(&json!({"effect": "zoom-orbit", "zoomStart": 1.2, "zoomEnd": 0.5}));
        assert!((orbit(&m, 0, 90).radius - 1.2).abs() < 1e-9);
        let radii: Vec<f64> = (0..90).map(|i| orbit(&m, i, 90).radius).collect();
        assert!((radii[89] - 0.5).abs() < 1e-9 && radii.windows(2).all(|w| w[1] < w[0]));
    }

    #[test]
    fn a_reveal_grows_to_full_size_and_ends_at_the_start_angle() {
        let m = motion(&json!({"effect": "reveal", "rotateY": 20, "scaleFrom": 0.25}));
        let first = orbit(&m, 0, 60);
        let last = orbit(&m, 59, 60);
        assert!((first.grow - 0.25).abs() < 1e-9 && (first.azimuth_deg + 160.0).abs() < 1e-9);
        assert!((last.grow - 1.0).abs() < 1e-9 && (last.azimuth_deg - 20.0).abs() < 1e-9);
        let sizes: Vec<f64> = (0..60).map(|i| orbit(&m, i, 60).grow).collect();
        assert!(sizes.windows(2).all(|w| w[1] >= w[0]));
        assert_eq!(orbit(&m, 0, 1), last, "a single frame does not show the end");
    }
}
