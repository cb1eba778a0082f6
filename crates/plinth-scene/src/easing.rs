//! Easing functions. Each maps the elapsed fraction of a motion's duration to the covered fraction of its distance.

use plinth_spec::settings::KeyEasing;

/// Returns the smoothstep function 3u² − 2u³.
pub(crate) fn smooth(u: f64) -> f64 {
    u * u * (3.0 - 2.0 * u)
}

/// Eases the end of a motion: the speed is constant, and then falls to zero during the last fraction `ratio` of the
/// duration.
pub(crate) fn coast(u: f64, ratio: f64) -> f64 {
    let even = 1.0 - ratio;
    let speed = 1.0 / (even + 0.5 * ratio);
    if u <= even || ratio <= 0.0 {
        speed * u
    } else {
        let x = u - even;
        speed * (even + x - x * x / (2.0 * ratio))
    }
}

/// Eases both ends of a motion: the speed rises during the first fraction `rise` of the duration, then is constant, and
/// falls to zero during the last fraction `fall`.
pub(crate) fn trapezoid(u: f64, rise: f64, fall: f64) -> f64 {
    let (mut rise, mut fall) = (rise.max(0.0), fall.max(0.0));
    let sum = rise + fall;
    if sum > 1.0 {
        rise /= sum;
        fall /= sum;
    }
    let speed = 1.0 / (1.0 - 0.5 * (rise + fall));
    if u < rise {
        speed * u * u / (2.0 * rise)
    } else if u > 1.0 - fall {
        let left = 1.0 - u;
        1.0 - speed * left * left / (2.0 * fall)
    } else {
        speed * (u - 0.5 * rise)
    }
}

/// Eases a motion between two keyframes. `rests` contains for each keyframe whether the camera dwells there.
pub(crate) fn key(u: f64, easing: Option<KeyEasing>, rests: (bool, bool)) -> f64 {
    match easing {
        None => match rests {
            (true, true) => smooth(u),
            // The speed is zero at the keyframe where the camera dwells, and constant near the other keyframe.
            (true, false) => u * u * (2.0 - u),
            (false, true) => 1.0 - (1.0 - u) * (1.0 - u) * (1.0 + u),
            (false, false) => u,
        },
        Some(KeyEasing::Linear) => u,
        Some(KeyEasing::In) => u * u,
        Some(KeyEasing::Out) => u * (2.0 - u),
        Some(KeyEasing::InOut) => smooth(u),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_easing_rises_monotonically_from_0_to_1() {
        let curves: [&dyn Fn(f64) -> f64; 5] =
            [&smooth, &|u| coast(u, 0.6), &|u| coast(u, 0.0), &|u| trapezoid(u, 0.3, 0.2), &|u| trapezoid(u, 0.9, 0.9)];
        for curve in curves {
            assert!(curve(0.0).abs() < 1e-12 && (curve(1.0) - 1.0).abs() < 1e-12);
            let values: Vec<f64> = (0..=100).map(|i| curve(f64::from(i) / 100.0)).collect();
            assert!(values.windows(2).all(|w| w[1] >= w[0] - 1e-12));
        }
    }

    #[test]
    fn speed_is_zero_at_keyframes_that_dwell_and_constant_at_others() {
        for rests in [(true, true), (true, false), (false, true), (false, false)] {
            let at = |u: f64| key(u, None, rests);
            let values: Vec<f64> = (0..=1000).map(|i| at(f64::from(i) / 1000.0)).collect();
            assert!(values[0].abs() < 1e-12 && (values[1000] - 1.0).abs() < 1e-12);
            assert!(values.windows(2).all(|w| w[1] >= w[0] - 1e-12));
            let speed = |rests: bool| if rests { 0.0 } else { 1.0 };
            assert!(((values[1] - values[0]) * 1000.0 - speed(rests.0)).abs() < 0.01, "{rests:?}");
            assert!(((values[1000] - values[999]) * 1000.0 - speed(rests.1)).abs() < 0.01, "{rests:?}");
        }
    }

    #[test]
    fn the_speed_of_a_coast_ends_at_zero() {
        assert!(coast(1.0, 0.6) - coast(0.99, 0.6) < 0.001);
        assert!(coast(0.01, 0.6) - coast(0.0, 0.6) > 0.01);
    }
}
