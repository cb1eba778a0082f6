//! Bounds, normalisation and framing.

use glam::{Mat4, Vec3};
use plinth_model::Model;

use crate::pose::pose_model;
use crate::shot::PosedPrimitive;

/// Times of a clip at which its bounds are taken.
const CLIP_SAMPLES: u16 = 24;
/// Directions in which the farthest points are kept for framing.
const SUPPORT_DIRECTIONS: u16 = 400;

/// Poses of the model over a clip (one at rest without), in the space of `world_from_model`.
pub(crate) fn poses(model: &Model, clip: Option<usize>, world_from_model: Mat4, hidden: &[bool]) -> Vec<Vec<PosedPrimitive>> {
    match clip.and_then(|c| model.animations.get(c)) {
        None => vec![pose_model(model, None, world_from_model, hidden)],
        Some(clip) => (0..CLIP_SAMPLES)
            .map(|i| {
                let time = clip.duration * f32::from(i) / f32::from(CLIP_SAMPLES);
                let time = if time.is_finite() { time } else { 0.0 };
                pose_model(model, Some((clip, time)), world_from_model, hidden)
            })
            .collect(),
    }
}

/// The box around all positions that are used; `None` when there are none or they are not finite.
pub(crate) fn bounds<'a>(posed: impl IntoIterator<Item = &'a PosedPrimitive>) -> Option<(Vec3, Vec3)> {
    let (mut min, mut max) = (Vec3::INFINITY, Vec3::NEG_INFINITY);
    for p in posed.into_iter().flat_map(|one| &one.positions) {
        min = min.min(*p);
        max = max.max(*p);
    }
    let extent = max - min;
    (min.is_finite() && max.is_finite() && extent.is_finite()).then_some((min, max))
}

/// Points that hold the convex hull of all others, nearly.
pub(crate) fn support_points<'a>(posed: impl Iterator<Item = &'a PosedPrimitive>) -> Vec<Vec3> {
    let directions: Vec<Vec3> = (0..SUPPORT_DIRECTIONS)
        .map(|i| {
            let y = 1.0 - 2.0 * (f32::from(i) + 0.5) / f32::from(SUPPORT_DIRECTIONS);
            let (sin, cos) = (f32::from(i) * 2.399_963_2).sin_cos();
            let r = (1.0 - y * y).max(0.0).sqrt();
            Vec3::new(r * cos, y, r * sin)
        })
        .collect();
    let points: Vec<Vec3> = posed.flat_map(|one| one.positions.iter().copied()).collect();
    use rayon::prelude::*;
    directions
        .par_iter()
        .filter_map(|d| points.iter().copied().max_by(|a, b| a.dot(*d).total_cmp(&b.dot(*d))))
        .collect()
}

/// Distance from `target` along `toward` (unit, from the target to the camera) at which all points are inside of the
/// frame with a margin. `tan_half` is (horizontal, vertical).
pub(crate) fn distance(points: &[Vec3], target: Vec3, toward: Vec3, tan_half: (f32, f32), margin: f32) -> f32 {
    let right = Vec3::Y.cross(toward).normalize_or(Vec3::X);
    let up = toward.cross(right);
    let (tan_x, tan_y) = (tan_half.0 * (1.0 - margin), tan_half.1 * (1.0 - margin));
    points
        .iter()
        .map(|p| {
            let offset = *p - target;
            let sideways = (offset.dot(right).abs() / tan_x).max(offset.dot(up).abs() / tan_y);
            offset.dot(toward) + sideways
        })
        .fold(0.0, f32::max)
}
