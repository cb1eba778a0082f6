//! Loading a GLB completely, as for a render.
#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use plinth_model::{LoadOptions, load_glb};

fuzz_target!(|data: &[u8]| {
    if let Ok(model) = load_glb(data, &LoadOptions { limits: plinth_fuzz::limits(), max_texture_side: 64 }) {
        for primitive in model.meshes.iter().flat_map(|m| &m.primitives) {
            // What stands behind the reader's door is trusted by everything after it.
            let vertices = primitive.positions.len();
            assert!(primitive.indices.iter().all(|i| (*i as usize) < vertices));
            assert!(primitive.uvs.iter().all(|set| set.is_empty() || set.len() == vertices));
            assert!(primitive.material < model.materials.len());
        }
    }
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    plinth_fuzz::mutate_glb(data, size, max_size, seed, fuzzer_mutate)
});
