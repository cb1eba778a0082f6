//! Decodes an environment. The three parts of the input are its metadata (JSON), its image (WebP) and its gain map
//! (WebP).
#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use plinth_fuzz::{is_large_image, parts};
use plinth_scene::gain_map;

fuzz_target!(|data: &[u8]| {
    let [metadata, sdr, gain] = parts(data);
    // Skips large images, because decoding an image at the limit of 8192 × 4096 takes seconds.
    if is_large_image(sdr) || is_large_image(gain) {
        return;
    }
    if let Ok(map) = gain_map(sdr, gain, metadata) {
        assert!(map.width >= 2 && map.height >= 1);
        assert_eq!(map.pixels.len(), map.width as usize * map.height as usize);
        assert!(map.pixels.as_flattened().iter().all(|radiance| radiance.is_finite() && *radiance >= 0.0));
    }
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let changed = plinth_fuzz::mutate_json_and_parts::<3>(&data[..size], max_size, seed, fuzzer_mutate);
    plinth_fuzz::replace(data, size, &changed)
});
