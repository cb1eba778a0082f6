//! Decodes an image (PNG, JPEG or WebP), as a render does for a background or a decal.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plinth_model::{Limits, read_picture};

/// Maximum length of a side of the decoded image, in pixels. Larger images are halved until they fit.
const MAX_SIDE: u32 = 64;

fuzz_target!(|data: &[u8]| {
    // Skips large images, because decoding an image at the limit takes seconds.
    if plinth_fuzz::is_large_image(data) {
        return;
    }
    if let Ok(picture) = read_picture(data, &Limits::default(), MAX_SIDE) {
        assert!((1..=MAX_SIDE).contains(&picture.width) && (1..=MAX_SIDE).contains(&picture.height));
        assert_eq!(picture.pixels.len(), picture.width as usize * picture.height as usize * 4);
    }
});
