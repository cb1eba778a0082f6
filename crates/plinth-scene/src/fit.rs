//! Measures the space that an animated model occupies, and computes the camera distance at which the whole model is
//! visible.

use glam::Vec3;
use plinth_model::{Animation, Model};
use rayon::prelude::*;

use crate::cloud::Cloud;
use crate::pose::{Draw, Placed};
use crate::rigid::{Movement, Movements, RigidParts};

/// Maximum number of measured points of bent meshes, summed over all times, and maximum of [`RigidParts::cost`], summed
/// over all times. It may be exceeded, because a clip is measured at up to eight times regardless of this limit.
const MAX_MOVING_POINTS: usize = 4_000_000;
/// Number of evenly spaced times at which a clip is measured, in addition to its keys.
const EVEN_TIMES: usize = 32;
/// Maximum number of keys at which a clip is measured.
const MAX_KEY_TIMES: usize = 64;
/// Fraction by which the extent is enlarged if not all times are measured. The margin covers the
/// motion between the measured times.
const SLACK: f32 = 0.03;

/// The space that a model occupies over all measured times.
pub(crate) struct Motion {
    /// One cloud of the vertices that do not move, then one cloud of the vertices of bent meshes for each time: first the
    /// times that cover the whole clip, then the times of the frames.
    clouds: Vec<Cloud>,
    /// Number of clouds at the start of the list that do not depend on which part of the clip the frames show.
    of_clip: usize,
    rigid: RigidParts,
    slack: f32,
}

impl Motion {
    /// Measures the model over the whole clip and at the times of the frames. Without a clip, measures the rest pose.
    pub(crate) fn of(placed: &Placed<'_>, clip: Option<&Animation>, frame_times: &[f32]) -> Self {
        let used = used_vertices(placed.model);
        let vertices = |draw: &Draw<'_>| used[draw.mesh][draw.index].as_slice();
        let movements = Movements::of(placed.model, clip);
        let movement = |draw: &Draw<'_>| movements.of_draw(placed, draw);
        let still = placed.positions(None, |draw| movement(draw) == Movement::Still, vertices);
        let rigid = RigidParts::new(placed, &movements, vertices);
        let mut out = Self { clouds: vec![Cloud::new(still)], of_clip: 1, rigid, slack: 0.0 };
        if let Some(clip) = clip {
            let times = Times::of(clip, frame_times);
            let bent = placed.draws().into_iter().filter(|draw| movement(draw) == Movement::Bent);
            let bent_vertices: usize = bent.map(|draw| vertices(&draw).len()).sum();
            let (of_rigid, of_bent) = (times.affordable(out.rigid.cost()), times.affordable(bent_vertices));
            if of_rigid.count().min(of_bent.count()) < times.count() {
                out.slack = SLACK;
            }
            out.rigid.measure(placed, clip, &of_rigid.of_clip, &of_rigid.of_frames);
            if bent_vertices > 0 {
                let is_bent = |draw: &Draw<'_>| movement(draw) == Movement::Bent;
                let cloud = |time| Cloud::new(placed.positions(Some((clip, time)), is_bent, vertices));
                out.of_clip += of_bent.of_clip.len();
                out.clouds.extend(of_bent.of_clip.into_iter().chain(of_bent.of_frames).map(cloud));
            }
        }
        if out.rigid.is_empty() && out.clouds.iter().all(Cloud::is_empty) && !placed.draws().is_empty() {
            // A model without triangles is treated as a box with side length 1.
            out.clouds[0] = Cloud::new(vec![Vec3::splat(-0.5), Vec3::splat(0.5)]);
        }
        out
    }

    /// Returns the bounding box over all measured times or, if `whole_clip_only` is true, only over the times that
    /// cover the whole clip. Returns `None` if the box is empty or not finite.
    pub(crate) fn bounds(&self, whole_clip_only: bool) -> Option<(Vec3, Vec3)> {
        let count = if whole_clip_only { self.of_clip } else { self.clouds.len() };
        let start = (Vec3::INFINITY, Vec3::NEG_INFINITY);
        let boxes = self.clouds[..count].iter().flat_map(Cloud::boxes);
        let of_clouds = boxes.fold(start, |(low, high), (min, max)| (low.min(*min), high.max(*max)));
        let (min, max) = self.rigid.bounds(of_clouds, whole_clip_only);
        let room = if whole_clip_only { Vec3::ZERO } else { (max - min) * self.slack };
        (min.is_finite() && max.is_finite()).then_some((min - room, max + room))
    }

    /// Returns the largest extent in a direction over all measured times.
    pub(crate) fn reach(&self, direction: Vec3) -> f32 {
        let of_clouds = self.clouds.iter().fold(f32::NEG_INFINITY, |farthest, cloud| cloud.reach(direction, farthest));
        self.rigid.reach(direction, of_clouds)
    }

    /// Returns the factor by which the extent must be multiplied to cover the motion between the measured times.
    pub(crate) fn room(&self) -> f32 {
        1.0 + self.slack
    }
}

/// The times at which a moving model is measured.
struct Times {
    /// Times that cover the whole clip.
    of_clip: Vec<f32>,
    of_frames: Vec<f32>,
}

impl Times {
    /// Returns all times at which a model with few moving points is measured.
    fn of(clip: &Animation, frame_times: &[f32]) -> Self {
        Self { of_clip: clip_times(clip), of_frames: distinct(frame_times.to_vec()) }
    }

    fn count(&self) -> usize {
        self.of_clip.len() + self.of_frames.len()
    }

    /// Returns as many times as are affordable if `points` points are measured at each time.
    fn affordable(&self, points: usize) -> Self {
        let affordable = (MAX_MOVING_POINTS / points.max(1)).max(8);
        // A list that needs less than half of the times leaves the rest to the other one.
        let left_for_clip = (affordable / 2).max(affordable.saturating_sub(self.of_frames.len()));
        let of_clip = evenly_spaced(&self.of_clip, left_for_clip);
        let of_frames = evenly_spaced(&self.of_frames, affordable - of_clip.len());
        Self { of_clip, of_frames }
    }
}

/// Returns for each primitive of each mesh the vertices that its indices refer to, in ascending order and without
/// duplicates.
fn used_vertices(model: &Model) -> Vec<Vec<Vec<u32>>> {
    let of_primitive = |primitive: &plinth_model::Primitive| {
        let mut used = vec![false; primitive.positions.len()];
        for i in &primitive.indices {
            if let Some(slot) = used.get_mut(*i as usize) {
                *slot = true;
            }
        }
        (0..primitive.positions.len() as u32).filter(|v| used[*v as usize]).collect()
    };
    model.meshes.iter().map(|mesh| mesh.primitives.par_iter().map(of_primitive).collect()).collect()
}

/// Returns the times at which a clip is measured: the times of its keys, and evenly spaced times.
fn clip_times(clip: &Animation) -> Vec<f32> {
    let keys = clip.channels.iter().flat_map(|c| &c.times).copied().filter(|t| (0.0..=clip.duration).contains(t));
    let mut times = evenly_spaced(&distinct(keys.collect()), MAX_KEY_TIMES);
    let step = |i: usize| clip.duration * (i as f32 / EVEN_TIMES as f32);
    times.extend((0..=EVEN_TIMES).map(step).filter(|t| t.is_finite()));
    distinct(times)
}

fn distinct(mut times: Vec<f32>) -> Vec<f32> {
    times.sort_by(f32::total_cmp);
    times.dedup();
    times
}

/// Returns at most `count` elements of a list, evenly spaced by index. The first and the last element are always
/// included.
fn evenly_spaced(times: &[f32], count: usize) -> Vec<f32> {
    if times.len() <= count {
        return times.to_vec();
    }
    let last = times.len() - 1;
    (0..count).map(|i| times[i * last / (count - 1).max(1)]).collect()
}

/// Returns the smallest distance between the camera and the origin at which the whole model is inside the frame.
/// `reach` returns the extent of the model in a direction. `right` and `toward` are unit vectors: the direction of the
/// picture's right edge, and the direction from the origin to the camera.
/// `tan_half` are the tangents of half the horizontal and half the vertical field of view, reduced by the margin.
pub(crate) fn distance(reach: impl Fn(Vec3) -> f32, (right, toward): (Vec3, Vec3), tan_half: (f32, f32)) -> f32 {
    let up = toward.cross(right);
    // A point is inside the frame if |sideways| / tan ≤ distance − depth, where `depth` is its coordinate along
    // `toward`.
    let (x, y) = (right / tan_half.0, up / tan_half.1);
    [x, -x, y, -y].into_iter().map(|sideways| reach(toward + sideways)).fold(0.0, f32::max)
}

#[cfg(test)]
mod tests {
    use glam::{DMat4, DVec3, Quat};
    use plinth_model::{Channel, Interpolation, Mesh, MorphTarget, Node, Primitive, Property, Transform, Trs};

    use super::*;
    use crate::cloud::tests::points;

    fn mesh(offset: Vec3, morph_targets: Vec<MorphTarget>) -> Mesh {
        let positions = points().iter().map(|p| (*p + offset).to_array()).collect();
        let primitive = Primitive { indices: (0..1000).collect(), positions, morph_targets, ..Primitive::default() };
        Mesh { name: String::new(), primitives: vec![primitive] }
    }

    fn at(translation: [f32; 3], scale: [f32; 3]) -> Transform {
        let rotation = Quat::from_rotation_x(0.4);
        Transform::Trs(Trs { translation: translation.into(), rotation, scale: scale.into() })
    }

    /// Returns a turning node with two instances of a stretched and mirrored mesh and with a morphing mesh, and nodes that
    /// slide. One of them vanishes to a point, one is flat, and one is far from its vertices. The last node is still.
    fn machine() -> Model {
        let pull = MorphTarget { positions: vec![[1.0, -20.0, 0.5]; 1000], ..MorphTarget::default() };
        let node = |parent, mesh, local| Node { parent, mesh, local, ..Node::default() };
        let stretched = node(Some(0), Some(0), at([2.0, 1.0, 0.0], [-1.0, 2.0, 0.5]));
        let instances = vec![at([0.0; 3], [1.0; 3]), at([0.0, 9.0, 0.0], [-1.0, 0.5, 1.0])];
        let channel = |node, property, values| {
            let times = vec![0.0, 0.3, 1.0];
            Channel { node, property, interpolation: Interpolation::Linear, times, values }
        };
        let turn = [0.0, 2.0, 3.0].into_iter().flat_map(|angle| Quat::from_rotation_y(angle).to_array()).collect();
        let slide = |x: f32| vec![x, 0.0, 0.0, x, 12.0, 3.0, x + 5.0, -7.0, 0.0];
        Model {
            nodes: vec![
                node(None, None, at([3.0, 0.0, 0.0], [1.0; 3])),
                Node { instances, ..stretched },
                node(Some(1), Some(0), at([0.0; 3], [1.0; 3])),
                node(None, Some(0), at([0.0; 3], [1.0, 0.0, 1.0])),
                node(Some(0), Some(1), at([0.0, -4.0, 0.0], [1.0; 3])),
                node(None, Some(2), at([0.0; 3], [1.0; 3])),
                node(None, Some(0), at([1.0; 3], [1.0; 3])),
            ],
            meshes: vec![
                mesh(Vec3::ZERO, Vec::new()),
                mesh(Vec3::ZERO, vec![pull]),
                mesh(Vec3::new(1e6, 0.0, 0.0), Vec::new()),
            ],
            animations: vec![Animation {
                name: String::new(),
                duration: 1.0,
                channels: vec![
                    channel(0, Property::Rotation, turn),
                    channel(2, Property::Translation, slide(0.0)),
                    channel(2, Property::Scale, vec![1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 2.0, 2.0, 2.0]),
                    channel(3, Property::Translation, slide(2.0)),
                    channel(4, Property::Weights, vec![0.0, 1.0, 0.2]),
                    channel(5, Property::Translation, slide(-1e6)),
                ],
            }],
            ..Model::default()
        }
    }

    fn box_around(points: &[Vec3]) -> (Vec3, Vec3) {
        let start = (Vec3::INFINITY, Vec3::NEG_INFINITY);
        points.iter().fold(start, |(min, max), p| (min.min(*p), max.max(*p)))
    }

    #[test]
    fn the_extent_of_moving_parts_is_that_of_their_farthest_vertex_at_any_time() {
        let model = machine();
        let clip = &model.animations[0];
        let world_from_model = DMat4::from_scale(DVec3::new(0.05, -0.03, 0.04)) * DMat4::from_rotation_z(0.7);
        let placed = Placed { model: &model, hidden: &[false; 7], world_from_model };
        let frames: Vec<f32> = (0..20_u8).map(|i| f32::from(i) / 17.0).collect();
        let motion = Motion::of(&placed, Some(clip), &frames);
        assert_eq!(motion.rigid.len(), 4);
        // Only the morphing mesh has a cloud for each time.
        assert_eq!(motion.clouds.len(), 1 + Times::of(clip, &frames).count());

        let used = used_vertices(&model);
        let at_times = |times: &[f32]| -> Vec<Vec3> {
            let at = |time: &f32| {
                placed.positions(Some((clip, *time)), |_| true, |draw| used[draw.mesh][draw.index].as_slice())
            };
            times.iter().flat_map(at).collect()
        };
        let of_clip = at_times(&clip_times(clip));
        let all = at_times(&[clip_times(clip), frames].concat());
        let (min, max) = box_around(&all);
        let tolerance = (max - min).max_element() * 1e-5;
        for (whole_clip_only, points) in [(true, &of_clip), (false, &all)] {
            let (expected, measured) = (box_around(points), motion.bounds(whole_clip_only).unwrap());
            assert!(measured.0.abs_diff_eq(expected.0, tolerance), "{measured:?} {expected:?}");
            assert!(measured.1.abs_diff_eq(expected.1, tolerance), "{measured:?} {expected:?}");
        }
        for i in 0..40_u8 {
            let (a, z) = (f32::from(i) * 2.399_963, f32::from(i) / 20.0 - 1.0);
            let d = Vec3::new(a.sin(), a.cos(), z);
            let expected = all.iter().map(|p| p.dot(d)).fold(f32::NEG_INFINITY, f32::max);
            assert!((motion.reach(d) - expected).abs() < tolerance, "{d}: {} {expected}", motion.reach(d));
        }
    }

    #[test]
    fn at_the_fitted_distance_the_outermost_point_is_on_the_edge() {
        let cloud = Cloud::new(points());
        let toward = Vec3::new(0.4, 0.3, 0.8).normalize();
        let (tan_x, tan_y) = (0.5, 0.3);
        let right = Vec3::Y.cross(toward).normalize();
        let d = distance(|v| cloud.reach(v, f32::NEG_INFINITY), (right, toward), (tan_x, tan_y));
        let up = toward.cross(right);
        let edge = points()
            .iter()
            .map(|p| {
                let depth = d - p.dot(toward);
                (p.dot(right).abs() / (depth * tan_x)).max(p.dot(up).abs() / (depth * tan_y))
            })
            .fold(0.0, f32::max);
        assert!((edge - 1.0).abs() < 1e-4, "{edge}");
    }

    #[test]
    fn selecting_evenly_spaced_elements_keeps_the_first_and_the_last() {
        let times: Vec<f32> = (0..100_u8).map(f32::from).collect();
        let few = evenly_spaced(&times, 5);
        assert_eq!(few, [0.0, 24.0, 49.0, 74.0, 99.0]);
        assert_eq!(evenly_spaced(&times, 200).len(), 100);
    }
}
