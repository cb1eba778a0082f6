//! Custom camera paths, given by keyframes, or by a base pose with start and end angles.

use glam::DVec3;
use plinth_spec::quality::FRAMES_PER_SECOND;
use plinth_spec::settings::{BasePose, Keyframe, Path};

use crate::easing::{key, trapezoid};

/// A direction counts as parallel to another one if the sine or the tangent of their angle is at most this. The value is
/// small, because the azimuth of a camera that is only a little beside the vertical shows how the picture is turned.
pub(crate) const PARALLEL: f64 = 1e-5;

/// Pose of the camera at one time of a path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PathPose {
    /// Position of the camera in world space.
    pub(crate) position: DVec3,
    /// Point in world space that the camera looks at.
    pub(crate) look_at: DVec3,
    /// Direction in world space that points up in the picture. Unit vector; need not be perpendicular to the view
    /// direction.
    pub(crate) up: DVec3,
    /// Vertical field of view in degrees.
    pub(crate) fov_deg: f64,
}

/// Returns the pose in frame `index` of `count` frames of a path that takes `length_secs` seconds. `base` is used if
/// the path has no base pose of its own.
pub(crate) fn path(path: &Path, base: BasePose, length_secs: f64, index: u32, count: u32) -> PathPose {
    let linear = if path.loops {
        f64::from(index) / f64::from(count.max(1))
    } else if count > 1 {
        f64::from(index) / f64::from(count - 1)
    } else {
        0.0
    };
    // A video that is shorter than a frame has one frame. Divided by its length, the seconds could become infinite.
    let length_secs = length_secs.max(1.0 / f64::from(FRAMES_PER_SECOND));
    let u = trapezoid(linear, path.ease_in_secs / length_secs, path.ease_out_secs / length_secs);
    match keyframes(path) {
        [] => by_angles(path, path.camera.unwrap_or(base), u),
        [only] => pose_of(only),
        frames => along(path, frames, u),
    }
}

/// Returns the keyframes of a path. In a loop, a last keyframe that repeats the first one is omitted: the path returns to
/// the first keyframe anyway, and the camera would stand still on the way between the two.
fn keyframes(path: &Path) -> &[Keyframe] {
    match path.keyframes.as_slice() {
        [first, middle @ .., last]
            if path.loops && !middle.is_empty() && last.pose == first.pose && last.dwell_secs() <= 0.0 =>
        {
            &path.keyframes[..=middle.len()]
        }
        all => all,
    }
}

fn by_angles(path: &Path, base: BasePose, u: f64) -> PathPose {
    let between = |(from, to): (f64, f64)| from + (to - from) * u;
    let theta = (base.theta_deg + between(path.angle_deg())).to_radians();
    let phi = (base.phi_deg - between(path.tilt_deg())).clamp(0.0, 180.0).to_radians();
    let radius = base.radius / between(path.zoom()).max(1e-3);
    let target = DVec3::from(base.target);
    let fov = between(path.fov_deg(base.fov_deg));
    let direction = DVec3::new(phi.sin() * theta.sin(), phi.cos(), phi.sin() * theta.cos());
    // The derivative of the direction with respect to the elevation. Unlike a fixed up vector, it is also defined
    // straight above and below the model, where a change of the azimuth rotates the picture.
    let up = DVec3::new(-phi.cos() * theta.sin(), phi.sin(), -phi.cos() * theta.cos());
    PathPose { position: target + direction * radius, look_at: target, up, fov_deg: fov }
}

fn pose_of(frame: &Keyframe) -> PathPose {
    let pose = frame.pose;
    PathPose { position: pose.position.into(), look_at: pose.look_at.into(), up: DVec3::Y, fov_deg: pose.fov_deg }
}

/// Returns the pose at a fraction `u` of the duration of the path. The camera stays at each keyframe for its dwell
/// time, then moves to the next keyframe.
fn along(path: &Path, frames: &[Keyframe], u: f64) -> PathPose {
    let legs = if path.loops { frames.len() } else { frames.len() - 1 };
    let total: f64 = frames.iter().map(Keyframe::dwell_secs).sum::<f64>() + path.segment_secs * legs as f64;
    let mut time = u * total;
    for (i, frame) in frames.iter().enumerate() {
        if time <= frame.dwell_secs() || i >= legs {
            return upright(pose_of(frame), frames, i);
        }
        time -= frame.dwell_secs();
        if time < path.segment_secs {
            let rests = (frame.dwell_secs() > 0.0, frames[(i + 1) % frames.len()].dwell_secs() > 0.0);
            let moving = between(path, frames, i, key(time / path.segment_secs, frame.easing(), rests));
            return upright(moving, frames, i);
        }
        time -= path.segment_secs;
    }
    let last = if path.loops { 0 } else { frames.len() - 1 };
    upright(pose_of(&frames[last]), frames, last)
}

/// Returns a pose between keyframe `i` and the next one with the direction that points up in the picture. If the camera
/// looks straight down or up, +Y does not define this direction. The picture then keeps the azimuth of the last keyframe
/// before with another line of sight or, if there is none, that of the first one after, so that it does not turn suddenly
/// where the camera reaches or leaves the vertical.
fn upright(pose: PathPose, frames: &[Keyframe], i: usize) -> PathPose {
    let away = pose.position - pose.look_at;
    if !is_vertical(away) {
        return pose;
    }
    let azimuth = |frame: &Keyframe| {
        let away = DVec3::from(frame.pose.position) - DVec3::from(frame.pose.look_at);
        away.with_y(0.0).try_normalize().filter(|_| !is_vertical(away))
    };
    let known = frames[..=i].iter().rev().chain(&frames[i + 1..]).find_map(azimuth);
    known.map_or(pose, |azimuth| PathPose { up: azimuth * -away.y.signum(), ..pose })
}

fn is_vertical(direction: DVec3) -> bool {
    direction.x.hypot(direction.z) < PARALLEL * direction.y.abs()
}

fn between(path: &Path, frames: &[Keyframe], i: usize, u: f64) -> PathPose {
    let n = frames.len().cast_signed();
    let at = |k: isize| {
        let index = if path.loops { k.rem_euclid(n) } else { k.clamp(0, n - 1) };
        pose_of(&frames[index as usize])
    };
    let i = i.cast_signed();
    let mut p = [at(i - 1), at(i), at(i + 1), at(i + 2)];
    // The camera stops where it dwells, so the curve before that keyframe and the curve after it are separate splines.
    let dwells = |k: isize| frames[k.rem_euclid(n) as usize].dwell_secs() > 0.0;
    if dwells(i) {
        p[0] = p[1];
    }
    if dwells(i + 1) {
        p[3] = p[2];
    }
    let fov = p.map(|p| p.fov_deg);
    PathPose {
        position: catmull_rom(p.map(|p| p.position), u),
        look_at: catmull_rom(p.map(|p| p.look_at), u),
        up: DVec3::Y,
        // The field of view is clamped to the values of both keyframes. Otherwise the spline would overshoot, which
        // looks like zooming back and forth.
        fov_deg: catmull_rom(fov.map(DVec3::splat), u).x.clamp(fov[1].min(fov[2]), fov[1].max(fov[2])),
    }
}

/// Returns a point of the centripetal Catmull-Rom spline between the two middle points (Barry and Goldman 1988; Yuksel
/// et al. 2011).
fn catmull_rom(p: [DVec3; 4], u: f64) -> DVec3 {
    // At the end of a spline, the outer point equals its neighbour. A mirrored point replaces it, so that the spline
    // ends in a straight line.
    let first = if p[0] == p[1] { p[1] * 2.0 - p[2] } else { p[0] };
    let last = if p[3] == p[2] { p[2] * 2.0 - p[1] } else { p[3] };
    let p = [first, p[1], p[2], last];
    let knot = |a: DVec3, b: DVec3| a.distance(b).sqrt();
    let (k1, k2, k3) = (knot(p[0], p[1]), knot(p[1], p[2]), knot(p[2], p[3]));
    if k2 < 1e-9 {
        return p[1];
    }
    let (t1, t2) = (k1, k1 + k2);
    let t3 = t2 + k3;
    let t = t1 + (t2 - t1) * u;
    let mix = |a: DVec3, b: DVec3, from: f64, to: f64| {
        if to - from < 1e-9 { a } else { a * ((to - t) / (to - from)) + b * ((t - from) / (to - from)) }
    };
    let a1 = mix(p[0], p[1], 0.0, t1);
    let a2 = mix(p[1], p[2], t1, t2);
    let a3 = mix(p[2], p[3], t2, t3);
    mix(mix(a1, a2, 0.0, t2), mix(a2, a3, t1, t3), t1, t2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plinth_spec::RenderSettings;
    use plinth_spec::settings::ParseOptions;
    use serde_json::json;

    const BASE: BasePose = BasePose { target: [0.0; 3], radius: 4.0, theta_deg: 0.0, phi_deg: 75.0, fov_deg: 35.0 };

    fn poses(settings: &serde_json::Value, count: u32) -> Vec<PathPose> {
        let settings = RenderSettings::from_json(settings, ParseOptions::default()).unwrap();
        (0..count).map(|i| path(settings.path(), BASE, 6.0, i, count)).collect()
    }

    fn frame(x: f64, dwell: f64) -> serde_json::Value {
        json!({"pose": {"position": [x, 0, 4], "lookAt": [0, 0, 0], "fov": 35}, "dwell": dwell})
    }

    #[test]
    fn a_path_goes_through_its_keyframes() {
        let all = poses(&json!({"keyframes": [frame(0.0, 0.0), frame(1.0, 0.0), frame(3.0, 0.0)]}), 61);
        assert!(all[0].position.x.abs() < 1e-9 && (all[60].position.x - 3.0).abs() < 1e-9);
        assert!((all[30].position.x - 1.0).abs() < 1e-6, "{}", all[30].position.x);
    }

    #[test]
    fn a_dwell_does_not_move() {
        let all = poses(&json!({"keyframes": [frame(0.0, 2.0), frame(1.0, 0.0)]}), 60);
        assert!(all[..29].iter().all(|p| *p == all[0]));
        assert!(all[40] != all[0]);
    }

    /// Returns the poses of a path that moves to the right, dwells, and moves back past its start.
    fn around_a_dwell() -> Vec<PathPose> {
        let frames: Vec<_> = [([0, 0, 4], 0.0), ([2, 0, 4], 1.0), ([-1, 2, 4], 0.0), ([-2, 0, 4], 0.0)]
            .iter()
            .map(|(p, dwell)| json!({"pose": {"position": p, "lookAt": [0, 0, 0], "fov": 35}, "dwell": dwell}))
            .collect();
        poses(&json!({"keyframes": frames}), 281)
    }

    #[test]
    fn a_path_does_not_run_past_a_dwell() {
        let all = around_a_dwell();
        let farthest = all.iter().map(|p| p.position.x).fold(f64::MIN, f64::max);
        assert!((farthest - 2.0).abs() < 1e-9, "{farthest}");
    }

    #[test]
    fn speed_falls_to_zero_at_a_dwell_and_rises_smoothly_after_it() {
        let all = around_a_dwell();
        let steps: Vec<f64> = all.windows(2).map(|w| w[0].position.distance(w[1].position)).collect();
        let held = steps.iter().filter(|s| **s < 1e-12).count();
        assert!((38..=41).contains(&held), "1 of 7 seconds in 280 steps: {held}");
        let change = steps.windows(2).map(|w| (w[1] - w[0]).abs()).fold(0.0, f64::max);
        let fastest = steps.iter().copied().fold(0.0, f64::max);
        assert!(change < 0.12 * fastest, "no sudden change of speed: {change} of {fastest}");
    }

    #[test]
    fn a_field_of_view_stays_between_its_keyframes() {
        let lens = |fov: u8, x: i8| json!({"pose": {"position": [x, 0, 4], "lookAt": [0, 0, 0], "fov": fov}});
        let all = poses(&json!({"keyframes": [lens(20, 0), lens(70, 1), lens(25, 2), lens(60, 3)]}), 200);
        assert!(all.iter().all(|p| (20.0..=70.0).contains(&p.fov_deg)));
    }

    #[test]
    fn a_field_of_view_stays_as_at_the_start_without_another_at_the_end() {
        for (settings, ends) in
            [(json!({"startFov": 60}), (60.0, 60.0)), (json!({"endFov": 20}), (35.0, 20.0)), (json!({}), (35.0, 35.0))]
        {
            let all = poses(&settings, 5);
            assert_eq!((all[0].fov_deg, all[4].fov_deg), ends, "{settings}");
        }
    }

    #[test]
    fn straight_above_the_model_the_azimuth_turns_the_picture() {
        let camera = json!({"target": [0, 0, 0], "radius": 4, "theta": 0, "phi": 0, "fov": 35});
        for (index, up) in poses(&json!({"camera": camera, "endAngle": 180}), 3).iter().map(|pose| pose.up).enumerate()
        {
            let angle = (index as f64 * 90.0).to_radians();
            assert!(up.distance(DVec3::new(-angle.sin(), 0.0, -angle.cos())) < 1e-9, "{index}: {up}");
        }
        // As the camera moves up to the vertical, the up vector changes only by small steps.
        let all = poses(
            &json!({"camera": {"target": [0, 0, 0], "radius": 4, "theta": 90, "phi": 20, "fov": 35}, "endTilt": 20}),
            201,
        );
        let steps = all.windows(2).map(|w| w[0].up.distance(w[1].up)).fold(0.0, f64::max);
        assert!(steps < 0.002, "{steps}");
    }

    #[test]
    fn straight_above_or_below_the_model_keyframes_keep_the_azimuth() {
        let at = |x: f64, y: f64, dwell: f64| json!({"pose": {"position": [x, y, 0], "lookAt": [0, 0, 0], "fov": 35}, "dwell": dwell});
        for y in [4.0_f64, -4.0] {
            let arrives = [at(3.0, y, 0.0), at(0.0, y, 1.0), at(0.0, 2.0 * y, 0.0)];
            let leaves = [at(0.0, 2.0 * y, 0.0), at(0.0, y, 1.0), at(3.0, y, 0.0)];
            for frames in [arrives, leaves] {
                let all = poses(&json!({"keyframes": frames}), 51);
                let vertical: Vec<&PathPose> = all.iter().filter(|pose| pose.position.x.abs() < 1e-9).collect();
                assert!((30..=32).contains(&vertical.len()), "{}", vertical.len());
                let expected = DVec3::X * -y.signum();
                assert!(vertical.iter().all(|pose| pose.up.distance(expected) < 1e-9), "{y}: {:?}", vertical[0]);
            }
        }
    }

    #[test]
    fn a_loop_does_not_stand_still_at_a_last_keyframe_that_repeats_the_first() {
        let corners = [[3.0, 1.0, 0.0], [0.0, 1.0, 3.0], [-3.0, 1.0, 0.0], [0.0, 1.0, -3.0]];
        let frames = |count: usize| -> Vec<_> {
            let around = corners.iter().cycle().take(count);
            around.map(|p| json!({"pose": {"position": p, "lookAt": [0, 0, 0], "fov": 35}})).collect()
        };
        let looped = |count: usize| poses(&json!({"keyframes": frames(count), "loop": true}), 120);
        assert_eq!(looped(5), looped(4));
        let open = poses(&json!({"keyframes": frames(5)}), 121);
        assert!(open[120].position.distance(open[0].position) < 1e-9 && open[60] != open[0]);
    }

    #[test]
    fn angles_move_the_base_pose() {
        let all = poses(&json!({"startAngle": 0, "endAngle": 90, "endZoom": 2, "startZoom": 1}), 31);
        assert!((all[30].position.x - 2.0 * 75_f64.to_radians().sin()).abs() < 1e-9);
        assert!(all[30].position.z.abs() < 1e-9);
    }

    #[test]
    fn a_loop_returns_at_the_speed_of_the_neighbouring_segments() {
        let corners = [[3.0, 1.0, 0.0], [0.0, 1.0, 3.0], [-3.0, 1.0, 0.0], [0.0, 1.0, -3.0]];
        let frames: Vec<_> =
            corners.iter().map(|p| json!({"pose": {"position": p, "lookAt": [0, 0, 0], "fov": 35}})).collect();
        let all = poses(&json!({"keyframes": frames, "loop": true}), 120);
        let step = |a: usize, b: usize| all[a].position.distance(all[b].position);
        assert!(step(119, 0) < 1.2 * step(0, 1) && step(119, 0) > 0.8 * step(0, 1));
        assert!((all[90].position - DVec3::new(0.0, 1.0, -3.0)).length() < 1e-6);
    }

    #[test]
    fn the_easing_of_a_keyframe_applies_to_the_segment_after_it() {
        let middle = |easing: &str| {
            let mut first = frame(0.0, 0.0);
            first["easing"] = json!(easing);
            poses(&json!({"keyframes": [first, frame(1.0, 0.0)]}), 41)[10].position.x
        };
        assert!((middle("linear") - 0.25).abs() < 1e-9, "{}", middle("linear"));
        assert!(middle("ease-in") < 0.1 && middle("ease-out") > 0.4 && middle("ease-in-out") < 0.2);
    }

    #[test]
    fn ease_in_and_out_take_the_given_seconds() {
        let all = poses(&json!({"endAngle": 90, "easeInSeconds": 3, "easeOutSeconds": 1.5}), 181);
        let azimuth = |i: usize| all[i].position.x.atan2(all[i].position.z).to_degrees();
        let step = |i: usize| azimuth(i + 1) - azimuth(i);
        assert!(step(0) < 0.02 && step(179) < 0.02);
        assert!((step(100) - step(130)).abs() < 1e-6 && step(80) < step(100), "constant speed in between");
    }

    #[test]
    fn a_video_that_is_shorter_than_a_frame_shows_the_start_of_its_path() {
        let settings = json!({"endAngle": 90, "easeInSeconds": 60, "easeOutSeconds": 60});
        let settings = RenderSettings::from_json(&settings, ParseOptions::default()).unwrap();
        let start = path(settings.path(), BASE, 6.0, 0, 2);
        assert_eq!(path(settings.path(), BASE, f64::MIN_POSITIVE, 0, 1), start);
    }

    #[test]
    fn field_of_view_and_target_are_interpolated() {
        let wide = json!({"pose": {"position": [0, 0, 4], "lookAt": [1, 0, 0], "fov": 60}});
        let all = poses(&json!({"keyframes": [frame(0.0, 0.0), wide]}), 31);
        assert!((all[15].fov_deg - 47.5).abs() < 1e-6 && (all[15].look_at.x - 0.5).abs() < 1e-6);
        let all = poses(&json!({"startFov": 20, "endFov": 50, "startTilt": 90, "endTilt": -90}), 3);
        assert!((all[1].fov_deg - 35.0).abs() < 1e-9 && all.iter().all(|p| p.position.is_finite()));
    }

    #[test]
    fn a_custom_base_pose_is_used() {
        let camera = json!({"target": [0, 1, 0], "radius": 2, "theta": 90, "phi": 90, "fov": 50});
        let all = poses(&json!({"camera": camera}), 2);
        assert!((all[0].position - DVec3::new(2.0, 1.0, 0.0)).length() < 1e-9, "{:?}", all[0]);
        assert!((all[0].look_at - DVec3::Y).length() < 1e-9 && (all[0].fov_deg - 50.0).abs() < 1e-9);
    }
}
