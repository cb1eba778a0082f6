//! The built-in lights, and the lights of the model file.

use glam::{DMat4, DVec3, Vec3};
use plinth_model::{Animation, Channel, LightKind, Model, Property};
use plinth_spec::settings::Light;

use crate::clip::sample;
use crate::environment::linear_from_srgb;
use crate::place::Placement;
use crate::pose::node_matrices;
use crate::scene::{KeyLight, PointLikeLight};

/// Direction from the model to the key light, which is above, on the left and in front.
const KEY_DIRECTION: Vec3 = Vec3::new(-0.55, 1.0, 0.62);
/// Distance of the key light in world units.
const KEY_DISTANCE: f32 = 9.0;
/// Irradiance of the key light at intensity 1.
const KEY_IRRADIANCE: f32 = 1.8;
/// Luminance of linear red, green and blue (ITU-R BT.709-6, section 3).
const LUMINANCE: Vec3 = Vec3::new(0.2126, 0.7152, 0.0722);
/// Minimum distance of the key light, in multiples of the model's radius. It applies to models that settings stretch or
/// move far.
const KEY_DISTANCE_RADII: f32 = 3.0;
/// Half the width of the key light's cone at the model, in multiples of the model's radius. The cone is wider than the
/// model, so that it also lights the floor around the shadow.
const KEY_CONE_RADII: f32 = 2.5;
/// Maximum half angle of the key light's cone in radians.
const KEY_WIDEST: f32 = 1.2;
/// Fraction of the cone in which the light decreases to zero.
const KEY_PENUMBRA: f32 = 0.4;
/// Minimum radius of a model in world units, for models that are a single point.
const LEAST_RADIUS: f32 = 1e-3;
/// The fill light and the rim light: the direction to each light, and its irradiance at intensity 1.
const OTHERS: [(Vec3, f32); 2] = [(Vec3::new(1.0, 0.35, 0.8), 0.25), (Vec3::new(0.5, 0.7, -1.0), 0.45)];
/// Radiance of the ambient light at intensity 1.
const AMBIENT: f32 = 0.03;

/// Maximum total irradiance of the lights in the model file. Many files contain very bright lights, because their
/// authors assume a viewer that adapts the exposure.
const FILE_IRRADIANCE: f32 = 1.0;

/// Converts sRGB bytes to a linear colour.
pub(crate) fn linear(color: [u8; 3]) -> Vec3 {
    Vec3::from(color.map(|c| linear_from_srgb(f32::from(c) / 255.0)))
}

/// Returns the key light for a model with the bounding box `bounds`. Returns `None` if the light is off or black.
pub(crate) fn key_light(settings: &Light, bounds: (Vec3, Vec3)) -> Option<KeyLight> {
    let target = (bounds.0 + bounds.1) * 0.5;
    let radius = ((bounds.1 - bounds.0) * 0.5).length().max(LEAST_RADIUS);
    let distance = KEY_DISTANCE.max(radius * KEY_DISTANCE_RADII);
    let irradiance = linear(settings.key_color) * (KEY_IRRADIANCE * settings.spot as f32);
    (irradiance.max_element() > 0.0).then(|| KeyLight {
        position: target + KEY_DIRECTION.normalize() * distance,
        target,
        irradiance,
        cone_half_angle: (KEY_CONE_RADII * radius / distance).atan().min(KEY_WIDEST),
        penumbra: KEY_PENUMBRA,
    })
}

impl KeyLight {
    /// Returns the luminance of the key light, divided by its luminance at default settings.
    pub fn strength(&self) -> f32 {
        self.irradiance.dot(LUMINANCE) / KEY_IRRADIANCE
    }
}

/// Returns the radiance of the ambient light, which is the same in all directions.
pub(crate) fn ambient(settings: &Light) -> Vec3 {
    Vec3::splat(AMBIENT * settings.ambient as f32)
}

/// Maximum number of point lights and spotlights.
pub const MAX_POINT_LIGHTS: usize = 16;

/// The clip that a model plays, and the clip time of each frame.
#[derive(Clone, Copy)]
pub(crate) struct Playing<'a> {
    pub(crate) clip: Option<&'a Animation>,
    pub(crate) times: &'a [Option<f32>],
}

impl<'a> Playing<'a> {
    /// Returns the clip and the clip time of the first frame.
    fn first(self) -> Option<(&'a Animation, f32)> {
        self.clip.zip(self.times.first().copied().flatten())
    }

    /// Returns whether the clip moves a node, directly or through one of its ancestors.
    fn moves(self, model: &Model, node: usize) -> bool {
        let path_to_root = || std::iter::successors(Some(node), |n| model.nodes.get(*n)?.parent);
        let channels = self.clip.into_iter().flat_map(|clip| &clip.channels);
        channels
            .filter(|channel| channel.property != Property::Weights && changes(channel))
            .any(|channel| path_to_root().any(|n| n == channel.node))
    }
}

/// Returns whether a channel has keys with different values.
fn changes(channel: &Channel) -> bool {
    let width = channel.values.len() / channel.times.len().max(1);
    let mut keys = channel.values.chunks(width.max(1));
    keys.next().is_some_and(|first| keys.any(|key| key != first))
}

/// Returns the fill light, the rim light and the lights of the model file. All of them are scaled by `lightsIntensity`.
/// If the file has more than `MAX_POINT_LIGHTS` point lights and spotlights, only those that are brightest at the model
/// are returned.
pub(crate) fn other_lights(
    settings: &Light,
    model: &Model,
    placement: &Placement,
    playing: Playing<'_>,
    warnings: &mut Vec<String>,
) -> Vec<PointLikeLight> {
    let strength = settings.lights as f32;
    if strength <= 0.0 {
        return Vec::new();
    }
    let color = linear(settings.fill_color) * strength;
    let mut out: Vec<PointLikeLight> = OTHERS
        .iter()
        .map(|(direction, irradiance)| PointLikeLight::Directional {
            to_light: direction.normalize(),
            irradiance: color * *irradiance,
        })
        .collect();
    let mut of_file = file_lights(model, placement, playing.first());
    if model.nodes.iter().enumerate().any(|(n, node)| node.light.is_some() && playing.moves(model, n)) {
        warnings.push("the lights of the file do not move: they have the pose of the first frame".to_owned());
    }
    let omitted = keep_brightest(&mut of_file, placement.bounds());
    if omitted > 0 {
        let text =
            "lights of the file are omitted: of point lights and spotlights, only the brightest at the model are used";
        warnings.push(format!("{omitted} {text} (at most {MAX_POINT_LIGHTS})"));
    }
    let at_model: f32 = of_file.iter().map(|light| irradiance_at(light, placement.bounds())).sum();
    let dimmed = if at_model > FILE_IRRADIANCE { FILE_IRRADIANCE / at_model } else { 1.0 };
    for light in &mut of_file {
        match light {
            PointLikeLight::Directional { irradiance, .. } => *irradiance *= dimmed * strength,
            PointLikeLight::Point { intensity, .. } => *intensity *= dimmed * strength,
        }
    }
    out.extend(of_file);
    out
}

/// Removes all but the brightest point lights and spotlights, measured at the model. Returns the number of removed
/// lights.
fn keep_brightest(lights: &mut Vec<PointLikeLight>, bounds: (Vec3, Vec3)) -> usize {
    let is_point = |light: &PointLikeLight| matches!(light, PointLikeLight::Point { .. });
    let (mut points, others): (Vec<_>, Vec<_>) = lights.drain(..).partition(is_point);
    let omitted = points.len().saturating_sub(MAX_POINT_LIGHTS);
    if omitted > 0 {
        points.sort_by(|a, b| irradiance_at(b, bounds).total_cmp(&irradiance_at(a, bounds)));
        points.truncate(MAX_POINT_LIGHTS);
    }
    lights.extend(others);
    lights.extend(points);
    omitted
}

fn file_lights(model: &Model, placement: &Placement, clip: Option<(&Animation, f32)>) -> Vec<PointLikeLight> {
    let matrices = node_matrices(model, &sample(model, clip));
    model
        .nodes
        .iter()
        .zip(matrices)
        .filter_map(|(node, matrix)| {
            let light = model.lights.get(node.light?)?;
            Some(file_light(light, placement.world_from_model * matrix, placement.scale))
        })
        .collect()
}

/// Converts a light of the model file. Its photometric intensity (candela) is used as a radiometric intensity, as in
/// web viewers. The intensity is scaled with the model, so that the irradiance of a surface does not depend on the
/// model's scale.
fn file_light(light: &plinth_model::Light, world: DMat4, scale: f32) -> PointLikeLight {
    let axis = world.transform_vector3(DVec3::NEG_Z).normalize_or(DVec3::NEG_Z).as_vec3();
    let color = Vec3::from(light.color) * light.intensity;
    let point = |cone| PointLikeLight::Point {
        position: world.transform_point3(DVec3::ZERO).as_vec3(),
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

/// Returns the irradiance that a light of the model file causes at the model, in the brightest channel. The cone of a
/// spotlight is ignored.
fn irradiance_at(light: &PointLikeLight, bounds: (Vec3, Vec3)) -> f32 {
    match light {
        PointLikeLight::Directional { irradiance, .. } => irradiance.max_element(),
        PointLikeLight::Point { position, intensity, .. } => {
            let nearest = ((bounds.1 - bounds.0) * 0.5).length_squared().max(1e-6);
            let away = position.distance_squared((bounds.0 + bounds.1) * 0.5);
            intensity.max_element() / away.max(nearest)
        }
    }
}

#[cfg(test)]
mod tests {
    use plinth_model::Interpolation;

    use super::*;

    const BOX: (Vec3, Vec3) = (Vec3::NEG_ONE, Vec3::ONE);

    fn candela(intensity: f32) -> plinth_model::Light {
        plinth_model::Light { kind: LightKind::Point, color: [1.0; 3], intensity, range: Some(10.0) }
    }

    #[test]
    fn irradiance_of_a_point_light_does_not_depend_on_the_scale() {
        let at = |scale: f64| {
            let world = DMat4::from_scale(DVec3::splat(scale)) * DMat4::from_translation(DVec3::new(0.0, 3.0, 4.0));
            file_light(&candela(50.0), world, scale as f32)
        };
        let PointLikeLight::Point { position, intensity, range, .. } = at(0.5) else { panic!("not a point") };
        assert!((intensity.x / position.length_squared() - 2.0).abs() < 1e-5);
        assert!((range.unwrap() - 5.0).abs() < 1e-5);
        assert!((irradiance_at(&at(2.0), BOX) - 2.0).abs() < 1e-5);
    }

    #[test]
    fn the_brightest_point_lights_are_kept() {
        let at =
            |distance: f64| file_light(&candela(50.0), DMat4::from_translation(DVec3::new(0.0, 0.0, distance)), 1.0);
        let sun = PointLikeLight::Directional { to_light: Vec3::Y, irradiance: Vec3::splat(1e-6) };
        let mut lights: Vec<PointLikeLight> = (0..MAX_POINT_LIGHTS).map(|_| at(50.0)).collect();
        lights.extend([sun, at(3.0)]);
        assert_eq!(keep_brightest(&mut lights, BOX), 1);
        assert_eq!(lights.len(), MAX_POINT_LIGHTS + 1);
        assert!(lights.contains(&sun) && lights.contains(&at(3.0)));
        assert_eq!(keep_brightest(&mut lights, BOX), 0);
    }

    #[test]
    fn a_clip_moves_a_node_if_its_keys_differ() {
        let channel = |values: [f32; 6]| Channel {
            node: 0,
            property: Property::Translation,
            interpolation: Interpolation::Linear,
            times: vec![0.0, 1.0],
            values: values.to_vec(),
        };
        assert!(!changes(&channel([1.0, 2.0, 3.0, 1.0, 2.0, 3.0])));
        assert!(changes(&channel([1.0, 2.0, 3.0, 1.0, 2.0, 4.0])));
        let node = |parent| plinth_model::Node { parent, ..plinth_model::Node::default() };
        let model = Model { nodes: vec![node(None), node(Some(0)), node(None)], ..Model::default() };
        let clip = Animation { channels: vec![channel([0.0, 0.0, 0.0, 1.0, 0.0, 0.0])], ..Animation::default() };
        let playing = Playing { clip: Some(&clip), times: &[Some(0.0)] };
        assert_eq!([0, 1, 2].map(|n| playing.moves(&model, n)), [true, true, false]);
    }

    #[test]
    fn a_light_shines_along_the_minus_z_axis_of_its_node() {
        let sun = plinth_model::Light { kind: LightKind::Directional, ..candela(3.0) };
        let world = DMat4::from_rotation_x(-std::f64::consts::FRAC_PI_2);
        let PointLikeLight::Directional { to_light, irradiance } = file_light(&sun, world, 7.0) else {
            panic!("not directional")
        };
        assert!((to_light - Vec3::Y).length() < 1e-6 && (irradiance - Vec3::splat(3.0)).length() < 1e-6);
    }

    #[test]
    fn a_light_inside_the_model_counts_as_if_at_its_surface() {
        let inside = file_light(&candela(3.0), DMat4::IDENTITY, 1.0);
        assert!((irradiance_at(&inside, BOX) - 1.0).abs() < 1e-5);
    }
}
