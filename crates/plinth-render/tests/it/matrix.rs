//! Tests that draw every effect with every aspect ratio, opaque, with alpha, and in datasets. No effect may make
//! pictures black, make holes in them, or cut them off.

use std::collections::BTreeMap;

use plinth_frame::{Frame, PixelFormat};
use plinth_model::{Material, Model};
use plinth_render::{Cache, Picture};
use plinth_scene::{Background, DatasetViews, SceneAssets, build_dataset};
use plinth_spec::RenderSettings;
use plinth_spec::settings::{Coverage, Filter, ParseOptions};
use serde_json::{Value, json};

use crate::models::{ball, cached_frames, cached_layers, even, model, png, scene_with, square, whole};

/// The length of the shorter side of pictures in pixels.
const SIDE: u32 = 64;

/// Effects that may make opaque pixels transparent.
const SEEN_THROUGH: [&str; 4] = ["veil", "glass", "all of them", "depth of field"];

/// Returns the test scene: a painted object, an object behind it, and an object that emits light.
fn still_life() -> Model {
    let paint = |name: &str, color: [f32; 4]| Material {
        name: name.to_owned(),
        base_color: color,
        metallic: 0.0,
        perceptual_roughness: 0.4,
        ..Material::default()
    };
    let lamp = Material { emissive: [6.0, 4.0, 2.0], ..paint("Lamp", [0.1, 0.1, 0.1, 1.0]) };
    model(vec![
        (ball(10, 20), paint("Paint", [0.7, 0.3, 0.2, 1.0]), [-0.2, 0.0, 0.3], 0.7),
        (square(), Material { double_sided: true, ..paint("Wall", [0.3, 0.5, 0.4, 1.0]) }, [0.3, 0.3, -0.6], 0.8),
        (ball(6, 12), lamp, [0.6, -0.4, 0.6], 0.2),
    ])
}

/// Returns every effect with its name.
fn effects() -> Vec<(String, Value)> {
    let filters = Filter::NAMES.iter().map(|name| (format!("filter {name}"), json!({"filter": name})));
    let gradient = json!({"angle": 45, "stops": [{"color": "#204080"}, {"color": "#e0c0a0"}]});
    let decal = json!({
        "id": "a", "imageAssetId": "image", "position": [-0.2, 0, 1], "normal": [0, 0, 1], "euler": [0, 0, 0], "size": 0.6,
    });
    let glass = json!({"Paint": {"transmission": 1, "roughness": 0.1, "thickness": 0.5}});
    let veil = json!({"Wall": {"opacity": 0.5}});
    let others = [
        ("vignette", json!({"vignette": 0.8})),
        ("bloom", json!({"bloomEnabled": true, "bloomStrength": 1.5})),
        ("depth of field", json!({"dofEnabled": true, "dofStrength": 1})),
        ("occlusion", json!({"n8aoEnabled": true, "n8aoIntensity": 4})),
        ("sway", json!({"swayEnabled": true, "swayIntensity": 2})),
        ("shadow", json!({"shadows": true})),
        ("flat shadow", json!({"shadows": true, "shadowMode": "flat"})),
        ("accumulated shadow", json!({"shadows": true, "shadowMode": "accumulated"})),
        ("reflector", json!({"reflector": true})),
        ("gradient", json!({"bgGradient": gradient})),
        ("image", json!({"bgImageId": "image"})),
        ("floating", json!({"envMode": "floating"})),
        ("grounded", json!({"envMode": "grounded"})),
        ("decal", json!({"decals": [decal]})),
        ("glass", json!({"materialEdits": glass})),
        ("veil", json!({"materialEdits": veil})),
        (
            "all of them",
            json!({
                "filter": "warm", "vignette": 0.5, "bloomEnabled": true, "dofEnabled": true, "n8aoEnabled": true,
                "swayEnabled": true, "shadows": true, "reflector": true, "decals": [decal], "materialEdits": veil,
            }),
        ),
    ];
    filters.chain(others.map(|(name, value)| (name.to_owned(), value))).collect()
}

fn settings(effect: &Value, aspect: &str) -> Value {
    let mut all = json!({"quality": "share", "aspect": aspect, "length": 0.04, "shadows": false, "bgColor": "#8090a0"});
    all.as_object_mut().unwrap().extend(effect.as_object().unwrap().clone());
    all
}

fn images() -> BTreeMap<String, Vec<u8>> {
    BTreeMap::from([("image".to_owned(), png(16, 9, |x, y| [200, 15 * x as u8, 25 * y as u8, 255]))])
}

/// Returns a cache for the light of the test scene, which most effects do not change. Its folder must be kept.
fn light_cache() -> (tempfile::TempDir, Cache) {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::open(folder.path().to_owned(), 1 << 30).unwrap();
    (folder, cache)
}

/// Returns the first frame of the test scene with an effect. With `alpha`, the background is transparent.
fn drawn(effect: &Value, aspect: &str, alpha: bool, cache: &Cache) -> Frame {
    let mut scene = scene_with(still_life(), &settings(effect, aspect), even(), &images());
    let format = if alpha { PixelFormat::Rgba16 } else { PixelFormat::Rgba8 };
    if alpha {
        scene.background = Background::Transparent;
    }
    let (width, height) = match (&scene.background, aspect) {
        // The background picture has the size of the video.
        (Background::Picture(picture), _) => (picture.width, picture.height),
        (_, "16:9") => (SIDE * 16 / 9, SIDE),
        (_, "1:1") => (SIDE, SIDE),
        _ => (SIDE, SIDE * 16 / 9),
    };
    cached_frames(&scene, Picture { width, height, format }, Some(cache)).remove(0)
}

/// Returns the pixels of a picture with alpha, row by row. Pixels outside the drawn region are zero.
fn bits(frame: &Frame) -> Vec<[u16; 4]> {
    let mut out = vec![[0; 4]; (frame.width * frame.height) as usize];
    let part = frame.region;
    for (y, row) in (part.y..).zip(frame.pixels.chunks_exact(part.width as usize * 8)) {
        for (x, pixel) in (part.x..).zip(row.as_chunks::<8>().0) {
            out[(y * frame.width + x) as usize] = [0, 2, 4, 6].map(|i| u16::from_ne_bytes([pixel[i], pixel[i + 1]]));
        }
    }
    out
}

fn is_border(i: usize, width: u32, height: u32) -> bool {
    let (x, y) = (i as u32 % width, i as u32 / width);
    x == 0 || y == 0 || x == width - 1 || y == height - 1
}

fn in_every_effect(aspect: &str) {
    let (_folder, cache) = light_cache();
    let plain = bits(&drawn(&json!({}), aspect, true, &cache));
    let is_solid = |i: &usize| plain[*i][3] == u16::MAX;
    let mut wrong = Vec::new();
    for (name, effect) in effects() {
        let mut fault = |what: String| wrong.push(format!("{name}, {aspect}: {what}"));
        let pixels = whole(&drawn(&effect, aspect, false, &cache));
        let mean = pixels.iter().map(|[r, g, b]| f64::from(*r.max(g).max(b))).sum::<f64>() / pixels.len() as f64;
        if !(40.0..250.0).contains(&mean) {
            fault(format!("brightness is {mean} on average"));
        }
        let frame = drawn(&effect, aspect, true, &cache);
        let seen = bits(&frame);
        let count = |is: &dyn Fn(&usize) -> bool| (0..seen.len()).filter(is).count();
        let solid = count(&is_solid);
        let light = (0..seen.len()).filter(is_solid).map(|i| f64::from(seen[i][..3].iter().copied().max().unwrap()));
        let light = light.sum::<f64>() / solid as f64;
        if solid < 200 || light < 6000.0 {
            fault(format!("the model's brightness is {light} of 65535 on {solid} pixels"));
        }
        let is_clear = SEEN_THROUGH.contains(&name.as_str());
        let holes = count(&|i| is_solid(i) && seen[*i][3] < 60_000);
        if holes > 0 && !is_clear && name != "sway" {
            fault(format!("{holes} holes"));
        }
        // NaN is stored as zero, so a black pixel may have been NaN.
        let black = count(&|i| is_solid(i) && seen[*i][..3] == [0; 3]);
        if black > 0 && !["filter toon", "filter noir"].contains(&name.as_str()) {
            fault(format!("{black} black pixels"));
        }
        // Black pixels are ignored, because a shadow may extend to the border of the picture. Bloom and visible
        // environments may also extend to the border.
        let is_covered = |i: &usize| seen[*i][3] > u16::MAX / 2 && seen[*i][..3] != [0; 3];
        let cut = count(&|i| is_border(*i, frame.width, frame.height) && is_covered(i));
        if cut > 0 && !["bloom", "all of them", "floating", "grounded"].contains(&name.as_str()) {
            fault(format!("{cut} pixels at the border are covered"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_effect_damages_wide_pictures() {
    in_every_effect("16:9");
}

#[test]
fn no_effect_damages_square_pictures() {
    in_every_effect("1:1");
}

#[test]
fn no_effect_damages_tall_pictures() {
    in_every_effect("9:16");
}

#[test]
fn no_effect_damages_views_of_a_dataset() {
    let views = DatasetViews::Spread { count: 3, side: SIDE, coverage: Coverage::Hemisphere };
    let (_folder, cache) = light_cache();
    let mut wrong = Vec::new();
    let view = |effect: &Value| {
        let mut settings = settings(effect, "1:1");
        settings["output"] = json!("dataset");
        let settings = RenderSettings::from_json(&settings, ParseOptions::default()).unwrap();
        let images = images();
        let assets = SceneAssets { environment: Some(even()), images: &images };
        let (scene, _) = build_dataset(still_life().into(), &settings, assets, &views).unwrap();
        cached_layers(scene, SIDE, Some(&cache))
    };
    let plain = view(&json!({}));
    for (name, effect) in effects() {
        let mut fault = |what: String| wrong.push(format!("{name}: {what}"));
        let seen = view(&effect);
        if seen.depth.iter().chain(seen.normal.iter().flatten()).any(|v| !v.is_finite()) {
            fault("not a number".to_owned());
        }
        let mut covered = 0;
        for i in 0..seen.color.len() {
            let ([r, g, b, alpha], before) = (seen.color[i], plain.color[i][3]);
            covered += usize::from(alpha == 255);
            if alpha != before && !SEEN_THROUGH.contains(&name.as_str()) {
                fault(format!("pixel {i} covers {alpha} instead of {before}"));
            }
            if alpha == 255 && r.max(g).max(b) == 0 && name != "filter noir" {
                fault(format!("pixel {i} is black"));
            }
            if is_border(i, SIDE, SIDE) && alpha > 0 {
                fault(format!("pixel {i} at the border is covered"));
            }
        }
        if covered < 400 {
            fault(format!("only {covered} pixels are covered"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
