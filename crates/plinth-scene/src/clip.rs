//! Samples animation clips (glTF 2.0, appendix C).

use glam::{Quat, Vec3, Vec4};
use plinth_model::{Animation, Channel, Interpolation, Model, Property, Transform, Trs};

/// The local transforms and the morph weights of all nodes at one time.
pub(crate) struct Sampled {
    pub(crate) locals: Vec<Transform>,
    pub(crate) weights: Vec<Vec<f32>>,
}

/// Samples a clip at a time. Without a clip, returns the rest pose.
pub(crate) fn sample(model: &Model, clip: Option<(&Animation, f32)>) -> Sampled {
    let mut out = Sampled {
        locals: model.nodes.iter().map(|n| n.local).collect(),
        weights: model.nodes.iter().map(|n| n.weights.clone()).collect(),
    };
    if let Some((clip, time)) = clip {
        for channel in clip.channels.iter().filter(|c| !c.times.is_empty()) {
            apply(channel, time, &mut out);
        }
    }
    out
}

/// Wraps a time into the duration of a clip that repeats. With a negative speed, the clip plays backwards from its end.
pub(crate) fn looped(time_secs: f64, speed: f64, duration: f32) -> f32 {
    let duration = f64::from(duration);
    if duration <= 0.0 || !duration.is_finite() {
        return 0.0;
    }
    let run = (time_secs * speed.abs()) % duration;
    (if speed < 0.0 { duration - run } else { run }) as f32
}

fn apply(channel: &Channel, time: f32, out: &mut Sampled) {
    if channel.property == Property::Weights {
        let width = width(channel);
        out.weights[channel.node] = (0..width).map(|i| value_at(channel, time, width, i)).collect();
        return;
    }
    // glTF does not allow an animation of a node that has a matrix, so the channel is ignored.
    let Transform::Trs(trs) = &mut out.locals[channel.node] else { return };
    let v = |i| value_at(channel, time, width(channel), i);
    match channel.property {
        Property::Translation => trs.translation = Vec3::new(v(0), v(1), v(2)),
        Property::Scale => trs.scale = Vec3::new(v(0), v(1), v(2)),
        Property::Rotation => *trs = Trs { rotation: rotation_at(channel, time), ..*trs },
        Property::Weights => {}
    }
}

/// Returns the number of components of one value of a channel. The tangents of cubic splines are not counted.
fn width(channel: &Channel) -> usize {
    let parts = if channel.interpolation == Interpolation::CubicSpline { 3 } else { 1 };
    channel.values.len() / channel.times.len().max(1) / parts
}

/// Returns the indices of the two keys around a time, the position between the keys (0..=1), and the number of seconds
/// between the keys.
fn span(times: &[f32], time: f32) -> (usize, usize, f32, f32) {
    let after = times.partition_point(|t| *t <= time);
    if after == 0 {
        return (0, 0, 0.0, 0.0);
    }
    if after == times.len() {
        return (times.len() - 1, times.len() - 1, 0.0, 0.0);
    }
    let (from, to) = (times[after - 1], times[after]);
    let length = to - from;
    let u = if length > 0.0 { (time - from) / length } else { 0.0 };
    (after - 1, after, u, length)
}

fn value_at(channel: &Channel, time: f32, width: usize, i: usize) -> f32 {
    let (a, b, u, length) = span(&channel.times, time);
    let at = |k: usize| channel.values.get(k).copied().unwrap_or(0.0);
    match channel.interpolation {
        Interpolation::Step => at(a * width + i),
        Interpolation::Linear => {
            let (from, to) = (at(a * width + i), at(b * width + i));
            from + (to - from) * u
        }
        Interpolation::CubicSpline => {
            let value = |k: usize| at((k * 3 + 1) * width + i);
            let out_tangent = at((a * 3 + 2) * width + i) * length;
            let in_tangent = at(b * 3 * width + i) * length;
            let (u2, u3) = (u * u, u * u * u);
            (2.0 * u3 - 3.0 * u2 + 1.0) * value(a)
                + (u3 - 2.0 * u2 + u) * out_tangent
                + (3.0 * u2 - 2.0 * u3) * value(b)
                + (u3 - u2) * in_tangent
        }
    }
}

fn rotation_at(channel: &Channel, time: f32) -> Quat {
    let q = if channel.interpolation == Interpolation::Linear {
        let (a, b, u, _) = span(&channel.times, time);
        let key = |k: usize| {
            let v = channel.values.get(k * 4..k * 4 + 4).unwrap_or(&[0.0, 0.0, 0.0, 1.0]);
            Quat::from_xyzw(v[0], v[1], v[2], v[3]).normalize()
        };
        key(a).slerp(key(b), u)
    } else {
        let v = |i| value_at(channel, time, 4, i);
        Quat::from_vec4(Vec4::new(v(0), v(1), v(2), v(3)))
    };
    let q = q.normalize();
    if q.is_finite() { q } else { Quat::IDENTITY }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn channel(interpolation: Interpolation, values: Vec<f32>) -> Channel {
        Channel { node: 0, property: Property::Translation, interpolation, times: vec![0.0, 2.0], values }
    }

    #[test]
    fn step_holds_its_value_and_linear_interpolates() {
        let values = vec![0.0, 0.0, 0.0, 4.0, 2.0, 0.0];
        let step = channel(Interpolation::Step, values.clone());
        let line = channel(Interpolation::Linear, values);
        assert!(value_at(&step, 1.9, 3, 0).abs() < 1e-6);
        assert!((value_at(&step, 2.0, 3, 0) - 4.0).abs() < 1e-6);
        assert!((value_at(&line, 0.5, 3, 0) - 1.0).abs() < 1e-6);
        assert!((value_at(&line, 9.0, 3, 1) - 2.0).abs() < 1e-6);
    }

    #[test]
    fn a_cubic_spline_uses_its_tangents() {
        // Each key has an in-tangent, a value and an out-tangent. The slope is 1 at the start and 0 at the end.
        let spline = channel(
            Interpolation::CubicSpline,
            vec![0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        );
        let slope = (value_at(&spline, 0.01, 3, 0) - value_at(&spline, 0.0, 3, 0)) / 0.01;
        assert!((slope - 1.0).abs() < 0.02, "{slope}");
        assert!((value_at(&spline, 2.0, 3, 0) - 2.0).abs() < 1e-6);
    }

    #[test]
    fn clips_loop_and_run_backwards() {
        assert!((looped(2.5, 1.0, 2.0) - 0.5).abs() < 1e-6);
        assert!((looped(0.5, -1.0, 2.0) - 1.5).abs() < 1e-6 && (looped(0.0, -1.0, 2.0) - 2.0).abs() < 1e-6);
        assert!((looped(4.5, -2.0, 2.0) - 1.0).abs() < 1e-6);
        assert!(looped(1.0, 1.0, 0.0).abs() < 1e-9 && looped(1.0, 1.0, f32::INFINITY).abs() < 1e-9);
    }
}
