//! Surroundings: an environment that is visible behind the model. The environment is either infinitely far away, or
//! also forms the ground below the model.

use std::sync::Arc;

use glam::Vec3;
use plinth_spec::settings::{Environment, EnvironmentMode};

use crate::environment::EnvironmentMap;
use crate::lights::linear;

/// Standard deviation of the blur in radians if the setting `envBlur` is 1.
const WIDEST_BLUR: f64 = 0.5;
/// Radius of the dome in world units if its scale is 1.
const DOME_RADIUS: f32 = 24.0;
/// Height of the panorama's viewpoint above the ground, as a fraction of the radius of the dome.
const EYE_HEIGHT: f32 = 1.0 / 12.0;

/// An environment that is visible behind the model.
#[derive(Clone, Debug, PartialEq)]
pub struct Surroundings {
    /// The panorama from the file, after applying the blur of the settings.
    pub map: Arc<EnvironmentMap>,
    /// Rotation about +Y in radians, counter-clockwise seen from above.
    pub rotation: f32,
    /// Factor for the radiance: exposure times tint.
    pub gain: Vec3,
    /// Opacity over the background, from 0 to 1.
    pub opacity: f32,
    /// The dome onto which the panorama is projected; `None` if the environment is infinitely far away.
    pub dome: Option<Dome>,
}

/// A dome over a ground disc, onto which the panorama is projected. The lower half of the panorama is projected onto
/// the ground disc.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dome {
    /// Centre of the projection, above the middle of the ground disc. The panorama looks undistorted from this point.
    pub eye: Vec3,
    /// Height of the ground in world units.
    pub ground: f32,
    /// Radius of the dome around `eye`, in world units.
    pub radius: f32,
}

/// Returns the factor for the radiance of an environment: exposure times tint.
pub(crate) fn gain(look: &Environment) -> Vec3 {
    let tint = look.tint.map_or(Vec3::ONE, |tint| Vec3::ONE.lerp(linear(tint), look.tint_strength as f32));
    tint * look.exposure as f32
}

/// Returns the visible environment, or `None` if the environment is only a light source. `middle` is the centre of the
/// model's bounding box. `ground` is the height of the surface on which the model stands.
pub(crate) fn surroundings(
    look: &Environment,
    map: &EnvironmentMap,
    middle: Vec3,
    ground: f32,
) -> Option<Surroundings> {
    if look.mode == EnvironmentMode::Lighting || look.opacity <= 0.0 {
        return None;
    }
    // The deviation is proportional to the square of the setting, so that small blurs can be set more precisely.
    let deviation = (WIDEST_BLUR * look.blur * look.blur) as f32;
    let seen = if deviation > 1e-3 { map.blurred(deviation) } else { map.clone() };
    let radius = DOME_RADIUS * look.scale as f32;
    let eye = Vec3::new(middle.x, ground + radius * EYE_HEIGHT, middle.z);
    Some(Surroundings {
        map: Arc::new(seen),
        rotation: (look.rotation_deg as f32).to_radians(),
        gain: gain(look),
        opacity: look.opacity as f32,
        dome: (look.mode == EnvironmentMode::Grounded).then_some(Dome { eye, ground, radius }),
    })
}
