//! Tests of image decoding.

use std::io::Cursor;
use std::sync::Arc;

use image::{DynamicImage, ExtendedColorType, ImageFormat};
use plinth_model::{Image, ImageFacts, Limits, LoadOptions, inspect, load_glb_with_known_images, read_picture};
use serde_json::json;

use crate::glb::Glb;

/// Encodes RGBA pixels as PNG.
pub(crate) fn png(width: u32, height: u32, rgba: &[u8]) -> Vec<u8> {
    encoded(width, height, rgba, ExtendedColorType::Rgba8, ImageFormat::Png)
}

fn encoded(width: u32, height: u32, bytes: &[u8], color: ExtendedColorType, format: ImageFormat) -> Vec<u8> {
    let mut out = Cursor::new(Vec::new());
    image::write_buffer_with_format(&mut out, bytes, width, height, color, format).unwrap();
    out.into_inner()
}

fn with_image(mime: &str, bytes: &[u8]) -> Glb {
    let mut glb = Glb::textured();
    glb.image(mime, bytes);
    glb
}

fn decoded(mime: &str, bytes: &[u8]) -> Arc<Image> {
    with_image(mime, bytes).load().images.swap_remove(0)
}

#[test]
fn png_images_of_every_bit_depth_and_channel_count_become_rgba() {
    let one =
        |bytes: &[u8], color| decoded("image/png", &encoded(1, 1, bytes, color, ImageFormat::Png)).pixels.to_vec();
    assert_eq!(one(&[9], ExtendedColorType::L8), [9, 9, 9, 255]);
    assert_eq!(one(&[9, 100], ExtendedColorType::La8), [9, 9, 9, 100]);
    assert_eq!(one(&[1, 2, 3], ExtendedColorType::Rgb8), [1, 2, 3, 255]);
    assert_eq!(one(&[1, 2, 3, 4], ExtendedColorType::Rgba8), [1, 2, 3, 4]);
    let wide = |values: &[u16]| values.iter().flat_map(|v| v.to_ne_bytes()).collect::<Vec<u8>>();
    assert_eq!(one(&wide(&[0x8080]), ExtendedColorType::L16), [0x80, 0x80, 0x80, 255]);
    assert_eq!(one(&wide(&[0, 0x4040, 0xFFFF]), ExtendedColorType::Rgb16), [0, 0x40, 255, 255]);
    assert_eq!(one(&wide(&[0, 0x4040, 0xFFFF, 0x2020]), ExtendedColorType::Rgba16), [0, 0x40, 255, 0x20]);
}

#[test]
fn jpeg_and_webp_are_read_regardless_of_the_declared_mime_type() {
    let grey = [128; 8 * 8 * 3];
    let jpeg = encoded(8, 8, &grey, ExtendedColorType::Rgb8, ImageFormat::Jpeg);
    assert_eq!(decoded("image/jpeg", &jpeg).pixels[..4], [128, 128, 128, 255]);
    assert_eq!(decoded("image/png", &jpeg).pixels[..4], [128, 128, 128, 255]);
    let webp = encoded(1, 1, &[1, 2, 3, 4], ExtendedColorType::Rgba8, ImageFormat::WebP);
    let mut glb = with_image("image/webp", &webp);
    glb.json["textures"][0] = json!({"extensions": {"EXT_texture_webp": {"source": 0}}});
    glb.json["extensionsRequired"] = json!(["EXT_texture_webp"]);
    assert_eq!(glb.load().images[0].pixels.to_vec(), [1, 2, 3, 4]);
}

fn ktx2(bytes: &[u8]) -> Glb {
    let mut glb = with_image("image/ktx2", bytes);
    glb.json["textures"][0] = json!({"extensions": {"KHR_texture_basisu": {"source": 0}}});
    glb.json["extensionsRequired"] = json!(["KHR_texture_basisu"]);
    glb
}

/// Asserts that the upper corners of an image of 8 × 8 texels have nearly these values.
#[track_caller]
fn assert_corners(bytes: &[u8], expected: [[i32; 4]; 2]) {
    let image = ktx2(bytes).load().images.swap_remove(0);
    assert_eq!((image.width, image.height), (8, 8));
    let found = [0, 7].map(|x: usize| [0, 1, 2, 3].map(|c| i32::from(image.pixels[x * 4 + c])));
    let near = found.iter().flatten().zip(expected.iter().flatten()).all(|(f, e)| (f - e).abs() <= 12);
    assert!(near, "{found:?} is not {expected:?}");
}

#[test]
fn both_basis_universal_encodings_are_read() {
    for bytes in
        [include_bytes!("../fixtures/halves_etc1s.ktx2").as_slice(), include_bytes!("../fixtures/halves_uastc.ktx2")]
    {
        assert_corners(bytes, [[255, 0, 0, 255], [0, 0, 255, 255]]);
    }
}

/// Builds an ETC1S file with two slices. In the first slice, the left half is red and the right half is cyan. In the
/// second slice, it is the other way round. `channels` are the channels of the slices in the data format descriptor.
fn two_slices(channels: [u8; 2]) -> Vec<u8> {
    let mut bytes = include_bytes!("../fixtures/halves_etc1s.ktx2").to_vec();
    // This bit is the code of the green value of the blue endpoint, which changes from 0 to 31.
    bytes[265] ^= 4;
    // The file has a code only for the endpoint after the last one. With this bit, the codes are 0 for the last endpoint
    // and 1 for the one after it.
    bytes[291] ^= 2;
    // The last byte of the file is the slice. The codes of its halves are the second and the fifth bit from the right.
    bytes.truncate(314);
    bytes.extend([0b0001_0010, 0b0001_0000]);
    // The length of the mip level, and the offset and the length of the second slice.
    (bytes[88], bytes[216], bytes[220]) = (2, 1, 1);
    let mut descriptor = bytes[104..148].to_vec();
    descriptor[31] = channels[0];
    descriptor.extend([64, 0, 63, channels[1], 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255]);
    let offset = bytes.len() as u32;
    bytes[48..52].copy_from_slice(&offset.to_le_bytes());
    bytes[52] = descriptor.len() as u8;
    bytes.extend(descriptor);
    bytes
}

#[test]
fn the_second_slice_of_etc1s_is_green_or_alpha() {
    // RRR and GGG.
    assert_corners(&two_slices([3, 4]), [[255, 255, 0, 255], [0, 0, 255, 255]]);
    // RGB and AAA.
    assert_corners(&two_slices([0, 15]), [[255, 0, 0, 255], [0, 255, 255, 0]]);
}

/// Builds a KTX2 file with one mip level of uncompressed texels.
fn uncompressed_ktx2(format: u32, width: u32, height: u32, texels: &[u8]) -> Vec<u8> {
    let mut out = b"\xABKTX 20\xBB\r\n\x1A\n".to_vec();
    for word in [format, 1, width, height, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0] {
        out.extend(u32::to_le_bytes(word));
    }
    for long in [104_u64, texels.len() as u64, texels.len() as u64] {
        out.extend(long.to_le_bytes());
    }
    out.extend(texels);
    out
}

#[test]
fn uncompressed_ktx2_of_one_to_four_channels_is_read() {
    let one = |format, texels: &[u8]| ktx2(&uncompressed_ktx2(format, 1, 1, texels)).load().images[0].pixels.to_vec();
    assert_eq!(one(9, &[7]), [7, 7, 7, 255]);
    assert_eq!(one(16, &[7, 8]), [7, 8, 0, 255]);
    assert_eq!(one(29, &[7, 8, 9]), [7, 8, 9, 255]);
    assert_eq!(one(43, &[7, 8, 9, 10]), [7, 8, 9, 10]);
    assert!(
        ktx2(&uncompressed_ktx2(43, 2, 2, &[0; 4]))
            .load_error()
            .contains("images[0]: it cannot be decoded: its level data is invalid")
    );
}

#[test]
fn ktx2_key_values_beyond_their_end_are_ignored() {
    let mut bytes = include_bytes!("../fixtures/halves_uastc.ktx2").to_vec();
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    let location = bytes.len() as u32;
    // The key/value entry has two bytes. With padding, it would end beyond the key/value data.
    bytes.extend([2, 0, 0, 0, b'a', 0, 0, 0]);
    bytes[56..60].copy_from_slice(&location.to_le_bytes());
    bytes[60..64].copy_from_slice(&7_u32.to_le_bytes());
    assert_eq!(ktx2(&bytes).load().images.len(), 1);
}

#[test]
fn ktx2_lengths_that_contradict_the_size_are_rejected() {
    let good = include_bytes!("../fixtures/halves_uastc.ktx2");
    for (at, value) in [(96, 0xAF_0000_0040_u64), (96, u64::MAX), (80, u64::MAX), (88, u64::MAX), (72, u64::MAX)] {
        let mut damaged = good.to_vec();
        damaged[at..at + 8].copy_from_slice(&value.to_le_bytes());
        assert!(
            ktx2(&damaged).load_error().contains("images[0]: it cannot be decoded: its KTX2 header is invalid"),
            "{at}"
        );
    }
    for (at, count) in [(28, 1), (32, 0xFFFF), (36, 6), (40, 33), (24, 0)] {
        let mut damaged = good.to_vec();
        damaged[at..at + 4].copy_from_slice(&u32::to_le_bytes(count));
        assert!(ktx2(&damaged).load_error().contains("its KTX2 header is invalid"), "{at}");
    }
}

#[test]
fn ktx2_images_beyond_the_maximum_side_are_rejected() {
    let mut damaged = include_bytes!("../fixtures/halves_uastc.ktx2").to_vec();
    damaged[20..28].copy_from_slice(&[0xFF; 8]);
    assert!(ktx2(&damaged).load_error().contains("4294967295 pixels on the side of an image"));
}

#[test]
fn damaged_ktx2_never_panics() {
    for good in [
        include_bytes!("../fixtures/halves_etc1s.ktx2").as_slice(),
        include_bytes!("../fixtures/halves_uastc.ktx2"),
        two_slices([3, 4]).as_slice(),
    ] {
        for at in 0..good.len() {
            for change in [0xFF, 0x01, 0x80] {
                let mut damaged = good.to_vec();
                damaged[at] ^= change;
                drop(ktx2(&damaged).load_with(&LoadOptions::default()));
            }
        }
    }
}

#[test]
fn ktx2_without_its_extension_is_used_with_a_warning() {
    let mut glb = ktx2(include_bytes!("../fixtures/halves_etc1s.ktx2"));
    glb.json["textures"][0] = json!({"source": 0});
    let model = glb.load();
    assert_eq!((model.images[0].width, model.warnings.len()), (8, 1));
}

#[test]
fn images_are_halved_until_they_fit_and_keep_their_source_size() {
    let checker: Vec<u8> = (0..8 * 4).flat_map(|i| if (i / 8 + i) % 2 == 0 { [255; 4] } else { [0; 4] }).collect();
    let glb = with_image("image/png", &png(8, 4, &checker));
    let image =
        glb.load_with(&LoadOptions { max_texture_side: 3, ..LoadOptions::default() }).unwrap().images.swap_remove(0);
    assert_eq!((image.width, image.height, image.source_width, image.source_height), (2, 1, 8, 4));
    assert_eq!(image.pixels.to_vec(), [128; 8]);
}

#[test]
fn decoded_images_are_identified_by_a_hash_of_their_encoded_bytes() {
    let [red, blue] = [[255, 0, 0, 255], [0, 0, 255, 255]].map(|pixel| decoded("image/png", &png(1, 1, &pixel)));
    assert_eq!(red.identity().len(), 16);
    assert_ne!(red.identity(), blue.identity());
    assert_eq!(red.identity(), decoded("image/png", &png(1, 1, &[255, 0, 0, 255])).identity());
    // The hash of pictures is not known, because they depend on more than their bytes.
    let picture = read_picture(&png(1, 1, &[255, 0, 0, 255]), &Limits::default(), 8).unwrap();
    assert_eq!(picture.identity(), [255, 0, 0, 255]);
}

#[test]
fn known_images_have_the_same_pixels() {
    let gradient = |channels: usize| (0..128 * 64 * channels).map(|i| (i / 128) as u8).collect::<Vec<_>>();
    let rgb = |format| encoded(128, 64, &gradient(3), ExtendedColorType::Rgb8, format);
    let files = [
        with_image("image/jpeg", &rgb(ImageFormat::Jpeg)),
        with_image("image/png", &rgb(ImageFormat::Png)),
        with_image("image/png", &png(128, 64, &gradient(4))),
        with_image("image/webp", &rgb(ImageFormat::WebP)),
    ];
    let facts = ImageFacts { least: [1, 2, 3, 4] };
    for (glb, max_texture_side) in files.iter().flat_map(|glb| [(glb, 64), (glb, 4096)]) {
        let options = LoadOptions { max_texture_side, ..LoadOptions::default() };
        let decoded = glb.load_with(&options).unwrap().images.swap_remove(0);
        let load = |is_known: bool| {
            let known = |hash: &[u8; 16], size: (u32, u32)| {
                assert_eq!((Some(*hash), size), (decoded.encoded_hash, (decoded.width, decoded.height)));
                is_known.then_some(facts)
            };
            load_glb_with_known_images(&glb.bytes(), &options, &known).unwrap().images.swap_remove(0)
        };
        let mut image = load(true);
        assert_eq!((image.pixels.known_facts(), image.pixels.facts()), (Some(facts), facts));
        assert!(image == decoded && load(false) == decoded);
        assert_eq!(load(false).pixels.known_facts(), None);
        // Whoever may change the pixels makes the facts unknown.
        let image = Arc::get_mut(&mut image).unwrap();
        image.pixels[0] = 0;
        assert_eq!((image.pixels.known_facts(), image.pixels.facts().least[0]), (None, 0));
        assert!(image.pixels[1..] == decoded.pixels[1..]);
    }
}

#[test]
fn known_images_are_decoded_only_when_their_pixels_are_read() {
    let mut damaged = encoded(8, 8, &[128; 8 * 8 * 3], ExtendedColorType::Rgb8, ImageFormat::Png);
    damaged.truncate(damaged.len() - 20);
    let glb = with_image("image/png", &damaged);
    assert!(glb.load_error().contains("images[0]: it cannot be decoded"), "{}", glb.load_error());
    let facts = ImageFacts { least: [128; 4] };
    let load = |known| load_glb_with_known_images(&glb.bytes(), &LoadOptions::default(), known);
    assert!(load(&|_hash, _size| None).is_err());
    let model = load(&|_hash, _size| Some(facts)).unwrap();
    assert_eq!((model.images[0].width, model.images[0].source_height), (8, 8));
    assert_eq!(model.images[0].identity().len(), 16);
    // The encoded image is kept beside the pixels.
    assert!(model.images[0].pixels.known_facts().is_some() && model.content_bytes() > 8 * 8 * 4 + 50);
    // An image that is not much smaller than its pixels is decoded at once.
    let noise = (0..8 * 8 * 4_u32).map(|i| (i.wrapping_mul(0x9E37_79B1) >> 24) as u8).collect::<Vec<_>>();
    let glb = with_image("image/png", &png(8, 8, &noise));
    let model = load_glb_with_known_images(&glb.bytes(), &LoadOptions::default(), &|_hash, _size| Some(facts)).unwrap();
    assert_eq!(model.images[0].pixels.known_facts(), None);
}

#[test]
fn missing_rows_of_a_damaged_image_do_not_show_another_image() {
    let noise = (0..64 * 64 * 3_u32).map(|i| (i.wrapping_mul(0x9E37_79B1) >> 24) as u8).collect::<Vec<_>>();
    let intact = encoded(64, 64, &noise, ExtendedColorType::Rgb8, ImageFormat::Jpeg);
    // An empty comment in the middle of the picture makes the decoder ignore everything after it.
    let stuffed = intact.windows(2).enumerate().filter(|(_, pair)| *pair == [0xFF, 0]).map(|(at, _)| at);
    let at = stuffed.min_by_key(|at| at.abs_diff(intact.len() / 2)).unwrap();
    let mut damaged = intact.clone();
    damaged[at + 1..at + 4].copy_from_slice(&[0xFE, 0, 2]);
    let alone = decoded("image/jpeg", &damaged);
    let mut glb = with_image("image/jpeg", &intact);
    let (intact, damaged) = (glb.view(&intact), glb.view(&damaged));
    for view in [intact, damaged].repeat(4) {
        let image = glb.push("images", json!({"bufferView": view, "mimeType": "image/jpeg"}));
        let texture = glb.push("textures", json!({"source": image}));
        let material = glb.push("materials", json!({"emissiveTexture": {"index": texture}}));
        let primitive = glb.json["meshes"][0]["primitives"][0].clone();
        let primitives = glb.json["meshes"][0]["primitives"].as_array_mut().unwrap();
        primitives.push(primitive);
        primitives.last_mut().unwrap()["material"] = material.into();
    }
    // On one thread, damaged images are decoded after intact ones.
    let one_thread = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let model = one_thread.install(|| glb.load());
    assert!(model.images[2].pixels == alone.pixels && model.images[2].pixels != model.images[1].pixels);
    assert_eq!(model.images.iter().filter(|image| image.pixels == alone.pixels).count(), 4);
}

#[test]
fn facts_about_pixels_are_the_least_values_of_the_channels() {
    let image = decoded("image/png", &png(2, 1, &[9, 20, 30, 255, 10, 7, 40, 128]));
    assert_eq!(image.pixels.facts(), ImageFacts { least: [9, 7, 30, 128] });
}

#[test]
fn halving_averages_blocks_of_pixels_for_every_channel_count() {
    let options = LoadOptions { max_texture_side: 1, ..LoadOptions::default() };
    for (color, channels, expected) in [
        (ExtendedColorType::L8, 1, [10, 10, 10, 255]),
        (ExtendedColorType::La8, 2, [20, 20, 20, 25]),
        (ExtendedColorType::Rgb8, 3, [30, 35, 40, 255]),
        (ExtendedColorType::Rgba8, 4, [40, 45, 50, 55]),
    ] {
        // The last row and the last column of 3 × 3 pixels are ignored.
        let bytes: Vec<u8> = (0..9 * channels).map(|i| 5 * i).collect();
        let glb = with_image("image/png", &encoded(3, 3, &bytes, color, ImageFormat::Png));
        assert_eq!(glb.load_with(&options).unwrap().images[0].pixels.to_vec(), expected, "{color:?}");
    }
}

#[test]
fn invalid_images_are_rejected_with_their_location() {
    for (bytes, problem) in [
        (b"".to_vec(), "not a PNG, JPEG, WebP or KTX2 image"),
        (b"\x89PNG\r\n\x1a\n".to_vec(), "it cannot be decoded"),
        (png(2, 2, &[0; 16])[..50].to_vec(), "it cannot be decoded"),
        (b"\xABKTX 20\xBB\r\n\x1A\nnoise noise".to_vec(), "it cannot be decoded"),
    ] {
        let load_error = with_image("image/png", &bytes).load_error();
        assert!(load_error.starts_with("images[0]: ") && load_error.contains(problem), "{load_error}");
    }
}

#[test]
fn used_images_of_known_other_formats_are_ignored_with_a_warning() {
    for (bytes, format) in [
        (b"\0\0\0\x20ftypavif".as_slice(), "AVIF"),
        (b"BM", "BMP"),
        (b"DDS ", "DDS"),
        (b"GIF89a", "GIF"),
        (b"#?RADIANCE", "Radiance HDR"),
        (b"\x76\x2F\x31\x01", "OpenEXR"),
        (b"II*\0", "TIFF"),
    ] {
        let mut glb = with_image("image/png", bytes);
        glb.json["images"][0]["name"] = "wood".into();
        glb.material()["normalTexture"] = json!({"index": 0});
        glb.material()["emissiveTexture"] = json!({"index": 0});
        glb.material()["emissiveFactor"] = json!([1, 1, 1]);
        let model = glb.load();
        assert_eq!(model.images[model.textures[0].image].pixels.to_vec(), [255; 4]);
        let material = &model.materials[0];
        assert_eq!((material.normal_texture, material.emissive_texture, material.emissive), (None, None, [0.0; 3]));
        let problem = format!("it cannot be decoded: not a PNG, JPEG, WebP or KTX2 image, but {format}");
        let without_image = |map: &str| format!("material_0: the {map} texture has no image, so it has no effect");
        let warning = format!("not used: images[0] ('wood'): {problem}");
        assert_eq!(model.warnings, [warning, without_image("normal"), without_image("emissive")]);
        let inventory = inspect(&glb.bytes(), &LoadOptions::default()).unwrap();
        assert_eq!((inventory.warnings, inventory.textures), (model.warnings, vec![]));
    }
}

#[test]
fn a_surface_whose_map_has_an_unsupported_format_is_neither_metal_nor_glass() {
    let mut glb = with_image("image/png", b"BM");
    glb.material()["pbrMetallicRoughness"] = json!({"metallicRoughnessTexture": {"index": 0}});
    let transmission = json!({"transmissionFactor": 1, "transmissionTexture": {"index": 0}});
    let translucency = json!({"diffuseTransmissionFactor": 1, "diffuseTransmissionTexture": {"index": 0}});
    glb.material()["extensions"] =
        json!({"KHR_materials_transmission": transmission, "KHR_materials_diffuse_transmission": translucency});
    let material = glb.load().materials.swap_remove(0);
    assert_eq!(
        (material.metallic, material.perceptual_roughness, material.metallic_roughness_texture),
        (0.0, 1.0, None)
    );
    assert!(material.transmission.is_none_or(|t| t.factor == 0.0 && t.texture.is_none()));
    assert!(material.diffuse_transmission.is_none_or(|t| t.factor == 0.0 && t.texture.is_none()));
}

#[test]
fn a_surface_whose_map_has_an_unsupported_format_has_no_coat_sheen_or_film() {
    let mut glb = with_image("image/png", b"BM");
    let map = json!({"index": 0});
    glb.material()["extensions"] = json!({
        "KHR_materials_clearcoat": {"clearcoatFactor": 1, "clearcoatTexture": map},
        "KHR_materials_sheen": {"sheenColorFactor": [1, 1, 1], "sheenColorTexture": map},
        "KHR_materials_iridescence": {"iridescenceFactor": 1, "iridescenceTexture": map},
    });
    let material = glb.load().materials.swap_remove(0);
    assert!(material.clearcoat.is_some_and(|coat| coat.factor == 0.0 && coat.texture.is_none()));
    assert!(material.sheen.is_some_and(|sheen| sheen.color == [0.0; 3] && sheen.color_texture.is_none()));
    assert!(material.iridescence.is_some_and(|film| film.factor == 0.0 && film.texture.is_none()));
}

#[test]
fn an_embedded_image_that_also_has_a_uri_is_read() {
    let mut glb = with_image("image/png", &png(1, 1, &[9; 4]));
    glb.json["images"][0]["uri"] = "wood.png".into();
    assert_eq!(glb.load().images[0].pixels.to_vec(), [9; 4]);
}

#[test]
fn an_unused_invalid_image_is_accepted() {
    let mut glb = with_image("image/png", &png(1, 1, &[9; 4]));
    let bad = glb.view(b"noise");
    glb.push("images", json!({"bufferView": bad}));
    let unused = glb.push("textures", json!({"source": 1}));
    glb.push("materials", json!({"emissiveTexture": {"index": unused}}));
    assert_eq!(glb.load().images[0].pixels.to_vec(), [9; 4]);
}

#[test]
fn an_unused_image_outside_of_the_file_is_accepted() {
    let mut glb = ktx2(include_bytes!("../fixtures/halves_etc1s.ktx2"));
    let alternative = glb.push("images", json!({"uri": "halves.png"}));
    glb.json["textures"][0]["source"] = alternative.into();
    let model = glb.load();
    assert_eq!((model.images[0].width, model.warnings), (8, vec![]));
    let inventory = inspect(&glb.bytes(), &LoadOptions::default()).unwrap();
    assert!(inventory.warnings[0].starts_with("not used: images[1] refers to 'halves.png'"), "{inventory:?}");
    glb.json["textures"][0] = json!({"source": alternative});
    assert!(glb.load_error().contains("images[1] refers to 'halves.png' outside of the file"));
}

#[test]
fn image_sizes_are_checked_before_decoding() {
    let mut huge = png(1, 1, &[0; 4]);
    huge[16..24].copy_from_slice(&[0, 0, 0xEA, 0x60, 0, 0, 0xEA, 0x60]);
    let crc = crc32(&huge[12..29]);
    huge[29..33].copy_from_slice(&crc.to_be_bytes());
    assert!(with_image("image/png", &huge).load_error().contains("60000 pixels on the side of an image"));
    let glb = with_image("image/png", &png(8, 8, &[0; 256]));
    let within = |limits| glb.load_within(limits).map(drop).map_err(|e| e.to_string());
    assert!(within(Limits { image_side: 7, ..Limits::default() }).unwrap_err().contains("8 pixels on the side"));
    assert!(within(Limits { image_pixels: 63, ..Limits::default() }).unwrap_err().contains("64 pixels in images"));
    assert!(within(Limits { image_side: 8, image_pixels: 64, ..Limits::default() }).is_ok());
}

/// Returns the CRC-32 as defined in ISO 3309.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0_u32, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |c, _| if c & 1 == 1 { 0xEDB8_8320 ^ (c >> 1) } else { c >> 1 })
    })
}

#[test]
fn many_images_with_the_same_bytes_are_rejected() {
    let mut glb = with_image("image/png", &png(1, 1, &[0; 4]));
    let large = vec![0; 1 << 16];
    let view = glb.view(&large);
    for image in [json!({"bufferView": view}), json!({"bufferView": view, "uri": "wood.png"})] {
        let mut glb = glb.clone();
        glb.json["images"].as_array_mut().unwrap().extend(vec![image; 100]);
        let load_error = glb.load_within(Limits { bytes: 1 << 20, ..Limits::default() }).unwrap_err().to_string();
        assert!(load_error.contains("bytes in images"), "{load_error}");
    }
}

#[test]
fn colour_profiles_and_gamma_are_not_applied() {
    // A decoder that applies this gAMA chunk would change the middle value.
    let mut bytes = Cursor::new(Vec::new());
    DynamicImage::ImageRgb8(image::RgbImage::from_pixel(1, 1, image::Rgb([64, 128, 192])))
        .write_to(&mut bytes, ImageFormat::Png)
        .unwrap();
    let mut png = bytes.into_inner();
    let mut chunk = b"gAMA".to_vec();
    chunk.extend(100_000_u32.to_be_bytes());
    let crc = crc32(&chunk).to_be_bytes();
    let chunk: Vec<u8> = 4_u32.to_be_bytes().into_iter().chain(chunk).chain(crc).collect();
    png.splice(33..33, chunk);
    assert_eq!(decoded("image/png", &png).pixels.to_vec(), [64, 128, 192, 255]);
}

/// Files that made a decoder panic, or allocate 4 GB.
#[test]
fn damaged_palettes_and_metadata_are_reported() {
    let (palette, metadata) =
        (include_bytes!("../fixtures/short_palette.png"), include_bytes!("../fixtures/long_metadata.webp"));
    let picture = |bytes: &[u8]| read_picture(bytes, &Limits::default(), 64).unwrap_err().to_string();
    for error in [picture(palette), with_image("image/png", palette).load_error()] {
        assert!(error.contains("the length of its palette"), "{error}");
    }
    let error = picture(metadata);
    assert!(error.contains("its metadata are longer"), "{error}");
}
