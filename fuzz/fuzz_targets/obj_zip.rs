//! Converts a ZIP archive with an OBJ file to a GLB. The GLB must be loadable, unless the data of an image is damaged.
#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use plinth_model::{LoadOptions, load_glb, obj_zip::glb_from_zip};

fuzz_target!(|data: &[u8]| {
    let limits = plinth_fuzz::limits();
    if let Ok(converted) = glb_from_zip(data, &limits) {
        let options = LoadOptions { max_texture_side: 64, ..LoadOptions::default() };
        if let Err(error) = load_glb(&converted.glb, &options) {
            let error = error.to_string();
            assert!(error.starts_with("images[") && error.contains("decoded"), "a converted file cannot be loaded: {error}");
        }
    }
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let changed = plinth_fuzz::mutate_zip(&data[..size], max_size, seed, fuzzer_mutate);
    plinth_fuzz::replace(data, size, &changed)
});
