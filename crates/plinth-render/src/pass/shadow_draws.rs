//! Draws the shadows of the model: the shadow maps, and the accumulated shadow on the floor.

use plinth_scene::Shot;

use super::accumulated_shadow::AccumulatedShadow;
use super::depth_draws::{Corners, DepthDraws};
use super::depth_target;
use super::shadow_map::ShadowMap;
use crate::gpu::Gpu;
use crate::pipelines::{PerBatch, ShadowPipelines};
use crate::recorder::Recorder;
use crate::upload::kept_shadows::{KeptShadows, ShadowKey};
use crate::upload::material::MaterialOnGpu;
use crate::upload::pool::Model;

/// The model that casts the shadows of a shot.
#[derive(Clone, Copy)]
pub(crate) struct ShadowDraws<'a> {
    pub(crate) gpu: &'a Gpu,
    pub(crate) shot: &'a Shot,
    pub(crate) pipelines: &'a ShadowPipelines,
    pub(crate) model: (Model<'a>, &'a [MaterialOnGpu]),
    pub(crate) kept: &'a KeptShadows,
}

impl ShadowDraws<'_> {
    /// Draws the shadow maps of the key light and of the sun, if they are used. `frame` is a bind group without these
    /// maps, because a shadow map cannot be bound while the map itself is drawn.
    pub(crate) fn maps(
        self,
        recorder: &mut Recorder<'_>,
        frame: &wgpu::BindGroup,
        [key_map, sun_map]: [&ShadowMap; 2],
    ) {
        for (map, pipelines) in [(key_map, &self.pipelines.key), (sun_map, &self.pipelines.sun)] {
            if map.is_used {
                let key = ShadowKey::new(self.model, self.shot, vec![map.clip_from_world], None);
                let draw = |recorder: &mut Recorder<'_>| self.map(recorder, frame, &map.view, pipelines);
                self.kept.copy_or_draw(self.gpu, recorder, (key, map.view.texture()), draw);
                if let Some(packed) = &map.packed {
                    packed.fill(recorder, frame);
                }
            }
        }
    }

    /// Draws the soft shadow on the floor.
    pub(crate) fn accumulate(self, recorder: &mut Recorder<'_>, shadow: &AccumulatedShadow) {
        let key = shadow.key(self.model, self.shot);
        let draw = |recorder: &mut Recorder<'_>| {
            for (i, view) in shadow.views().enumerate() {
                self.map(recorder, view, &shadow.map, &self.pipelines.key);
                shadow.add(recorder, view, i == 0);
            }
        };
        self.kept.copy_or_draw(self.gpu, recorder, (key, shadow.sum.texture()), draw);
    }

    fn map(self, recorder: &mut Recorder<'_>, frame: &wgpu::BindGroup, map: &wgpu::TextureView, pipelines: &PerBatch) {
        let mut pass = recorder.pass("shadow map", frame, &[], Some(depth_target(map, Some(1.0), true)));
        let batches = 0..self.model.0.batches.len();
        DepthDraws::new(&mut pass, self.model, pipelines, Corners::Shared).draw(batches);
    }
}
