//! Turns a model and settings into a scene: geometry, lights, background, and a camera for each frame. The crate only
//! computes; it needs no GPU.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "settings are f64, pictures f32; indices come from bounded, non-negative numbers"
)]

mod assets;
mod at_point;
mod background;
mod bleed;
mod build;
mod camera;
mod clip;
mod clip_polygon;
mod cloud;
mod dataset;
mod decal;
mod easing;
mod environment;
mod error;
mod fit;
mod floor;
mod intrinsics;
mod lights;
mod material;
mod pixel;
mod place;
mod pose;
mod post;
mod rigid;
mod scene;
mod shot;
mod shots;
mod surroundings;
mod texture_maps;
mod visible;
mod wireframe;

pub use assets::SceneAssets;
pub use build::{build_scene, build_scene_of_height};
pub use dataset::{DatasetViews, ViewSet, build_dataset};
pub use decal::MAX_DECAL_GAP;
pub use environment::{
    DARKEST_RADIANCE, EncodedGainMap, EnvironmentMap, GainMap, Panorama, TexelDirections, encode_gain_map, gain_map,
    radiance_hdr, read_panorama, studio,
};
pub use error::{GainMapError, SceneError};
pub use floor::{ReflectorLook, ShadowLook};
pub use intrinsics::Intrinsics;
pub use lights::MAX_POINT_LIGHTS;
pub use material::max_texture_side;
pub use pixel::{SURFACE_ERROR_PIXELS, rounded_length, smallest_pixel, smallest_step};
pub use pose::joint_shares;
pub use post::PostLook;
pub use scene::*;
pub use shot::*;
pub use surroundings::{Dome, Surroundings};
