//! Fine mip levels that no frame can read are not uploaded. The pictures must be the same with and without them.

use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use plinth_frame::PixelFormat;
use plinth_model::{AlphaMode, Image, Material, Model, Primitive, Sampler, Texture, TextureRef, Transmission, Volume};
use plinth_render::{AdapterKind, Cache, Gpu, GpuOptions, Picture, Renderer};
use plinth_scene::Scene;
use serde_json::json;

use crate::models::{Kept, ball, gpu, model, scene, square, whole};

const SIDE: u32 = 160;
/// Number of texels along the side of an image.
const TEXELS: u32 = 2048;

/// Returns an image in which neighbouring texels differ, so that each mip level looks different.
fn noise(seed: u32) -> Image {
    let texel = |i: u32| {
        let [r, g, b, _] = (i ^ seed).wrapping_mul(0x9E37_79B1).rotate_left(15).wrapping_mul(0x85EB_CA77).to_le_bytes();
        [r, g, b, 255]
    };
    let pixels = (0..TEXELS * TEXELS).flat_map(texel).collect::<Vec<_>>();
    Image { width: TEXELS, height: TEXELS, pixels: pixels.into(), ..Image::default() }
}

static IMAGES: LazyLock<[Arc<Image>; 2]> = LazyLock::new(|| [1, 2].map(|seed| Arc::new(noise(seed))));

/// Returns a ball on which the images are repeated along the equator, before a square. On a label in front of the ball, a
/// small part of the first image is magnified, so that its level 0 is read there. This part is around its corners.
fn textured(material: Material) -> Model {
    let (rings, sectors) = (16, 32);
    let mut ball = ball(rings, sectors);
    let rows = 0..=rings;
    let uv = |ring: u32, sector: u32| [2.0 * sector as f32 / sectors as f32, ring as f32 / rings as f32];
    ball.uvs = vec![rows.flat_map(|ring| (0..=sectors).map(move |sector| uv(ring, sector))).collect()];
    let board = Primitive { uvs: vec![vec![[0.0, 1.0], [1.0, 1.0], [1.0, 0.0], [0.0, 0.0]]], ..square() };
    let on_board = TextureRef { texture: 0, uv_set: 0, transform: Some([1.0, 0.5, 0.1, -0.5, 1.0, 0.0]) };
    let painted = Material { base_color_texture: Some(on_board), double_sided: true, ..Material::default() };
    let label = Primitive { uvs: vec![vec![[0.99, 0.01], [1.01, 0.01], [1.01, -0.01], [0.99, -0.01]]], ..square() };
    let on_label = TextureRef { texture: 0, uv_set: 0, transform: None };
    let printed = Material { base_color_texture: Some(on_label), double_sided: true, ..Material::default() };
    let mut out = model(vec![
        (ball, material, [0.0; 3], 0.7),
        (board, painted, [0.0, 0.0, -0.7], 1.0),
        (label, printed, [0.2, 0.1, 0.8], 0.2),
    ]);
    out.images = IMAGES.to_vec();
    out.textures = (0..2).map(|image| Texture { image, sampler: Sampler::default() }).collect();
    out
}

/// Returns the frames of a scene.
fn drawn(gpu: &Gpu, scene: &Scene) -> Vec<Vec<[u8; 3]>> {
    drawn_with(gpu, scene, None)
}

fn drawn_with(gpu: &Gpu, scene: &Scene, cache: Option<&Cache>) -> Vec<Vec<[u8; 3]>> {
    let picture = Picture { width: SIDE, height: SIDE, format: PixelFormat::Rgba8 };
    let mut kept = Kept::default();
    Renderer::new(gpu, scene, picture, cache).unwrap().render(scene, &mut kept).unwrap();
    kept.frames.iter().map(whole).collect()
}

#[test]
fn pictures_are_the_same_without_the_levels_that_no_frame_can_read() {
    let mut with_all = Gpu::open(&GpuOptions::default()).unwrap();
    with_all.keep_all_mip_levels();
    let map = |texture: usize| Some(TextureRef { texture, uv_set: 0, transform: None });
    let plain = Material {
        base_color_texture: map(0),
        metallic_roughness_texture: map(1),
        emissive: [0.3; 3],
        emissive_texture: map(1),
        ..Material::default()
    };
    let blended = Material { alpha_mode: AlphaMode::Blend, base_color: [1.0, 1.0, 1.0, 0.6], ..plain.clone() };
    let glass = Material {
        transmission: Some(Transmission { factor: 1.0, texture: map(1) }),
        volume: Some(Volume { thickness: 0.3, ..Volume::default() }),
        ..plain.clone()
    };
    let cases = [
        ("opaque", plain.clone(), json!({})),
        ("blended", blended, json!({})),
        ("glass", glass, json!({})),
        ("reflecting floor", plain, json!({"reflector": true})),
    ];
    // The levels of graphics cards may be computed from the sizes of textures with other rounding errors.
    let tolerance = u8::from(gpu().report().kind == AdapterKind::Hardware);
    for (name, material, more) in cases {
        let mut settings = json!({"quality": "share", "aspect": "1:1", "length": 0.1, "shadows": false});
        settings.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let scene = scene(textured(material), &settings);
        for (frame, expected) in drawn(gpu(), &scene).iter().zip(drawn(&with_all, &scene)) {
            let difference = |(a, b): (&[u8; 3], &[u8; 3])| a.iter().zip(b).map(|(a, b)| a.abs_diff(*b)).max();
            let largest = frame.iter().zip(&expected).filter_map(difference).max();
            assert!(largest <= Some(tolerance), "{name}: {largest:?}");
        }
    }
}

#[test]
fn reduced_levels_are_drawn_from_the_cache_without_the_pixels_of_the_images() {
    let map = |texture: usize| Some(TextureRef { texture, uv_set: 0, transform: None });
    let material =
        Material { base_color_texture: map(0), emissive: [0.3; 3], emissive_texture: map(1), ..Material::default() };
    let settings = json!({"quality": "share", "aspect": "1:1", "length": 0.1, "shadows": false});
    let scene_of = |with_pixels: bool| {
        let mut model = textured(material.clone());
        for (image, hash) in model.images.iter_mut().zip(1..) {
            let pixels = if with_pixels { image.pixels.clone() } else { Vec::new().into() };
            let (source_width, source_height, encoded_hash) = (TEXELS, TEXELS, Some([hash; 16]));
            *image = Arc::new(Image { pixels, source_width, source_height, encoded_hash, ..(**image).clone() });
        }
        scene(model, &settings)
    };
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::open(folder.path().to_owned(), 1 << 30).unwrap();
    let size = (TEXELS, TEXELS);
    assert_eq!(cache.image_facts(&[1; 16], size), None);
    let first = drawn_with(gpu(), &scene_of(true), Some(&cache));
    assert!(first == drawn(gpu(), &scene_of(true)));
    let files: Vec<PathBuf> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(cache.image_facts(&[1; 16], size), Some(IMAGES[0].pixels.facts()));
    assert!(drawn_with(gpu(), &scene_of(false), Some(&cache)) == first, "the pixels were read");
    assert_eq!((cache.image_facts(&[3; 16], size), cache.image_facts(&[1; 16], (TEXELS, 1024))), (None, None));
    let of_kind = |kind: &str| {
        let is_of_kind = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with(kind);
        files.iter().filter(|path| is_of_kind(path)).cloned().collect::<Vec<_>>()
    };
    // Facts that were deleted are stored again.
    assert_eq!((of_kind("image-").len(), of_kind("levels-").len()), (2, 2));
    // The whole level 1 of the first image and those after it, and a few tiles of level 0.
    let (from_level_1, tile) = (u64::from(TEXELS).pow(2) / 3 * 4, 4 * 64 * 64);
    let sizes: Vec<u64> = of_kind("levels-").iter().map(|path| std::fs::metadata(path).unwrap().len()).collect();
    assert!(sizes.iter().any(|size| (from_level_1 + 2 * tile..from_level_1 + 20 * tile).contains(size)), "{sizes:?}");
    for path in of_kind("image-") {
        std::fs::remove_file(path).unwrap();
    }
    assert!(drawn_with(gpu(), &scene_of(true), Some(&cache)) == first);
    assert_eq!(cache.image_facts(&[2; 16], size), Some(IMAGES[1].pixels.facts()));
    // Damaged levels are computed again from the pixels.
    for path in of_kind("levels-") {
        let content = std::fs::read(&path).unwrap();
        std::fs::write(&path, &content[..content.len() - 1]).unwrap();
    }
    assert!(drawn_with(gpu(), &scene_of(true), Some(&cache)) == first);
    assert!(drawn_with(gpu(), &scene_of(false), Some(&cache)) == first);
    // In a cache of this size, the light would be deleted for the levels, so they are not stored.
    let folder = tempfile::tempdir().unwrap();
    let small = Cache::open(folder.path().to_owned(), 1 << 20).unwrap();
    drawn_with(gpu(), &scene_of(true), Some(&small));
    assert_eq!(small.image_facts(&[1; 16], size), None);
}
