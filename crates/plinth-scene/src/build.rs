//! From model and settings to a scene.

use std::sync::Arc;

use glam::Vec3;
use plinth_model::{Animation, Model};
use plinth_spec::quality::{FRAMES_PER_SECOND, frame_count};
use plinth_spec::settings::{ClipChoice, ModelPose, RenderSettings};

use crate::environment::{EnvironmentMap, studio};
use crate::error::SceneError;
use crate::place::Placement;
use crate::scene::{Background, PostLook, ReflectorLook, Scene, ShadowLook};
use crate::shot::Shot;
use crate::shots::shots;
use crate::{clip, lights};

/// Builds the scene of one video or still. Without an environment the built-in studio is used.
/// Errors: an animation that the model does not have, or nothing to draw.
pub fn build_scene(
    model: Arc<Model>,
    settings: &RenderSettings,
    environment: Option<EnvironmentMap>,
) -> Result<Scene, SceneError> {
    let placed = PlacedModel::new(model, settings, |clip| clip_times(settings, clip))?;
    let shots = shots(settings, &placed.placement, &placed.clip_times);
    Ok(placed.into_scene(settings, environment, shots))
}

/// A model in its place, with the times of its clip that are seen.
pub(crate) struct PlacedModel {
    model: Arc<Model>,
    hidden_nodes: Vec<bool>,
    warnings: Vec<String>,
    clip: Option<usize>,
    pub(crate) clip_times: Vec<Option<f32>>,
    pub(crate) placement: Placement,
}

impl PlacedModel {
    /// Places a model as the settings say. `times` gives for the clip that plays its time in each frame.
    /// Errors: an animation that the model does not have, or nothing to draw.
    pub(crate) fn new(
        model: Arc<Model>,
        settings: &RenderSettings,
        times: impl Fn(Option<&Animation>) -> Vec<Option<f32>>,
    ) -> Result<Self, SceneError> {
        let mut warnings = model.warnings.clone();
        let hidden_nodes = hidden(&model, settings.model(), &mut warnings);
        let clip = chosen_clip(&model, settings.model(), &mut warnings)?;
        let playing = clip.and_then(|c| model.animations.get(c));
        let clip_times = times(playing);
        let seen: Vec<f32> = clip_times.iter().flatten().copied().collect();
        let placement = Placement::new(&model, &hidden_nodes, settings.model(), playing, &seen)?;
        Ok(Self { model, hidden_nodes, warnings, clip, clip_times, placement })
    }

    /// The scene around it.
    pub(crate) fn into_scene(
        self,
        settings: &RenderSettings,
        environment: Option<EnvironmentMap>,
        shots: Vec<Shot>,
    ) -> Scene {
        let Self { model, hidden_nodes, warnings, clip, placement, .. } = self;
        let bounds = placement.bounds();
        let shadow = settings.shadow();
        let light = settings.light();
        Scene {
            world_from_model: placement.world_from_model.as_mat4(),
            exact_world_from_model: placement.world_from_model,
            world_from_model_scale: placement.scale,
            clip,
            environment: lit_environment(settings, environment),
            gloss: light.gloss as f32,
            ambient: lights::ambient(light),
            key_light: lights::key_light(light, bounds),
            lights: lights::other_lights(light, &model, &placement),
            occlusion: settings.post().occlusion.map(|times| times as f32),
            shadow: shadow.enabled.then_some(ShadowLook {
                mode: shadow.mode,
                darkness: shadow.darkness as f32,
                softness: shadow.softness as f32,
            }),
            reflector: shadow.reflector.map(|r| ReflectorLook {
                mix: r.mix as f32,
                fade: r.fade as f32,
                depth_blur: r.depth_blur as f32,
            }),
            // A model that is lifted leaves the floor; one that is lowered takes the floor along.
            floor_height: bounds.0.y.min(placement.centered_bounds.0.y),
            is_dataset: false,
            background: if settings.video().quality.has_alpha() {
                Background::Transparent
            } else {
                Background::Solid(settings.background().color)
            },
            post: post_look(settings),
            bounds,
            shots,
            hidden_nodes,
            warnings,
            model,
        }
    }
}

/// Diameter of the aperture at `dofStrength` 1, in world units: the model spans 2.
const WIDEST_APERTURE: f64 = 0.5;

fn post_look(settings: &RenderSettings) -> PostLook {
    let post = settings.post();
    PostLook {
        filter: post.filter,
        vignette: post.vignette as f32,
        bloom: post.bloom as f32,
        aperture: (post.depth_of_field * WIDEST_APERTURE) as f32,
    }
}

fn hidden(model: &Model, pose: &ModelPose, warnings: &mut Vec<String>) -> Vec<bool> {
    for name in &pose.hidden_mesh_names {
        if !model.nodes.iter().any(|n| n.mesh.is_some() && n.name == *name) {
            warnings.push(format!("hiddenMeshNames: the model has no mesh '{name}'"));
        }
    }
    model.nodes.iter().map(|n| pose.hidden_mesh_names.contains(&n.name)).collect()
}

fn chosen_clip(model: &Model, pose: &ModelPose, warnings: &mut Vec<String>) -> Result<Option<usize>, SceneError> {
    let names = || model.animations.iter().map(|a| a.name.as_str()).collect::<Vec<_>>().join(", ");
    match &pose.clip {
        None => Ok(None),
        Some(ClipChoice::First) => {
            if model.animations.is_empty() {
                warnings.push("animation: the model has none".to_owned());
            }
            Ok((!model.animations.is_empty()).then_some(0))
        }
        Some(ClipChoice::Named(wanted)) => {
            model.animations.iter().position(|a| a.name == *wanted).map(Some).ok_or_else(|| {
                let available = if model.animations.is_empty() { "none".to_owned() } else { names() };
                SceneError::NoSuchAnimation { wanted: wanted.clone(), available }
            })
        }
    }
}

/// For each frame the time of the clip.
fn clip_times(settings: &RenderSettings, clip: Option<&Animation>) -> Vec<Option<f32>> {
    (0..frame_count(settings.video().length_secs))
        .map(|index| {
            let time = f64::from(index) / f64::from(FRAMES_PER_SECOND);
            clip.map(|c| clip::looped(time, settings.model().clip_speed, c.duration))
        })
        .collect()
}

/// The environment as it shines: rotated, exposed, tinted.
fn lit_environment(settings: &RenderSettings, given: Option<EnvironmentMap>) -> EnvironmentMap {
    let look = settings.environment();
    let tint = look.tint.map_or(Vec3::ONE, |tint| Vec3::ONE.lerp(lights::linear(tint), look.tint_strength as f32));
    let map = given.unwrap_or_else(studio).rotated((look.rotation_deg as f32).to_radians());
    map.scaled(tint * look.exposure as f32)
}
