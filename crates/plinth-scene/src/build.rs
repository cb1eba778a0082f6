//! Builds a scene from a model and settings.

use std::collections::BTreeMap;
use std::sync::Arc;

use plinth_model::{Animation, Model, Node, Topology};
use plinth_spec::quality::{FRAMES_PER_SECOND, frame_count};
use plinth_spec::settings::{ClipChoice, ModelPose, RenderSettings};

use crate::assets::SceneAssets;
use crate::background::background;
use crate::decal::{self, Target};
use crate::environment::studio;
use crate::error::SceneError;
use crate::floor::{ReflectorLook, ShadowLook};
use crate::lights::Playing;
use crate::material::max_texture_side;
use crate::place::Placement;
use crate::post::PostLook;
use crate::scene::{Background, LightDetail, Scene};
use crate::shot::{Shot, SurfaceId};
use crate::shots::shots;
use crate::surroundings::{gain, surroundings};
use crate::visible::Visible;
use crate::{clip, lights, material};

/// Builds the scene of a video or a still.
/// Errors: if the model has nothing to draw, or an image is missing or cannot be read.
pub fn build_scene<'a>(
    model: Arc<Model>,
    settings: &RenderSettings,
    assets: impl Into<SceneAssets<'a>>,
) -> Result<Scene, SceneError> {
    let (_, height) = settings.video().quality.size(settings.video().aspect);
    build_scene_of_height(model, settings, assets, height)
}

/// Builds the scene of a video or a still whose frames are drawn `height` pixels high, instead of the height that the
/// settings select.
/// Errors: those of [`build_scene`].
pub fn build_scene_of_height<'a>(
    model: Arc<Model>,
    settings: &RenderSettings,
    assets: impl Into<SceneAssets<'a>>,
    height: u32,
) -> Result<Scene, SceneError> {
    let assets = assets.into();
    let frames = Frames::of_video(settings, height);
    let placed = PlacedModel::new(model, settings, &assets, frames, |clip| clip_times(settings, clip))?;
    let shots = shots(settings, &placed.placement, &placed.clip_times);
    placed.into_scene(settings, assets, shots)
}

/// The properties of a scene's frames on which the content of the scene depends.
#[derive(Clone, Copy)]
pub(crate) struct Frames {
    /// Whether the frames are views of a dataset.
    pub(crate) is_dataset: bool,
    /// Maximum length in texels of the longer side of images that the settings add as textures.
    pub(crate) max_texture_side: u32,
    /// Height of a frame in pixels.
    pub(crate) height: u32,
}

impl Frames {
    /// Returns the properties of the frames of a video or a still, which are drawn `height` pixels high. The size of
    /// textures does not depend on `height`, so that previews of different sizes share their textures.
    fn of_video(settings: &RenderSettings, height: u32) -> Self {
        let (width, full_height) = settings.video().quality.size(settings.video().aspect);
        Self { is_dataset: false, max_texture_side: max_texture_side(width.max(full_height)), height }
    }

    /// Returns the properties of the views of a dataset. The settings of videos have no effect on them.
    pub(crate) fn of_dataset(width: u32, height: u32) -> Self {
        Self { is_dataset: true, max_texture_side: max_texture_side(width.max(height)), height }
    }
}

/// A model placed in world space, and the clip time of each frame.
pub(crate) struct PlacedModel {
    model: Arc<Model>,
    frames: Frames,
    hidden_nodes: Vec<bool>,
    warnings: Vec<String>,
    clip: Option<usize>,
    pub(crate) clip_times: Vec<Option<f32>>,
    pub(crate) placement: Placement,
}

impl PlacedModel {
    /// Places a model according to the settings. `times` returns the clip time of each frame, given the clip that is
    /// played.
    /// Errors: if the model has nothing to draw.
    pub(crate) fn new(
        model: Arc<Model>,
        settings: &RenderSettings,
        assets: &SceneAssets<'_>,
        frames: Frames,
        times: impl Fn(Option<&Animation>) -> Vec<Option<f32>>,
    ) -> Result<Self, SceneError> {
        let mut warnings = model.warnings.clone();
        let hidden_nodes = hidden(&model, settings.model(), &mut warnings);
        let clip = chosen_clip(&model, settings.model(), &mut warnings);
        let visible = Visible { hidden: &hidden_nodes, clip };
        let model = material::edited(model, settings, assets, frames.max_texture_side, visible, &mut warnings);
        let playing = clip.and_then(|c| model.animations.get(c));
        let clip_times = times(playing);
        let seen: Vec<f32> = clip_times.iter().flatten().copied().collect();
        let is_seen = |(node, hidden): (&Node, &bool)| node.mesh.is_some() && !hidden;
        let none_is_seen = !model.nodes.iter().zip(&hidden_nodes).any(is_seen);
        if none_is_seen {
            warnings.push("hiddenMeshNames: every mesh is hidden, so the picture is the background".to_owned());
        }
        // If every mesh is hidden, the cameras and the surroundings are placed as if no mesh were hidden.
        let nothing_hidden = vec![false; hidden_nodes.len()];
        let placed = if none_is_seen { &nothing_hidden } else { &hidden_nodes };
        let placement = Placement::new(&model, placed, settings.model(), playing, &seen)?;
        if placement.is_point() && !none_is_seen && has_only_triangles(&model, &hidden_nodes) {
            warnings.push(
                "the model has no size: all its vertices are at one point, so the picture is the background".to_owned(),
            );
        }
        Ok(Self { model, frames, hidden_nodes, warnings, clip, clip_times, placement })
    }

    /// Builds the scene around the placed model.
    /// Errors: if an image is missing or cannot be read.
    pub(crate) fn into_scene(
        self,
        settings: &RenderSettings,
        mut assets: SceneAssets<'_>,
        shots: Vec<Shot>,
    ) -> Result<Scene, SceneError> {
        let Self { model, frames, hidden_nodes, mut warnings, clip, placement, clip_times } = self;
        let target = Target { placement: &placement, hidden: &hidden_nodes, shots: &shots, clip, frames };
        let (model, decal_surfaces) = with_decals(model, settings, &target, &assets, &mut warnings)?;
        // The list is computed again, because each decal adds a node below the node on which it lies.
        let hidden_nodes = hidden(&model, settings.model(), &mut Vec::new());
        let bounds = placement.bounds();
        let light = settings.light();
        let playing = Playing { clip: clip.and_then(|c| model.animations.get(c)), times: &clip_times };
        let lights = lights::other_lights(light, &model, &placement, playing, &mut warnings);
        let floor_height = placement.floor_height();
        let environment = assets.environment.take().unwrap_or_else(studio);
        // The frames of a dataset show only the model, without surroundings and background.
        let opaque_background =
            if frames.is_dataset { Background::Solid([255; 3]) } else { background(settings, &assets, &mut warnings)? };
        warnings.extend(settings.unused());
        let look = settings.environment();
        let middle = (bounds.0 + bounds.1) * 0.5;
        Ok(Scene {
            world_from_model: placement.world_from_model.as_mat4(),
            exact_world_from_model: placement.world_from_model,
            upright_from_world: placement.upright_from_world(settings.model()),
            world_from_model_scale: placement.scale,
            clip,
            surroundings: (!frames.is_dataset)
                .then(|| surroundings(look, &environment, middle, floor_height))
                .flatten(),
            environment: environment.for_light().rotated((look.rotation_deg as f32).to_radians()).scaled(gain(look)),
            gloss: light.gloss as f32,
            ambient: lights::ambient(light),
            key_light: lights::key_light(light, bounds),
            lights,
            occlusion: settings.post().occlusion().map_or(1.0, |times| times as f32),
            light_detail: light_detail(settings, frames),
            shadow: ShadowLook::of(settings.shadow()),
            reflector: ReflectorLook::of(settings.shadow()),
            floor_height,
            is_dataset: frames.is_dataset,
            is_merged: false,
            background: if frames.is_dataset || settings.video().quality.has_alpha() {
                Background::Transparent
            } else {
                opaque_background.clone()
            },
            opaque_background,
            post: PostLook::of(settings),
            bounds,
            shots,
            hidden_nodes,
            decal_surfaces,
            warnings,
            model,
        })
    }
}

/// Returns the quality of the light. The quality of a video has no effect on datasets.
fn light_detail(settings: &RenderSettings, frames: Frames) -> LightDetail {
    let has_large_frames = !frames.is_dataset && settings.video().quality.has_fine_light();
    if has_large_frames || settings.post().occlusion().is_some() { LightDetail::Fine } else { LightDetail::Usual }
}

/// Returns whether all primitives that are not hidden consist of triangles.
fn has_only_triangles(model: &Model, hidden: &[bool]) -> bool {
    let nodes = model.nodes.iter().zip(hidden).filter(|(_, hidden)| !**hidden);
    let meshes = nodes.filter_map(|(node, _)| model.meshes.get(node.mesh?));
    meshes.flat_map(|mesh| &mesh.primitives).all(|primitive| primitive.topology == Topology::Triangles)
}

/// Returns the model with the decals of the settings, and the surface of each decal by the decal's node.
fn with_decals(
    model: Arc<Model>,
    settings: &RenderSettings,
    target: &Target<'_>,
    assets: &SceneAssets<'_>,
    warnings: &mut Vec<String>,
) -> Result<(Arc<Model>, BTreeMap<usize, SurfaceId>), SceneError> {
    if settings.decals().is_empty() {
        return Ok((model, BTreeMap::new()));
    }
    let mut model = Arc::unwrap_or_clone(model);
    let surfaces = decal::add_decals(&mut model, settings, target, assets, warnings)?;
    Ok((Arc::new(model), surfaces))
}

/// Maximum number of names in a warning.
const KNOWN_NAMES: usize = 5;
/// Maximum number of characters of a name in a warning.
const KNOWN_NAME_CHARS: usize = 40;

/// Returns the end of a warning about an unknown name, which lists the first names that the model has. Returns an empty text
/// if it has none. An empty name cannot be given in settings.
pub(crate) fn known_names<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut known: Vec<&str> = Vec::new();
    for name in names {
        if known.len() > KNOWN_NAMES {
            break;
        }
        if !name.is_empty() && !known.contains(&name) {
            known.push(name);
        }
    }
    let more = if known.len() > KNOWN_NAMES { ", …" } else { "" };
    let shortened = |name: &str| {
        let more = if name.chars().nth(KNOWN_NAME_CHARS).is_some() { "…" } else { "" };
        format!("'{}{more}'", name.chars().take(KNOWN_NAME_CHARS).collect::<String>())
    };
    let quoted: Vec<String> = known.iter().take(KNOWN_NAMES).map(|name| shortened(name)).collect();
    if quoted.is_empty() { String::new() } else { format!("; it has {}{more}", quoted.join(", ")) }
}

fn hidden(model: &Model, pose: &ModelPose, warnings: &mut Vec<String>) -> Vec<bool> {
    let named = || model.nodes.iter().filter(|n| n.mesh.is_some()).map(|n| n.name.as_str());
    for name in &pose.hidden_mesh_names {
        if !named().any(|known| known == name) {
            warnings.push(format!("hiddenMeshNames: the model has no mesh '{name}'{}", known_names(named())));
        }
    }
    model.nodes.iter().map(|n| pose.hidden_mesh_names.contains(&n.name)).collect()
}

/// Returns the index of the clip that is played. If the model does not have the requested clip, returns `None` and adds
/// a warning; the model then stays in its rest pose.
fn chosen_clip(model: &Model, pose: &ModelPose, warnings: &mut Vec<String>) -> Option<usize> {
    let clip = match pose.clip.as_ref()? {
        ClipChoice::First => (!model.animations.is_empty()).then_some(0),
        ClipChoice::Named(wanted) => model.animations.iter().position(|clip| clip.name == *wanted),
    };
    if clip.is_none() {
        warnings.push(missing_clip(model, pose.clip.as_ref()));
    }
    clip
}

fn missing_clip(model: &Model, wanted: Option<&ClipChoice>) -> String {
    match wanted {
        Some(ClipChoice::Named(wanted)) if !model.animations.is_empty() => {
            let known = known_names(model.animations.iter().map(|clip| clip.name.as_str()));
            format!("animation: the model has no clip '{wanted}', so it stays in its rest pose{known}")
        }
        _ => "animation: the model has no clips, so it stays in its rest pose".to_owned(),
    }
}

fn clip_times(settings: &RenderSettings, clip: Option<&Animation>) -> Vec<Option<f32>> {
    (0..frame_count(settings.video().length_secs))
        .map(|index| {
            let time = f64::from(index) / f64::from(FRAMES_PER_SECOND);
            clip.map(|c| clip::looped(time, settings.model().clip_speed, c.duration))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_lists_each_of_the_first_names_once() {
        let listed = |names: &[&str]| known_names(names.iter().copied());
        assert_eq!(listed(&[]), "");
        assert_eq!(listed(&["a", "b", "a"]), "; it has 'a', 'b'");
        assert_eq!(listed(&["a", "b", "c", "d", "e"]), "; it has 'a', 'b', 'c', 'd', 'e'");
        assert_eq!(listed(&["a", "b", "c", "d", "e", "f", "g"]), "; it has 'a', 'b', 'c', 'd', 'e', …");
        assert_eq!(listed(&["", "a"]), "; it has 'a'");
        assert_eq!(listed(&["", ""]), "");
        assert_eq!(listed(&[&"é".repeat(41), &"é".repeat(40)]), format!("; it has '{0}…', '{0}'", "é".repeat(40)));
    }
}
