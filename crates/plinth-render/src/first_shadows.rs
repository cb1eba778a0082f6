//! Draws the shadows of the first frame while other pipelines are still being created. A software driver draws them on
//! its own threads, in parallel with the compilation of shaders.

use plinth_scene::Shot;

use crate::RenderError;
use crate::frame_uniform::{FrameBase, frame_uniform};
use crate::gpu::Gpu;
use crate::pass::floor::Floor;
use crate::pass::shadow_draws::ShadowDraws;
use crate::pipelines::ShadowPipelines;
use crate::recorder::Recorder;
use crate::upload::geometry::filled;
use crate::upload::kept_shadows::KeptShadows;
use crate::upload::material::MaterialOnGpu;
use crate::upload::pool::Model;

/// The state of the model on which shadow maps depend: its clip time if it moves, and its scale.
pub(crate) type ShadowState = (Option<f32>, f32);

/// Returns the state of the model in a shot.
pub(crate) fn shadow_state(shot: &Shot, moves: bool) -> ShadowState {
    (shot.clip_time.filter(|_time| moves), shot.grow)
}

/// Starts to draw the shadow maps of the first shot. Returns the state for which the maps are drawn, or `None` if no
/// shadow map is used. `frame_group` creates bind group 0, without shadow maps, from a uniform buffer.
/// Errors: if the device fails.
pub(crate) fn draw_first_shadows(
    gpu: &Gpu,
    base: &FrameBase<'_>,
    pipelines: &ShadowPipelines,
    (model, materials, kept): (Model<'_>, &[MaterialOnGpu], &KeptShadows),
    frame_group: &dyn Fn(&wgpu::Buffer) -> wgpu::BindGroup,
) -> Result<Option<ShadowState>, RenderError> {
    let maps = [base.key_map, base.sun_map];
    let Some(shot) = base.scene.shots.first().filter(|_| maps.iter().any(|map| map.is_used)) else { return Ok(None) };
    let buffer = uniform_buffer(gpu, base, shot)?;
    let mut recorder = Recorder::new(gpu, None);
    let draws = ShadowDraws { gpu, shot, pipelines, model: (model, materials), kept };
    draws.maps(&mut recorder, &frame_group(&buffer), maps);
    gpu.queue.submit([recorder.finish().finish()]);
    gpu.check()?;
    Ok(Some(shadow_state(shot, model.pools.iter().any(|pool| pool.moving))))
}

/// Starts to draw the shadow on the floor for the first shot, whose shadow maps are drawn already. Returns whether it is
/// drawn: an accumulated shadow, which needs maps of its own, is left to the first frame. `frame_group` creates bind
/// group 0, with shadow maps, from a uniform buffer.
/// Errors: if a buffer cannot be allocated.
pub(crate) fn draw_first_floor_shadow(
    gpu: &Gpu,
    base: &FrameBase<'_>,
    floor: &Floor,
    frame_group: &dyn Fn(&wgpu::Buffer) -> wgpu::BindGroup,
) -> Result<bool, RenderError> {
    let Some(shot) = base.scene.shots.first().filter(|_shot| floor.accumulated.is_none()) else { return Ok(false) };
    let buffer = uniform_buffer(gpu, base, shot)?;
    let mut recorder = Recorder::new(gpu, None);
    floor.gather(&mut recorder, &frame_group(&buffer));
    gpu.queue.submit([recorder.finish().finish()]);
    Ok(true)
}

/// Creates a buffer with the uniform of a shot.
/// Errors: if the buffer cannot be allocated.
fn uniform_buffer(gpu: &Gpu, base: &FrameBase<'_>, shot: &Shot) -> Result<wgpu::Buffer, RenderError> {
    filled(gpu, "frame", bytemuck::bytes_of(&frame_uniform(base, shot)), wgpu::BufferUsages::UNIFORM)
}
