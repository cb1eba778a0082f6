//! Decodes a KTX2 image, as a render does for a texture. The target itself makes the model that contains the image, so that
//! mutations change the image and not the model.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plinth_model::{Limits, LoadOptions, ModelError, load_glb};

/// Maximum length of a side of the decoded image, in pixels. Larger images are halved until they fit.
const MAX_SIDE: u32 = 64;

fuzz_target!(|data: &[u8]| {
    // The target `image` covers the other formats of images.
    if !data.starts_with(b"\xabKTX 20\xbb") {
        return;
    }
    // Rejects large images, because decoding one of them takes seconds.
    let limits = Limits { image_pixels: 1 << 18, ..plinth_fuzz::limits() };
    match load_glb(&plinth_fuzz::glb_with_ktx2(data), &LoadOptions { limits, max_texture_side: MAX_SIDE }) {
        Ok(model) => {
            let image = &model.images[0];
            assert!((1..=MAX_SIDE).contains(&image.width) && (1..=MAX_SIDE).contains(&image.height));
            assert_eq!(image.pixels.len(), image.width as usize * image.height as usize * 4);
        }
        Err(ModelError::Limit { .. }) => {}
        Err(error) => assert!(error.to_string().starts_with("images[0]: it cannot be decoded"), "{error}"),
    }
});
