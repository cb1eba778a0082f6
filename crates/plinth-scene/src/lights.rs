//! The built-in rig and the file's own lights.

use glam::{Mat3, Mat4, Vec3};
use plinth_model::{LightKind, Model};
use plinth_spec::settings::Light;

use crate::clip::sample;
use crate::environment::linear_from_srgb;
use crate::pose::node_matrices;
use crate::scene::{KeyLight, PointLikeLight};

/// Direction of the key light from the model: from above, left and in front.
const KEY_DIRECTION: Vec3 = Vec3::new(-0.55, 1.0, 0.62);
/// Its distance in world units.
const KEY_DISTANCE: f32 = 9.0;
/// Its irradiance at intensity 1.
const KEY_IRRADIANCE: f32 = 1.5;
/// Fill and rim: direction and irradiance at intensity 1.
const OTHERS: [(Vec3, f32); 2] = [(Vec3::new(1.0, 0.35, 0.8), 0.25), (Vec3::new(0.5, 0.7, -1.0), 0.45)];
/// Radiance of the ambient light at intensity 1.
const AMBIENT: f32 = 0.03;

/// A linear colour from sRGB bytes.
pub(crate) fn linear(color: [u8; 3]) -> Vec3 {
    Vec3::from(color.map(|c| linear_from_srgb(f32::from(c) / 255.0)))
}

/// The key spotlight on bounds; `None` when it is off.
pub(crate) fn key_light(settings: &Light, bounds: (Vec3, Vec3)) -> Option<KeyLight> {
    let target = (bounds.0 + bounds.1) * 0.5;
    let radius = ((bounds.1 - bounds.0) * 0.5).length().max(1e-3);
    let distance = KEY_DISTANCE.max(radius * 3.0);
    (settings.spot > 0.0).then(|| KeyLight {
        position: target + KEY_DIRECTION.normalize() * distance,
        target,
        irradiance: linear(settings.key_color) * (KEY_IRRADIANCE * settings.spot as f32),
        cone_half_angle: (2.5 * radius / distance).atan().min(1.2),
        penumbra: 0.4,
    })
}

/// Uniform ambient radiance.
pub(crate) fn ambient(settings: &Light) -> Vec3 {
    Vec3::splat(AMBIENT * settings.ambient as f32)
}

/// Fill, rim and the lights of the file.
pub(crate) fn other_lights(settings: &Light, model: &Model, world_from_model: Mat4) -> Vec<PointLikeLight> {
    let mut out = Vec::new();
    if settings.lights > 0.0 {
        let color = linear(settings.fill_color) * settings.lights as f32;
        out.extend(OTHERS.iter().map(|(direction, irradiance)| PointLikeLight::Directional {
            to_light: direction.normalize(),
            irradiance: color * *irradiance,
        }));
    }
    let matrices = node_matrices(model, &sample(model, None));
    for (node, matrix) in model.nodes.iter().zip(matrices) {
        if let Some(light) = node.light.and_then(|l| model.lights.get(l)) {
            out.push(file_light(light, world_from_model * matrix, world_from_model));
        }
    }
    out
}

/// A light of the file. Its photometric strength is taken as radiometric, as web viewers do; what it gives at a
/// surface stays the same whatever the model is scaled to.
fn file_light(light: &plinth_model::Light, world: Mat4, world_from_model: Mat4) -> PointLikeLight {
    let scale = Mat3::from_mat4(world_from_model).determinant().abs().cbrt();
    let axis = world.transform_vector3(Vec3::NEG_Z).normalize_or(Vec3::NEG_Z);
    let color = Vec3::from(light.color) * light.intensity;
    let point = |cone| PointLikeLight::Point {
        position: world.transform_point3(Vec3::ZERO),
        intensity: color * scale * scale,
        range: light.range.map(|r| r * scale),
        cone,
    };
    match light.kind {
        LightKind::Directional => PointLikeLight::Directional { to_light: -axis, irradiance: color },
        LightKind::Point => point(None),
        LightKind::Spot { inner_cone_angle, outer_cone_angle } => {
            point(Some((axis, inner_cone_angle.cos(), outer_cone_angle.cos())))
        }
    }
}
