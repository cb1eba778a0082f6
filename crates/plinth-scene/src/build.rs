//! From model and settings to a scene.

use std::sync::Arc;

use plinth_model::{Animation, Model, Node};
use plinth_spec::quality::{FRAMES_PER_SECOND, frame_count};
use plinth_spec::settings::{ClipChoice, ModelPose, Output, RenderSettings, Shadow};

use crate::assets::SceneAssets;
use crate::background::background;
use crate::decal::{self, Stage};
use crate::environment::studio;
use crate::error::SceneError;
use crate::place::Placement;
use crate::scene::{Background, PostLook, ReflectorLook, Scene, ShadowLook};
use crate::shot::Shot;
use crate::shots::shots;
use crate::surroundings::{gain, surroundings};
use crate::{clip, lights, material};

/// Builds the scene of one video or still.
/// Errors: an animation that the model does not have, nothing to draw, or an image that is missing or broken.
pub fn build_scene<'a>(
    model: Arc<Model>,
    settings: &RenderSettings,
    assets: impl Into<SceneAssets<'a>>,
) -> Result<Scene, SceneError> {
    let assets = assets.into();
    let placed = PlacedModel::new(model, settings, &assets, |clip| clip_times(settings, clip))?;
    let shots = shots(settings, &placed.placement, &placed.clip_times);
    placed.into_scene(settings, assets, shots)
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
        assets: &SceneAssets<'_>,
        times: impl Fn(Option<&Animation>) -> Vec<Option<f32>>,
    ) -> Result<Self, SceneError> {
        let mut warnings = model.warnings.clone();
        let model = material::edited(model, settings, assets, &mut warnings);
        let hidden_nodes = hidden(&model, settings.model(), &mut warnings);
        let clip = chosen_clip(&model, settings.model(), &mut warnings)?;
        let playing = clip.and_then(|c| model.animations.get(c));
        let clip_times = times(playing);
        let seen: Vec<f32> = clip_times.iter().flatten().copied().collect();
        let is_seen = |(node, hidden): (&Node, &bool)| node.mesh.is_some() && !hidden;
        let none_is_seen = !model.nodes.iter().zip(&hidden_nodes).any(is_seen);
        if none_is_seen {
            warnings.push("hiddenMeshNames: every mesh is hidden, so the picture is the background".to_owned());
        }
        // What nobody sees still has its place: cameras and surroundings stand as they would around the model.
        let nothing_hidden = vec![false; hidden_nodes.len()];
        let placed = if none_is_seen { &nothing_hidden } else { &hidden_nodes };
        let placement = Placement::new(&model, placed, settings.model(), playing, &seen)?;
        Ok(Self { model, hidden_nodes, warnings, clip, clip_times, placement })
    }

    /// The scene around it.
    /// Errors: an image that is missing or broken.
    pub(crate) fn into_scene(
        self,
        settings: &RenderSettings,
        mut assets: SceneAssets<'_>,
        shots: Vec<Shot>,
    ) -> Result<Scene, SceneError> {
        let Self { model, hidden_nodes, mut warnings, clip, placement, .. } = self;
        let stage = Stage { placement: &placement, hidden: &hidden_nodes, shots: &shots, clip };
        let model = with_decals(model, settings, &stage, &assets, &mut warnings)?;
        // What a decal lies on hides it, too.
        let hidden_nodes = hidden(&model, settings.model(), &mut Vec::new());
        let bounds = placement.bounds();
        let light = settings.light();
        // A model that is lifted leaves the floor; one that is lowered takes the floor along.
        let floor_height = bounds.0.y.min(placement.centered_bounds.0.y);
        let environment = assets.environment.take().unwrap_or_else(studio);
        let opaque_background = background(settings, &assets)?;
        let look = settings.environment();
        let middle = (bounds.0 + bounds.1) * 0.5;
        Ok(Scene {
            world_from_model: placement.world_from_model.as_mat4(),
            exact_world_from_model: placement.world_from_model,
            world_from_model_scale: placement.scale,
            clip,
            // A dataset shows the model alone.
            surroundings: (settings.video().output == Output::Video)
                .then(|| surroundings(look, &environment, middle, floor_height))
                .flatten(),
            environment: environment.for_light().rotated((look.rotation_deg as f32).to_radians()).scaled(gain(look)),
            gloss: light.gloss as f32,
            ambient: lights::ambient(light),
            key_light: lights::key_light(light, bounds),
            lights: lights::other_lights(light, &model, &placement),
            occlusion: settings.post().occlusion().map_or(1.0, |times| times as f32),
            fine_light: settings.post().occlusion().is_some() || settings.video().quality.has_fine_light(),
            shadow: shadow_look(settings.shadow()),
            reflector: settings.shadow().reflector().map(|r| ReflectorLook {
                mix: r.mix as f32,
                fade: r.fade as f32,
                depth_blur: r.depth_blur as f32,
            }),
            floor_height,
            is_dataset: false,
            background: if settings.video().quality.has_alpha() {
                Background::Transparent
            } else {
                opaque_background.clone()
            },
            opaque_background,
            post: post_look(settings),
            bounds,
            shots,
            hidden_nodes,
            warnings,
            model,
        })
    }
}

fn shadow_look(shadow: &Shadow) -> Option<ShadowLook> {
    shadow.enabled.then_some(ShadowLook {
        mode: shadow.mode,
        darkness: shadow.darkness as f32,
        softness: shadow.softness as f32,
    })
}

/// Diameter of the aperture at `dofStrength` 1, in world units: the model spans 2.
const WIDEST_APERTURE: f64 = 0.5;

fn post_look(settings: &RenderSettings) -> PostLook {
    let post = settings.post();
    PostLook {
        filter: post.filter,
        vignette: settings.background().vignette.unwrap_or(0.0) as f32,
        bloom: post.bloom() as f32,
        aperture: (post.depth_of_field() * WIDEST_APERTURE) as f32,
    }
}

/// The model with the settings' decals on it.
fn with_decals(
    model: Arc<Model>,
    settings: &RenderSettings,
    stage: &Stage<'_>,
    assets: &SceneAssets<'_>,
    warnings: &mut Vec<String>,
) -> Result<Arc<Model>, SceneError> {
    if settings.decals().is_empty() {
        return Ok(model);
    }
    let mut model = Arc::unwrap_or_clone(model);
    decal::put_on(&mut model, settings, stage, assets, warnings)?;
    Ok(Arc::new(model))
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
