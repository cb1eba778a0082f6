//! Positions from which visibility is tested, so that more rays are cast at points that a camera sees.

use std::f32::consts::TAU;

use glam::Vec3;
use plinth_scene::{LightDetail, Scene, rounded_length};

/// Maximum number of positions.
const MAX_EYES: usize = 24;
/// Same as [`MAX_EYES`], for [`LightDetail::Interactive`].
const MAX_INTERACTIVE_EYES: usize = 6;
/// Number of equal parts of a turn. A camera path with a shot in each of them surrounds the model.
const SECTORS: usize = 12;
/// Minimum angle between the lowest and the highest camera for a ring between theirs, in degrees.
const WIDE: f32 = 30.0;
/// Minimum distance of the cameras that surround the model from its centre, as a multiple of the radius of its bounding sphere.
const MIN_DISTANCE: f32 = 1.5;

/// Returns camera positions that represent the cameras of all shots. If they surround the model, the positions are rings around
/// it, which do not depend on where the path starts and into how many frames it is divided. Therefore the light of a model can
/// be used again for a video with another length.
pub(super) fn eyes(scene: &Scene) -> Vec<Vec3> {
    let is_interactive = scene.light_detail == LightDetail::Interactive;
    if !is_interactive && let Some(rings) = rings(scene) {
        return rings;
    }
    let most = if is_interactive { MAX_INTERACTIVE_EYES } else { MAX_EYES };
    let step = scene.shots.len().div_ceil(most).max(1);
    scene.shots.iter().step_by(step).map(|shot| shot.camera.position).collect()
}

/// Returns positions on rings around the model, from the elevation of the lowest camera to that of the highest, at the distance
/// of the nearest one. Returns `None` if the cameras do not surround it.
fn rings(scene: &Scene) -> Option<Vec<Vec3>> {
    let (min, max) = scene.bounds;
    let (center, radius) = (0.5 * (min + max), 0.5 * min.distance(max));
    let mut has_shot = [false; SECTORS];
    let (mut lowest, mut highest, mut nearest) = (90.0_f32, -90.0_f32, f32::MAX);
    for shot in &scene.shots {
        let offset = shot.camera.position - center;
        if offset.length() <= MIN_DISTANCE * radius {
            return None;
        }
        let turn = offset.z.atan2(offset.x) / TAU;
        has_shot[(turn.rem_euclid(1.0) * SECTORS as f32) as usize % SECTORS] = true;
        let elevation = (offset.y / offset.length()).clamp(-1.0, 1.0).asin().to_degrees();
        (lowest, highest, nearest) = (lowest.min(elevation), highest.max(elevation), nearest.min(offset.length()));
    }
    if has_shot.contains(&false) {
        return None;
    }
    // Rounding errors must not change the rings of similar camera paths.
    let (low, high, distance) = (lowest.round(), highest.round(), rounded_length(nearest));
    let mut elevations = vec![low];
    if high - low > WIDE {
        elevations.push(0.5 * (low + high));
    }
    if high > low {
        elevations.push(high);
    }
    let per_ring = MAX_EYES / elevations.len();
    let on_ring = |(ring, elevation): (usize, &f32)| {
        let (up, out) = elevation.to_radians().sin_cos();
        (0..per_ring).map(move |i| {
            // The positions of two rings are not above each other.
            let turn = (i as f32 + 0.5 * (ring % 2) as f32) / per_ring as f32;
            let (z, x) = (turn * TAU).sin_cos();
            center + distance * Vec3::new(out * x, up, out * z)
        })
    };
    Some(elevations.iter().enumerate().flat_map(on_ring).collect())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use plinth_model::{Mesh, Model, Node, Primitive};
    use plinth_scene::build_scene;
    use plinth_spec::RenderSettings;
    use plinth_spec::settings::ParseOptions;
    use serde_json::json;

    use super::*;

    /// Returns a scene with a triangle and these settings.
    fn scene(settings: &serde_json::Value) -> Scene {
        let positions = vec![[-1.0, -0.5, 0.3], [1.0, -0.5, -0.2], [0.0, 0.5, 0.0]];
        let primitive = Primitive { positions, indices: vec![0, 1, 2], ..Primitive::default() };
        let model = Model {
            nodes: vec![Node { mesh: Some(0), ..Node::default() }],
            meshes: vec![Mesh { primitives: vec![primitive], ..Mesh::default() }],
            materials: vec![plinth_model::Material::default()],
            ..Model::default()
        };
        let settings = RenderSettings::from_json(settings, ParseOptions::default()).unwrap();
        build_scene(Arc::new(model), &settings, None).unwrap()
    }

    #[test]
    fn turntables_of_all_lengths_and_start_angles_have_the_same_positions() {
        let expected = eyes(&scene(&json!({ "length": 1 })));
        assert_eq!(expected.len(), MAX_EYES);
        for settings in [json!({ "length": 6 }), json!({ "length": 2, "startAngle": 77 })] {
            assert_eq!(eyes(&scene(&settings)), expected, "{settings}");
        }
    }

    #[test]
    fn rings_have_the_elevations_of_the_cameras() {
        let elevations = |scene: &Scene| {
            let center = 0.5 * (scene.bounds.0 + scene.bounds.1);
            let elevation = |position: Vec3| (position - center).normalize().y.asin().to_degrees().round() as i32;
            let of_cameras = scene.shots.iter().map(|shot| elevation(shot.camera.position));
            let of_rings: BTreeSet<i32> = eyes(scene).into_iter().map(elevation).collect();
            (of_cameras.collect::<BTreeSet<i32>>(), of_rings.into_iter().collect::<Vec<_>>())
        };
        let mut scene = scene(&json!({ "length": 1 }));
        let (of_cameras, of_rings) = elevations(&scene);
        assert_eq!(of_cameras.into_iter().collect::<Vec<_>>(), of_rings);
        assert_eq!(of_rings.len(), 1);
        scene.shots[7].camera.position.y += 4.0 * scene.bounds.0.distance(scene.bounds.1);
        let (of_cameras, of_rings) = elevations(&scene);
        assert_eq!((of_rings[0], of_rings[2]), (*of_cameras.first().unwrap(), *of_cameras.last().unwrap()));
    }

    #[test]
    fn cameras_that_do_not_surround_the_model_are_positions_themselves() {
        let mut half = scene(&json!({ "length": 1 }));
        half.shots.truncate(15);
        let mut inside = scene(&json!({ "length": 1 }));
        inside.shots[3].camera.position = 0.5 * (inside.bounds.0 + inside.bounds.1);
        let mut draft = scene(&json!({ "length": 1 }));
        draft.light_detail = LightDetail::Interactive;
        for scene in [half, inside, draft] {
            let cameras: Vec<Vec3> = scene.shots.iter().map(|shot| shot.camera.position).collect();
            let found = eyes(&scene);
            assert!(!found.is_empty() && found.iter().all(|eye| cameras.contains(eye)), "{found:?}");
        }
    }
}
