//! Inspects a GLB. Inspecting must accept exactly the files that loading accepts.
#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use plinth_model::{LoadOptions, inspect, load_glb};

fuzz_target!(|data: &[u8]| {
    let options = LoadOptions { limits: plinth_fuzz::limits(), max_texture_side: 64 };
    let (inspected, loaded) = (inspect(data, &options), load_glb(data, &options));
    assert_eq!(inspected.err(), loaded.err());
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let changed = plinth_fuzz::mutate_glb(&data[..size], max_size, seed, fuzzer_mutate);
    plinth_fuzz::replace(data, size, &changed)
});
