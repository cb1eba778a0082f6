//! Tests of the cache for baked light. Pictures must be the same with and without cached light.

use std::collections::BTreeMap;
use std::sync::Arc;

use plinth_frame::{Frame, FrameSink, PixelFormat, SinkError};
use plinth_model::{Image, Material, Model, Primitive, Sampler, Texture, TextureRef};
use plinth_render::{Cache, Picture, RenderError, Renderer};
use plinth_scene::{EnvironmentMap, LightDetail, Scene};
use serde_json::{Value, json};

use crate::models::{Kept, ball, even, gpu, model, scene_with, square};

/// Returns a ball on a painted board.
fn still_life() -> Model {
    let texture = TextureRef { texture: 0, uv_set: 0, transform: None };
    let board = Primitive { uvs: vec![vec![[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]], ..square() };
    let painted = Material { base_color_texture: Some(texture), double_sided: true, ..Material::default() };
    let polished = Material { name: "Ball".to_owned(), perceptual_roughness: 0.2, ..Material::default() };
    let mut out = model(vec![(board, painted, [0.0, 0.0, -0.5], 1.0), (ball(12, 24), polished, [0.3, -0.2, 0.3], 0.5)]);
    out.textures.push(Texture { image: 0, sampler: Sampler::default() });
    out.images.push(Arc::new(Image {
        width: 2,
        height: 1,
        pixels: vec![220, 30, 30, 255, 30, 30, 220, 255].into(),
        ..Image::default()
    }));
    out
}

fn sky(east: f32) -> EnvironmentMap {
    EnvironmentMap {
        width: 4,
        height: 2,
        pixels: (0..8).map(|i| [1.0, 1.0, if i % 4 < 2 { east } else { 0.2 }]).collect(),
    }
}

/// Returns scenes that all differ in something that affects the baked light.
fn scenes() -> Vec<(&'static str, Scene)> {
    let settings = |more: Value| {
        let mut all = json!({"quality": "share", "aspect": "1:1", "length": 0.04});
        all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        all
    };
    let of = |model: Model, more: Value, sky: EnvironmentMap| scene_with(model, &settings(more), sky, &BTreeMap::new());
    let plain = |more: Value| of(still_life(), more, even());
    let changed = |change: &dyn Fn(&mut Model)| {
        let mut model = still_life();
        change(&mut model);
        of(model, json!({}), even())
    };
    let mut out = vec![
        ("as it is", plain(json!({}))),
        ("without shadow", plain(json!({"shadows": false}))),
        ("another key light", plain(json!({"spotlightIntensity": 4}))),
        ("another camera", plain(json!({"zoom": 1.5}))),
        ("darker crevices", plain(json!({"n8aoEnabled": true, "n8aoIntensity": 4}))),
        ("turned", plain(json!({"rotateY": 30}))),
        ("edited", plain(json!({"materialEdits": {"Ball": {"roughness": 0.9}}}))),
        ("another sky", of(still_life(), json!({}), sky(3.0))),
        ("that sky turned", of(still_life(), json!({"envRotation": 90}), sky(3.0))),
        ("painted otherwise", changed(&|m| Arc::make_mut(&mut m.images[0]).pixels[0] = 40)),
        ("tiled", changed(&|m| m.textures[0].sampler.wrap_u = plinth_model::Wrap::Clamp)),
        ("placed otherwise", changed(&|m| m.meshes[0].primitives[0].uvs[0][0] = [0.4, 0.0])),
        ("vertex colours", changed(&|m| m.meshes[0].primitives[0].colors = vec![[1.0, 0.2, 0.2, 1.0]; 4])),
        ("one-sided", changed(&|m| m.materials[0].double_sided = false)),
        ("a hole", changed(&|m| m.meshes[1].primitives[0].indices.truncate(900))),
        ("other normals", changed(&|m| m.meshes[0].primitives[0].normals = vec![[0.6, 0.0, 0.8]; 4])),
    ];
    let (_, mut draft) = out[0].clone();
    draft.light_detail = LightDetail::Draft;
    out.push(("a draft", draft));
    let (_, mut film) = out[0].clone();
    film.shots = vec![film.shots[0].clone(); 5];
    out.push(("a film, which leaves out what is small", film));
    out
}

fn frame(scene: &Scene, cache: Option<&Cache>) -> Frame {
    let picture = Picture { width: 64, height: 64, format: PixelFormat::Rgba8 };
    let mut kept = Kept::default();
    Renderer::new(gpu(), scene, picture, cache).unwrap().render(scene, &mut kept).unwrap();
    kept.frames.remove(0)
}

#[test]
fn cached_light_does_not_change_pictures() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::open(folder.path().to_owned(), 1 << 30).unwrap();
    let files = || {
        let entries = std::fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
        entries.collect::<std::collections::BTreeSet<_>>()
    };
    let scenes = scenes();
    let mut fresh = Vec::new();
    for (name, scene) in &scenes {
        let before = files().len();
        fresh.push(frame(scene, Some(&cache)));
        assert!(files().len() > before, "{name}: the cached light of another scene was used");
    }
    let written = files();
    for ((name, scene), fresh) in scenes.iter().zip(&fresh) {
        assert_eq!(frame(scene, Some(&cache)).pixels, fresh.pixels, "{name}");
    }
    assert_eq!(files(), written);
    // This scene has a copy of the first scene's model, as if it were read from another file, and another background.
    let (_, mut same) = scenes[0].clone();
    same.model = Arc::new((*same.model).clone());
    same.background = plinth_scene::Background::Solid([200, 10, 10]);
    frame(&same, Some(&cache));
    assert_eq!(files(), written);
}

#[test]
fn damaged_cache_files_are_computed_again() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::open(folder.path().to_owned(), 1 << 30).unwrap();
    let (_, scene) = scenes().remove(0);
    let bare = frame(&scene, Some(&cache));
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let path = entry.unwrap().path();
        let mut bytes = std::fs::read(&path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        std::fs::write(&path, bytes).unwrap();
    }
    assert_eq!(frame(&scene, Some(&cache)).pixels, bare.pixels);
    std::fs::remove_dir_all(folder.path()).unwrap();
    assert_eq!(frame(&scene, Some(&cache)).pixels, bare.pixels);
    // There is a file at the path of the cache's folder, so the cache cannot create the folder.
    std::fs::remove_dir_all(folder.path()).unwrap();
    std::fs::write(folder.path(), b"").unwrap();
    assert_eq!(frame(&scene, Some(&cache)).pixels, bare.pixels);
}

/// A sink that stops the render at its first frame.
struct Stopped;

impl FrameSink for Stopped {
    fn frame(&mut self, _frame: &Frame) -> Result<(), SinkError> {
        Err(SinkError("stopped".into()))
    }
}

#[test]
fn new_light_is_stored_after_the_first_frame_even_if_the_render_is_stopped() {
    let (_, scene) = scenes().remove(0);
    let picture = Picture { width: 64, height: 64, format: PixelFormat::Rgba8 };
    let stored_after = |draw: &dyn Fn(&mut Renderer<'_>)| {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::open(folder.path().to_owned(), 1 << 30).unwrap();
        let files = || std::fs::read_dir(folder.path()).unwrap().count();
        let mut renderer = Renderer::new(gpu(), &scene, picture, Some(&cache)).unwrap();
        assert_eq!(files(), 0, "storing the light delays the first frame");
        draw(&mut renderer);
        drop(renderer);
        files()
    };
    // The files contain the light of the environment and of the model.
    assert_eq!(stored_after(&|renderer| renderer.render(&scene, &mut Kept::default()).unwrap()), 2);
    let after_stop = stored_after(&|renderer| {
        let stopped = renderer.render(&scene, &mut Stopped);
        assert!(matches!(stopped, Err(RenderError::Sink { .. })), "{stopped:?}");
    });
    assert_eq!(after_stop, 2);
    assert_eq!(stored_after(&|_renderer| ()), 2);
}

#[test]
fn turntables_of_all_lengths_and_start_angles_share_their_light() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::open(folder.path().to_owned(), 1 << 30).unwrap();
    let files_after = |more: Value| {
        let mut settings = json!({"quality": "share", "aspect": "1:1"});
        settings.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let scene = scene_with(still_life(), &settings, even(), &BTreeMap::new());
        let picture = Picture { width: 64, height: 64, format: PixelFormat::Rgba8 };
        drop(Renderer::new(gpu(), &scene, picture, Some(&cache)).unwrap());
        std::fs::read_dir(folder.path()).unwrap().count()
    };
    let first = files_after(json!({"length": 1}));
    for settings in [json!({"length": 2}), json!({"length": 6}), json!({"length": 1, "startAngle": 77})] {
        assert_eq!(files_after(settings.clone()), first, "{settings}");
    }
    assert!(files_after(json!({"length": 1, "zoom": 1.5})) > first, "other details are visible");
}
