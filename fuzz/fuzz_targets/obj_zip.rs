//! Converts a ZIP archive with an OBJ file to a GLB. The GLB must be loadable.
#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use plinth_model::{LoadOptions, load_glb, obj_zip::glb_from_zip};

fuzz_target!(|data: &[u8]| {
    let limits = plinth_fuzz::limits();
    if let Ok(converted) = glb_from_zip(data, &limits) {
        load_glb(&converted.glb, &LoadOptions { max_texture_side: 64, ..LoadOptions::default() })
            .expect("a converted file can be loaded");
    }
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let changed = plinth_fuzz::mutate_zip(&data[..size], max_size, seed, fuzzer_mutate);
    plinth_fuzz::replace(data, size, &changed)
});
