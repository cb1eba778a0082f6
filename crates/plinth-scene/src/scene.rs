//! A scene: a model in world space, its lights, its background, and one shot per frame.
//!
//! World space is in normalised units: before rotation, the model is centred at the origin, and the largest side of its
//! bounding box is 2 units long. +Y is up, and +Z points to the camera at angle 0. The rotation, scale and translation
//! of the settings are applied in this space. During a render, only the camera, the animation of the model and, for the
//! effect `reveal`, the overall scale of the model change.

use std::collections::BTreeMap;
use std::sync::Arc;

use glam::{DMat4, Mat4, Vec3};
use plinth_model::{Image, Model};

use crate::{EnvironmentMap, PostLook, ReflectorLook, ShadowLook, Shot, SurfaceId, Surroundings};

/// Quality of the light: the number of rays with which the light on surfaces is computed, and the number of samples with
/// which the environment is filtered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LightDetail {
    /// Fewer rays than [`Draft`](Self::Draft), for pictures that are drawn while a person changes a setting. On dense
    /// meshes, close vertices share their light.
    Interactive,
    /// At most a third of the default number of rays, and half of the samples, so that the first frame is ready sooner.
    Draft,
    /// The default number of rays.
    Usual,
    /// Up to three times the default number of rays, for large frames and for ambient occlusion.
    Fine,
}

impl LightDetail {
    /// Returns whether the light is less exact than by default.
    pub fn is_draft(self) -> bool {
        matches!(self, Self::Interactive | Self::Draft)
    }
}

/// Everything that is needed to draw the frames of a render.
#[derive(Clone, Debug)]
pub struct Scene {
    pub model: Arc<Model>,
    /// Transform from the model file's coordinates to world space: normalisation, then the scale, rotation and
    /// translation of the settings.
    pub world_from_model: Mat4,
    /// `world_from_model` in double precision.
    pub(crate) exact_world_from_model: DMat4,
    /// Transform from world space to the coordinate system of decals. In this system, the model is normalised and
    /// stretched, but neither rotated nor translated.
    pub(crate) upright_from_world: DMat4,
    /// Uniform scale of `world_from_model`: the cube root of the factor by which volumes change.
    pub world_from_model_scale: f32,
    /// Index of the animation clip that is played; `None` if there is none.
    pub clip: Option<usize>,
    /// Warnings about settings that have no effect.
    pub warnings: Vec<String>,
    /// For each node of the model, whether the setting `hiddenMeshNames` hides it.
    pub hidden_nodes: Vec<bool>,
    /// The surface on which each decal lies, by the node of the decal.
    pub decal_surfaces: BTreeMap<usize, SurfaceId>,
    /// The environment as a light source. The rotation, tint and exposure of the settings are already applied.
    pub environment: EnvironmentMap,
    /// `glossIntensity`: factor for the specular reflections of the environment.
    pub gloss: f32,
    /// Linear radiance of the ambient light, which is the same in all directions.
    pub ambient: Vec3,
    /// The spotlight that casts the shadow; `None` if its intensity is 0.
    pub key_light: Option<KeyLight>,
    /// The fill light, the rim light and the lights of the model file. They cast no shadows.
    pub lights: Vec<PointLikeLight>,
    /// `n8aoIntensity`: exponent that is applied to the ambient occlusion. The value 1 is physically correct.
    pub occlusion: f32,
    /// Quality of the light on surfaces.
    pub light_detail: LightDetail,
    /// Settings of the shadow; `None` if there is no shadow.
    pub shadow: Option<ShadowLook>,
    /// Settings of the reflecting floor; `None` if the floor does not reflect.
    pub reflector: Option<ReflectorLook>,
    /// Height of the floor that receives shadows, in world units.
    pub floor_height: f32,
    /// Whether the frames are views of a dataset. Such frames show only the model, without a floor, and the renderer
    /// does not simplify the model's triangles.
    pub is_dataset: bool,
    /// Whether the renderer has merged vertices of the model that are only one or two pixels apart.
    pub is_merged: bool,
    /// Background of the frames. It is transparent in datasets, and in videos with an alpha channel.
    pub background: Background,
    /// Background of files without an alpha channel. It is never transparent. Datasets do not show it.
    pub opaque_background: Background,
    /// Settings of the post-processing effects.
    pub post: PostLook,
    /// The environment that is visible behind the model; `None` if the environment is only a light source.
    pub surroundings: Option<Surroundings>,
    /// Bounding box of the model in world space over the whole video: its minimum and maximum corners.
    pub bounds: (Vec3, Vec3),
    /// One shot per frame, in order.
    pub shots: Vec<Shot>,
}

impl Scene {
    /// Returns a scene that shows only the opaque background, without the model and without light. The effects that
    /// depend only on the colour and the position of a pixel are kept.
    #[must_use]
    pub fn of_background_only(&self) -> Self {
        Self {
            hidden_nodes: vec![true; self.hidden_nodes.len()],
            environment: EnvironmentMap { width: 2, height: 1, pixels: vec![[0.0; 3]; 2] },
            key_light: None,
            lights: Vec::new(),
            shadow: None,
            reflector: None,
            surroundings: None,
            background: self.opaque_background.clone(),
            post: self.post.of_colors_and_places(),
            ..self.clone()
        }
    }
}

/// The content of a frame behind the model.
#[derive(Clone, Debug, PartialEq)]
pub enum Background {
    /// One sRGB colour.
    Solid([u8; 3]),
    /// An opaque sRGB picture with the same size as the frames.
    Picture(Arc<Image>),
    /// No background: the frame has an alpha channel.
    Transparent,
}

/// The key light: a spotlight that casts the shadow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KeyLight {
    /// Position in world space.
    pub position: Vec3,
    /// Point in world space at which the light is aimed.
    pub target: Vec3,
    /// Linear colour times intensity: the irradiance of a surface at `target` that faces the light.
    pub irradiance: Vec3,
    /// Half the angle of the cone in radians.
    pub cone_half_angle: f32,
    /// Fraction of the cone in which the light decreases to zero, from 0 to 1.
    pub penumbra: f32,
}

/// A light without a shadow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PointLikeLight {
    Directional {
        /// Unit vector from the surface to the light.
        to_light: Vec3,
        /// Linear irradiance of a surface that faces the light.
        irradiance: Vec3,
    },
    /// A point light or spotlight, whose irradiance decreases with the square of the distance.
    Point {
        /// Position in world space.
        position: Vec3,
        /// Linear radiant intensity in world units: irradiance = intensity / distance².
        intensity: Vec3,
        /// Distance at which the light has decreased to zero; `None` if the distance is unlimited.
        range: Option<f32>,
        /// Cone of a spotlight: the unit vector of its direction, and the cosines of half the inner angle and half the
        /// outer angle. `None` for a point light.
        cone: Option<(Vec3, f32, f32)>,
    },
}
