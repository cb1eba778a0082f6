//! Reads a panorama (`.hdr` or `.exr`) and encodes it as an environment, as the server does. The environment must be
//! readable.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plinth_scene::{EnvironmentMap, encode_gain_map, gain_map, radiance_hdr, read_panorama};

/// Width in pixels to which panoramas are scaled down.
const MAX_WIDTH: u32 = 64;

fuzz_target!(|data: &[u8]| {
    if let Ok(map) = radiance_hdr(data) {
        check(&map);
    }
    let Ok(panorama) = read_panorama(data, MAX_WIDTH) else { return };
    check(&panorama.map);
    let encoded = encode_gain_map(&panorama.map).expect("a panorama that was read can be encoded");
    let decoded =
        gain_map(&encoded.sdr, &encoded.gain_map, &encoded.metadata).expect("an encoded panorama can be read");
    assert_eq!((decoded.width, decoded.height), (panorama.map.width, panorama.map.height));
    assert!(encoded.largest_error.is_finite());
});

fn check(map: &EnvironmentMap) {
    assert!(map.width >= 2 && map.height >= 1);
    assert_eq!(map.pixels.len(), map.width as usize * map.height as usize);
    assert!(map.pixels.as_flattened().iter().all(|radiance| radiance.is_finite() && *radiance >= 0.0));
}
