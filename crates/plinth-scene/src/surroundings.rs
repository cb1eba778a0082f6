//! An environment that is seen: around the model, or with a ground that it stands on.

use std::sync::Arc;

use glam::Vec3;
use plinth_spec::settings::{Environment, EnvironmentMode};

use crate::environment::EnvironmentMap;
use crate::lights::linear;

/// Standard deviation of the strongest blur in radians.
const WIDEST_BLUR: f64 = 0.5;
/// Radius of the dome in world units, at scale 1.
const DOME_RADIUS: f32 = 24.0;
/// Height above the ground at which the panorama counts as taken, as a share of that.
const EYE_HEIGHT: f32 = 1.0 / 12.0;

/// An environment that is seen.
#[derive(Clone, Debug, PartialEq)]
pub struct Surroundings {
    /// What is seen, as the file has it, but blurred.
    pub map: Arc<EnvironmentMap>,
    /// Turn about +Y in radians, counter-clockwise seen from above.
    pub rotation: f32,
    /// Factor on its radiance: exposure and tint.
    pub gain: Vec3,
    /// How much it covers of the background, 0..=1.
    pub opacity: f32,
    /// The ground below the model; `None`: all of it is infinitely far.
    pub dome: Option<Dome>,
}

/// A dome over a ground: the panorama's lower half lies on the ground as far as the dome reaches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dome {
    /// World point above the middle of the ground from which the panorama looks as it was taken.
    pub eye: Vec3,
    /// Height of the ground.
    pub ground: f32,
    /// Radius of the dome around the eye.
    pub radius: f32,
}

/// Factor on an environment's radiance.
pub(crate) fn gain(look: &Environment) -> Vec3 {
    let tint = look.tint.map_or(Vec3::ONE, |tint| Vec3::ONE.lerp(linear(tint), look.tint_strength as f32));
    tint * look.exposure as f32
}

/// What is seen of an environment; nothing where it only gives light. `middle` is the model's, `ground` what it stands
/// on.
pub(crate) fn surroundings(
    look: &Environment,
    map: &EnvironmentMap,
    middle: Vec3,
    ground: f32,
) -> Option<Surroundings> {
    if look.mode == EnvironmentMode::Lighting || look.opacity <= 0.0 {
        return None;
    }
    // Squared: small values tell more than large ones.
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
