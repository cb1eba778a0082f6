//! Loads a GLB completely, as a render does. The indices in the loaded model must be in range, because later steps do
//! not check them.
#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use plinth_model::{LoadOptions, Model, Primitive, load_glb};

fuzz_target!(|data: &[u8]| {
    if let Ok(model) = load_glb(data, &LoadOptions { limits: plinth_fuzz::limits(), max_texture_side: 64 }) {
        check_nodes(&model);
        check_lists(&model);
        for primitive in model.meshes.iter().flat_map(|m| &m.primitives) {
            assert!(primitive.material < model.materials.len());
            check_primitive(primitive);
        }
    }
});

fn check_nodes(model: &Model) {
    for (i, node) in model.nodes.iter().enumerate() {
        assert!(node.parent.is_none_or(|parent| parent < i));
        assert!(node.mesh.is_none_or(|mesh| mesh < model.meshes.len()));
        assert!(node.light.is_none_or(|light| light < model.lights.len()));
        assert!(node.local.matrix().is_finite());
        if let (Some(mesh), Some(skin)) = (node.mesh, node.skin) {
            let skin = &model.skins[skin];
            assert!(skin.joints.iter().all(|joint| *joint < model.nodes.len()));
            assert_eq!(skin.joints.len(), skin.inverse_bind.len());
            let joints = model.meshes[mesh].primitives.iter().flat_map(|p| p.joints.as_flattened());
            assert!(joints.copied().all(|joint| usize::from(joint) < skin.joints.len()));
        }
    }
}

fn check_lists(model: &Model) {
    assert!(model.textures.iter().all(|texture| texture.image < model.images.len()));
    for image in &model.images {
        assert_eq!(image.pixels.len(), image.width as usize * image.height as usize * 4);
    }
    for channel in model.animations.iter().flat_map(|clip| &clip.channels) {
        assert!(channel.node < model.nodes.len());
        assert!(!channel.times.is_empty() && channel.values.len() % channel.times.len() == 0);
    }
}

fn check_primitive(primitive: &Primitive) {
    let vertices = primitive.positions.len();
    assert!(primitive.indices.iter().all(|i| (*i as usize) < vertices));
    let fits = |length: usize| length == 0 || length == vertices;
    assert!(primitive.uvs.iter().all(|set| fits(set.len())));
    assert!(fits(primitive.normals.len()) && fits(primitive.tangents.len()) && fits(primitive.colors.len()));
    assert!(fits(primitive.joints.len()) && primitive.joints.len() == primitive.weights.len());
    for target in &primitive.morph_targets {
        assert!(fits(target.positions.len()) && fits(target.normals.len()) && fits(target.tangents.len()));
    }
    assert!(primitive.positions.as_flattened().iter().all(|v| v.is_finite()));
    assert!(primitive.normals.as_flattened().iter().all(|v| v.is_finite()));
    assert!(primitive.tangents.as_flattened().iter().all(|v| v.is_finite()));
}

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let changed = plinth_fuzz::mutate_glb(&data[..size], max_size, seed, fuzzer_mutate);
    plinth_fuzz::replace(data, size, &changed)
});
