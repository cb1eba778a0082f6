//! The poses of a model that moves, and its light in these poses. A graphics card computes what it can; the processor computes
//! the rest.

use plinth_bake::BakedMesh;
use plinth_scene::{PosedPrimitive, Scene};
use rayon::prelude::*;

use crate::RenderError;
use crate::device_pose::{DeviceLight, DevicePose};
use crate::gpu::Gpu;
use crate::pose_light::LightBetween;
use crate::upload::batch::Batch;
use crate::upload::pool::Pool;
use crate::upload::triangles::TriangleWords;

/// How the model gets into the pose of a frame.
pub(crate) struct MovingModel {
    device_pose: Option<DevicePose>,
    device_light: Option<DeviceLight>,
    /// For each posed primitive, whether the processor computes its vertices for each pose.
    on_processor: Vec<bool>,
    /// For each posed primitive, whether a mirroring node reverses the winding of its triangles in the current pose.
    mirrored: Vec<bool>,
}

impl MovingModel {
    /// Prepares the poses of a model. `posed` are all posed primitives at `clip_time`, the time of the first shot. `is_decal`
    /// returns whether a batch is a decal.
    /// Errors: those of [`DevicePose::new`] and [`DeviceLight::new`].
    pub(crate) fn new(
        gpu: &Gpu,
        (scene, posed, clip_time): (&Scene, &[PosedPrimitive], Option<f32>),
        (pools, batches, is_decal): (&[Pool], &[Batch], impl Fn(usize) -> bool),
        triangles: &TriangleWords,
    ) -> Result<Self, RenderError> {
        let moves = pools.iter().any(|pool| pool.moving);
        let device_pose = if moves {
            DevicePose::new(gpu, (scene, posed, clip_time), (pools, batches, is_decal), triangles)?
        } else {
            None
        };
        let device_light = if moves { DeviceLight::new(gpu, pools.len())? } else { None };
        let is_on_device = |i: usize| device_pose.as_ref().is_some_and(|device_pose| device_pose.poses(i));
        let mut on_processor = vec![false; posed.len()];
        for (_, pool) in pools.iter().enumerate().filter(|(i, pool)| pool.moving && !is_on_device(*i)) {
            pool.posed_primitives().for_each(|one| on_processor[one] = true);
        }
        let mirrored = posed.iter().map(|one| one.mirrored).collect();
        Ok(Self { device_pose, device_light, on_processor, mirrored })
    }

    /// Gives all moving pools the pose at `clip_time`.
    pub(crate) fn pose(
        &mut self,
        gpu: &Gpu,
        (scene, clip_time): (&Scene, Option<f32>),
        (pools, batches, triangles): (&mut [Pool], &mut [Batch], &mut TriangleWords),
        encoder: &mut wgpu::CommandEncoder,
    ) {
        let Self { device_pose, on_processor, mirrored, .. } = self;
        if let Some(device_pose) = device_pose {
            device_pose.record(gpu, (scene, clip_time), (pools, batches), mirrored, encoder);
        }
        if !on_processor.contains(&true) {
            return;
        }
        let posed = scene.pose_wanted(clip_time, on_processor);
        for (i, _) in on_processor.iter().enumerate().filter(|(_, wanted)| **wanted) {
            mirrored[i] = posed[i].mirrored;
        }
        let is_on_device = |i: usize| device_pose.as_ref().is_some_and(|device_pose| device_pose.poses(i));
        for (i, pool) in pools.iter_mut().enumerate().filter(|(i, pool)| pool.moving && !is_on_device(*i)) {
            let mut own: Vec<_> = batches.iter_mut().enumerate().filter(|(_, batch)| batch.pool == i).collect();
            pool.update(gpu, scene, &posed, &mut own, triangles);
        }
    }

    /// Replaces the baked light of all pools by `light`, that of the current pose.
    /// Errors: if a buffer for the light would be larger than the adapter allows.
    pub(crate) fn relight(
        &mut self,
        gpu: &Gpu,
        (layout, pools): (&wgpu::BindGroupLayout, &mut [Pool]),
        light: &LightBetween<'_>,
        encoder: &mut wgpu::CommandEncoder,
    ) -> Result<(), RenderError> {
        let Self { device_light, mirrored, .. } = self;
        let mut wanted = vec![false; mirrored.len()];
        let mut left = Vec::new();
        for (i, pool) in pools.iter_mut().enumerate().filter(|(_, pool)| pool.is_lit()) {
            let is_done = match device_light {
                Some(device_light) => device_light.record(gpu, layout, (i, pool), (light, mirrored), encoder)?,
                None => false,
            };
            if !is_done {
                pool.posed_primitives().for_each(|m| wanted[m] = true);
                left.push(pool);
            }
        }
        let of = |(m, wanted): (usize, &bool)| if *wanted { light.of(m, mirrored[m]) } else { BakedMesh::default() };
        let baked: Vec<BakedMesh> = wanted.par_iter().enumerate().map(of).collect();
        left.into_iter().try_for_each(|pool| pool.relight(gpu, layout, &baked))
    }
}
