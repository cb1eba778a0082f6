//! The baked light of an animated model. Light is baked for poses at equal steps of time. Each of these poses is baked
//! when a frame first needs its light. Between two of these poses, the light is interpolated.

use std::collections::BTreeMap;
use std::sync::Arc;

use plinth_bake::{BakedMesh, LightInterpolator};
use plinth_scene::Scene;
use rayon::prelude::*;

use crate::cache::Cache;
use crate::pass::floor::FloorArea;
use crate::prepare::{DrawnIndices, PrepareInputs, Prepared, Sky, SurfaceLight, light_of_pose};

/// Minimum time between two baked poses, in seconds of the clip.
const SHORTEST_STEP: f32 = 0.1;
/// Maximum number of baked poses.
const MAX_POSES: f32 = 16.0;

/// The clip times at which light is baked: the time of the first shot, and other times at equal steps from it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PoseTimes {
    first: f32,
    step: f32,
    /// The earliest and the latest clip time of all frames.
    seen: (f32, f32),
}

impl PoseTimes {
    /// Returns `None` if all frames show the same pose.
    pub(crate) fn for_inputs(inputs: &PrepareInputs<'_>) -> Option<Self> {
        let times = inputs.scene.shots.iter().filter_map(|shot| shot.clip_time);
        inputs.moving.contains(&true).then(|| Self::of(times)).flatten()
    }

    fn of(times: impl Iterator<Item = f32> + Clone) -> Option<Self> {
        let first = times.clone().next()?;
        let seen = times.fold((first, first), |(least, most), t| (least.min(t), most.max(t)));
        let span = seen.1 - seen.0;
        let steps = (span / SHORTEST_STEP).ceil().min(MAX_POSES - 1.0);
        (span > 0.0).then(|| Self { first, step: span / steps.max(1.0), seen })
    }

    fn time(&self, number: i32) -> f32 {
        (self.first + number as f32 * self.step).clamp(self.seen.0, self.seen.1)
    }

    /// Returns the indices of the baked poses before and after a time. Also returns the position of the time between
    /// them, from 0 to 1.
    fn around(&self, time: f32) -> (i32, i32, f32) {
        /// If the position is closer to a pose than this, the other pose would have no visible effect.
        const NOTHING: f32 = 1e-3;
        let place = (time - self.first) / self.step;
        let before = (place + NOTHING).floor();
        let share = place - before;
        if share < NOTHING { (before as i32, before as i32, 0.0) } else { (before as i32, before as i32 + 1, share) }
    }
}

/// The baked light of one pose.
struct PoseKey {
    light: SurfaceLight,
    /// For each primitive, whether a mirroring node reverses the winding of its triangles.
    mirrored: Vec<bool>,
}

/// The baked light of two poses, resampled to the same points.
struct PosePair {
    numbers: (i32, i32),
    meshes: Vec<LightInterpolator>,
}

/// The light at a time between two baked poses.
pub(crate) struct LightBetween<'a> {
    /// Numbers of the two poses.
    pub(crate) poses: (i32, i32),
    /// 0 for the first pose, 1 for the second.
    pub(crate) share: f32,
    from: Arc<PoseKey>,
    to: Arc<PoseKey>,
    meshes: &'a [LightInterpolator],
}

impl LightBetween<'_> {
    /// Returns the light of a posed primitive. `mirrored` tells whether a mirroring node reverses the winding of its triangles
    /// at this time.
    pub(crate) fn of(&self, m: usize, mirrored: bool) -> BakedMesh {
        let Self { from, to, share, .. } = self;
        if from.mirrored[m] == to.mirrored[m] {
            let light = self.meshes[m].at(*share);
            // The lattices follow the winding of the two poses.
            if mirrored == from.mirrored[m] { light } else { light.turned() }
        } else {
            let nearest = if mirrored == from.mirrored[m] { from } else { to };
            nearest.light.baked[m].clone()
        }
    }

    /// Returns whether the triangles of a posed primitive have the same winding in both poses and at this time.
    pub(crate) fn keeps_winding(&self, m: usize, mirrored: bool) -> bool {
        mirrored == self.from.mirrored[m] && mirrored == self.to.mirrored[m]
    }

    /// Returns the light of a posed primitive in the two poses, resampled to the same points.
    pub(crate) fn ends(&self, m: usize) -> [&BakedMesh; 2] {
        self.meshes[m].ends()
    }

    /// Returns the light that the floor receives.
    pub(crate) fn floor_ambient(&self) -> Vec<f32> {
        let floor = self.from.light.floor_ambient.iter().zip(&self.to.light.floor_ambient);
        floor.map(|(from, to)| from + (to - from) * self.share).collect()
    }
}

/// The baked light of a model for all frames.
pub(crate) struct PoseLight {
    times: PoseTimes,
    moving: Vec<bool>,
    floor: Option<FloorArea>,
    smallest: Option<f32>,
    indices: DrawnIndices,
    cache: Option<Cache>,
    sky: Option<Sky>,
    keys: BTreeMap<i32, Arc<PoseKey>>,
    between: Option<PosePair>,
}

impl PoseLight {
    /// Creates the light of an animated model from the light that was baked for the first pose. Returns `None` if all
    /// frames show the same pose.
    pub(crate) fn new(inputs: &PrepareInputs<'_>, prepared: &mut Prepared, cache: Option<&Cache>) -> Option<Self> {
        let PrepareInputs { posed, moving, floor, smallest, .. } = *inputs;
        let times = PoseTimes::for_inputs(inputs)?;
        let light = std::mem::take(&mut prepared.model.light);
        let mirrored = posed.iter().map(|one| one.mirrored).collect();
        let indices = Arc::clone(&prepared.model.indices);
        let keys = BTreeMap::from([(0, Arc::new(PoseKey { light, mirrored }))]);
        let (moving, cache) = (moving.to_vec(), cache.cloned());
        Some(Self { times, moving, floor, smallest, indices, cache, sky: None, keys, between: None })
    }

    /// Returns the light at a clip time. Bakes the light of the nearest poses, unless their light has already been
    /// baked.
    pub(crate) fn at(&mut self, scene: &Scene, time: f32) -> LightBetween<'_> {
        let (before, after, share) = self.times.around(time);
        let (from, to) = (self.key(scene, before), self.key(scene, after));
        if self.between.as_ref().is_none_or(|between| between.numbers != (before, after)) {
            let meshes = self.between(&from, &to);
            self.between = Some(PosePair { numbers: (before, after), meshes });
        }
        let meshes = self.between.as_ref().map_or(&[][..], |between| &between.meshes);
        LightBetween { poses: (before, after), share, from, to, meshes }
    }

    fn key(&mut self, scene: &Scene, number: i32) -> Arc<PoseKey> {
        if let Some(known) = self.keys.get(&number) {
            return Arc::clone(known);
        }
        let posed = scene.pose(Some(self.times.time(number)));
        let inputs = PrepareInputs {
            scene,
            posed: &posed,
            moving: &self.moving,
            floor: self.floor,
            smallest: self.smallest,
            any_camera: false,
        };
        let sky = self.sky.get_or_insert_with(|| Sky::of(scene));
        let light = light_of_pose(&inputs, &self.indices, sky, self.cache.as_ref());
        let key = Arc::new(PoseKey { light, mirrored: posed.iter().map(|one| one.mirrored).collect() });
        self.keys.insert(number, Arc::clone(&key));
        key
    }

    fn between(&self, from: &PoseKey, to: &PoseKey) -> Vec<LightInterpolator> {
        let mesh = |m: usize| {
            let (before, after): (&BakedMesh, &BakedMesh) = (&from.light.baked[m], &to.light.baked[m]);
            let mirrored = from.mirrored[m];
            if to.mirrored[m] != mirrored {
                // The mesh jumps or shrinks to a plane between the poses. Each frame gets the light of the pose on its
                // side of this moment.
                return LightInterpolator::default();
            }
            let mut indices = self.indices[m].clone();
            if mirrored {
                indices.as_chunks_mut::<3>().0.iter_mut().for_each(|t| t.swap(1, 2));
            }
            LightInterpolator::new(before, after, &indices)
        };
        (0..self.indices.len()).into_par_iter().map(mesh).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn poses_are_close_to_each_other_and_not_too_many() {
        let frames = |seconds: f32| (0..=(seconds * 60.0) as u32).map(|i| i as f32 / 60.0);
        assert_eq!(PoseTimes::of(std::iter::repeat_n(0.5, 9)), None);
        assert_eq!(PoseTimes::of(std::iter::empty()), None);
        let short = PoseTimes::of(frames(1.0)).unwrap();
        assert!((short.step - 0.1).abs() < 1e-6 && short.seen == (0.0, 1.0), "{short:?}");
        let long = PoseTimes::of(frames(60.0)).unwrap();
        assert!((long.step - 60.0 / 15.0).abs() < 1e-4, "{long:?}");
    }

    #[test]
    fn a_time_is_between_two_poses_or_at_a_pose() {
        let times = PoseTimes { first: 2.0, step: 0.5, seen: (0.0, 4.0) };
        assert_eq!(times.around(2.0), (0, 0, 0.0));
        assert_eq!(times.around(2.25), (0, 1, 0.5));
        assert_eq!(times.around(0.25), (-4, -3, 0.5));
        assert_eq!(times.around(3.5), (3, 3, 0.0));
        assert_eq!((times.time(-4), times.time(5)), (0.0, 4.0));
    }
}
