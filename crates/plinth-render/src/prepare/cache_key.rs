//! The names of prepared light in the cache. Each name is a hash of everything on which the light depends.

use std::collections::BTreeSet;

use plinth_bake::BakeOptions;
use plinth_scene::{PointLikeLight, Scene};

use super::PrepareInputs;
use super::light::{bake_options, eyes};
use crate::cache::{Cache, Key};
use crate::upload::geometry::primitive_of;
use crate::upload::material::used_slots;

/// The names under which the light of a scene is cached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LightCacheKeys {
    pub(crate) environment: String,
    pub(crate) model: String,
    /// The light on the model, whatever the cameras, the size of details and the quality. It is used for drafts.
    pub(crate) any_camera: String,
}

impl LightCacheKeys {
    pub(crate) fn of(cache: &Cache, inputs: &PrepareInputs<'_>) -> Self {
        let environment = add_environment(cache.key("environment"), inputs.scene);
        let surfaces = of_surfaces(cache.key("model"), inputs);
        let (mut exact, mut any) = (surfaces.clone(), surfaces);
        add_scene(&mut exact, inputs);
        let PrepareInputs { scene, moving, floor, .. } = inputs;
        any.debug(&(scene.key_light, scene.occlusion, floor, moving));
        Self { environment: environment.name(), model: exact.name(), any_camera: any.name() }
    }
}

/// Returns the name of the light on the model in one pose. The triangles were chosen for another pose.
pub(super) fn pose_name(cache: &Cache, inputs: &PrepareInputs<'_>, indices: &[Vec<u32>]) -> String {
    let mut key = of_surfaces(cache.key("pose"), inputs);
    add_scene(&mut key, inputs);
    for list in indices {
        key.list(list);
    }
    key.name()
}

/// Adds the environment and the surfaces of the model.
fn of_surfaces(key: Key, inputs: &PrepareInputs<'_>) -> Key {
    let mut key = add_environment(key, inputs.scene);
    for one in inputs.posed {
        key.list(&[u32::from(one.mirrored)]);
        key.list(&one.positions);
        key.list(&one.normals);
    }
    add_primitives(&mut key, inputs);
    key
}

/// Adds the panorama, and the lights that are drawn into it.
fn add_environment(mut key: Key, scene: &Scene) -> Key {
    key.list(&[scene.environment.width, scene.environment.height]);
    key.list(&scene.environment.pixels);
    let soft = |light: &&PointLikeLight| matches!(light, PointLikeLight::Directional { .. });
    key.debug(&scene.lights.iter().filter(soft).collect::<Vec<_>>());
    key
}

/// Adds the lights, the cameras and the floor.
fn add_scene(key: &mut Key, inputs: &PrepareInputs<'_>) {
    let PrepareInputs { scene, moving, floor, smallest, .. } = inputs;
    let options: BakeOptions = bake_options(inputs);
    key.debug(&(scene.key_light, scene.occlusion, options, floor, smallest, moving));
    key.list(&eyes(scene));
}

/// Adds the vertices and the materials of all drawn primitives, and the images that these materials use.
fn add_primitives(key: &mut Key, inputs: &PrepareInputs<'_>) {
    let model = &inputs.scene.model;
    let mut images = BTreeSet::new();
    for primitive in inputs.posed.iter().filter_map(|one| primitive_of(inputs.scene, one)) {
        key.list(&primitive.indices);
        key.list(&primitive.colors);
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
    for image in images.into_iter().filter_map(|index| model.images.get(index)) {
        key.list(&[image.width, image.height]);
        key.list(&image.pixels);
    }
}
