//! The names of prepared light in the cache. Each name is a hash of everything on which the light depends.

use std::collections::BTreeSet;

use plinth_bake::BakeOptions;
use plinth_scene::{PointLikeLight, Scene};

use super::PrepareInputs;
use super::eyes::eyes;
use super::light::bake_options;
use crate::cache::{Cache, Key};
use crate::upload::geometry::primitive_of;
use crate::upload::material::used_slots;

/// The names under which the light of a scene is cached.
#[derive(Clone, Debug)]
pub(crate) struct LightCacheKeys {
    pub(crate) environment: String,
    pub(crate) model: String,
    /// Name of the light on the model that does not depend on the cameras, the size of details and the quality. Drafts
    /// look up light under this name.
    pub(crate) any_camera: String,
    /// Name of the surfaces of the model, which does not depend on the light.
    pub(crate) surfaces: String,
    /// Name of the triangles to draw.
    pub(crate) triangles: String,
}

impl LightCacheKeys {
    pub(crate) fn of(cache: &Cache, inputs: &PrepareInputs<'_>) -> Self {
        let PrepareInputs { scene, moving, floor, smallest, .. } = inputs;
        let mut panorama = cache.key("environment");
        add_environment(&mut panorama, scene);
        let mut environment = panorama.clone();
        environment.debug(&scene.light_detail.is_draft());
        let mut surfaces = cache.key("surfaces");
        add_surfaces(&mut surfaces, inputs);
        let surfaces = surfaces.name();
        let with = |kind: &'static str, known: &[&str]| {
            let mut key = cache.key(kind);
            for name in known {
                key.list(name.as_bytes());
            }
            key
        };
        let of_light = [surfaces.as_str(), &panorama.name()];
        let (mut model, mut any) = (with("model", &of_light), with("any", &of_light));
        add_scene(&mut model, inputs);
        any.debug(&(scene.key_light, scene.occlusion, floor, moving));
        let mut triangles = with("triangles", &[&surfaces]);
        triangles.debug(&(smallest, scene.reshaped(inputs.posed)));
        Self {
            environment: environment.name(),
            model: model.name(),
            any_camera: any.name(),
            triangles: triangles.name(),
            surfaces,
        }
    }
}

/// Returns the name of the light on the model in one pose. `indices` are the triangles, which were chosen for another
/// pose.
pub(super) fn pose_name(cache: &Cache, inputs: &PrepareInputs<'_>, indices: &[Vec<u32>]) -> String {
    let mut key = cache.key("pose");
    add_environment(&mut key, inputs.scene);
    add_surfaces(&mut key, inputs);
    add_scene(&mut key, inputs);
    for list in indices {
        key.list(list);
    }
    key.name()
}

/// Adds the surfaces of the model.
fn add_surfaces(key: &mut Key, inputs: &PrepareInputs<'_>) {
    for one in inputs.posed {
        key.list(&[u32::from(one.mirrored)]);
        key.list(&one.positions);
        key.list(&one.normals);
        key.list(&one.tangents);
    }
    add_primitives(key, inputs);
}

/// Adds the panorama, and the lights that are drawn into it.
fn add_environment(key: &mut Key, scene: &Scene) {
    key.list(&[scene.environment.width, scene.environment.height]);
    key.list(&scene.environment.pixels);
    let soft = |light: &&PointLikeLight| matches!(light, PointLikeLight::Directional { .. });
    key.debug(&scene.lights.iter().filter(soft).collect::<Vec<_>>());
}

/// Adds the lights, the cameras and the floor.
fn add_scene(key: &mut Key, inputs: &PrepareInputs<'_>) {
    let PrepareInputs { scene, moving, floor, smallest, .. } = inputs;
    let options: BakeOptions = bake_options(inputs);
    key.debug(&(scene.key_light, scene.occlusion, options, floor, smallest, moving));
    key.debug(&scene.reshaped(inputs.posed));
    key.list(&eyes(scene));
}

/// Adds the vertices and the materials of all drawn primitives, and the images that these materials use.
fn add_primitives(key: &mut Key, inputs: &PrepareInputs<'_>) {
    let model = &inputs.scene.model;
    let mut images = BTreeSet::new();
    for primitive in inputs.posed.iter().filter_map(|one| primitive_of(inputs.scene, one)) {
        key.list(&primitive.indices);
        key.list(&primitive.colors);
        key.list(&primitive.tangents);
        primitive.uvs.iter().for_each(|set| key.list(set));
        let material = &model.materials[primitive.material];
        key.debug(&(primitive.topology, primitive.uvs.len(), primitive.morph_targets.len(), material));
        for slot in used_slots(model, material) {
            let Some(texture) = slot.slot.of(material).and_then(|reference| model.textures.get(reference.texture))
            else {
                continue;
            };
            key.debug(texture);
            images.insert(texture.image);
        }
    }
    let images: Vec<_> = images.into_iter().filter_map(|index| model.images.get(index)).collect();
    key.list(&images.iter().map(|image| [image.width, image.height]).collect::<Vec<_>>());
    key.long_lists(&images.iter().map(|image| image.identity()).collect::<Vec<_>>());
}
