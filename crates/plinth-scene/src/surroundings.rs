//! An environment that is visible, not only a light: as a distant background, or with a ground below the model.

use std::sync::Arc;

use glam::Vec3;
use plinth_spec::settings::{Environment, EnvironmentMode};

use crate::environment::EnvironmentMap;
use crate::lights::linear;

/// Standard deviation of the blur at `envBlur` 1, in radians.
const WIDEST_BLUR: f64 = 0.5;
/// Radius of the dome at scale 1, in world units.
const DOME_RADIUS: f32 = 24.0;
/// Height of the panorama's camera above the ground, as a fraction of the dome's radius.
const EYE_HEIGHT: f32 = 1.0 / 12.0;

/// An environment that is visible behind the model.
#[derive(Clone, Debug, PartialEq)]
pub struct Surroundings {
    /// The panorama from the file, blurred as the settings ask.
    pub map: Arc<EnvironmentMap>,
    /// Rotation about +Y in radians, counter-clockwise seen from above.
    pub rotation: f32,
    /// Factor on the radiance: exposure and tint.
    pub gain: Vec3,
    /// Opacity over the background, 0..=1.
    pub opacity: f32,
    /// The ground below the model; `None` if the whole environment is infinitely far away.
    pub dome: Option<Dome>,
}

/// A dome over a ground disc, onto which the panorama is projected: the lower half onto the ground, as far as the dome
/// reaches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dome {
    /// Centre of the projection, above the middle of the ground. Seen from here the panorama is undistorted.
    pub eye: Vec3,
    /// Height of the ground in world units.
    pub ground: f32,
    /// Radius of the dome around the eye.
    pub radius: f32,
}

/// Factor on an environment's radiance: exposure times tint.
pub(crate) fn gain(look: &Environment) -> Vec3 {
    let tint = look.tint.map_or(Vec3::ONE, |tint| Vec3::ONE.lerp(linear(tint), look.tint_strength as f32));
    tint * look.exposure as f32
}

/// The visible environment, or `None` if it only gives light. `middle` is the centre of the model's bounds, `ground`
/// the height of what it stands on.
pub(crate) fn surroundings(
    look: &Environment,
    map: &EnvironmentMap,
    middle: Vec3,
    ground: f32,
) -> Option<Surroundings> {
    if look.mode == EnvironmentMode::Lighting || look.opacity <= 0.0 {
        return None;
    }
    // Squared, so that the setting has a finer effect at small values.
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
