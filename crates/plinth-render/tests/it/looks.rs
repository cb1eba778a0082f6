//! Tests of material edits, backgrounds and decals in pictures.

use std::collections::BTreeMap;
use std::sync::Arc;

use plinth_model::{Material, Primitive, Sampler, Texture, TextureRef};
use plinth_scene::EnvironmentMap;
use serde_json::{Value, json};

use crate::models::{ball, even, layers, model, picture, png, scene, scene_with, square, straight_on};

const SIDE: u32 = 96;

fn at(picture: &[[u8; 3]], x: u32, y: u32) -> [u8; 3] {
    picture[(y * SIDE + x) as usize]
}

fn middle(picture: &[[u8; 3]]) -> [u8; 3] {
    at(picture, SIDE / 2, SIDE / 2)
}

/// Returns settings of a camera in front of the model, combined with other settings.
fn with(more: &Value) -> Value {
    let mut settings = straight_on();
    for (key, value) in more.as_object().unwrap() {
        settings[key] = value.clone();
    }
    settings
}

fn named(mut material: Material) -> Material {
    "Paint".clone_into(&mut material.name);
    (material.metallic, material.perceptual_roughness) = (0.0, 0.6);
    material
}

fn mapped_square() -> Primitive {
    Primitive { uvs: vec![vec![[0.0, 1.0], [1.0, 1.0], [1.0, 0.0], [0.0, 0.0]]], ..square() }
}

/// Returns a picture of a square after an edit of its material.
fn edited(primitive: Primitive, material: Material, edit: &Value) -> Vec<[u8; 3]> {
    let settings = with(&json!({"materialEdits": {"Paint": edit}}));
    picture(&scene(model(vec![(primitive, named(material), [0.0; 3], 1.0)]), &settings), SIDE)
}

fn luma([r, g, b]: [u8; 3]) -> f64 {
    0.2126 * f64::from(r) + 0.7152 * f64::from(g) + 0.0722 * f64::from(b)
}

/// Returns the mean brightness of the region that the ball covers.
fn mean(picture: &[[u8; 3]]) -> f64 {
    let inner = |i: &usize| (i / SIDE as usize).abs_diff(48) < 24 && (i % SIDE as usize).abs_diff(48) < 24;
    let sum: f64 = (0..picture.len()).filter(inner).map(|i| luma(picture[i])).sum();
    sum / (47.0 * 47.0)
}

#[test]
fn colours_opacity_and_emission_are_as_edited() {
    let unlit = Material { unlit: true, ..Material::default() };
    assert_eq!(middle(&edited(square(), unlit.clone(), &json!({"color": "#3c8cf0"}))), [0x3c, 0x8c, 0xf0]);
    let [r, g, b] = middle(&edited(square(), unlit.clone(), &json!({"color": "#ffffff", "opacity": 0.5})));
    // The expected colour is white over #204060 with an opacity of one half.
    assert!(r.abs_diff(144) <= 2 && g.abs_diff(160) <= 2 && b.abs_diff(176) <= 2, "{r} {g} {b}");
    let opaque = edited(square(), unlit, &json!({"color": "#ffffff", "opacity": 0.5, "alphaMode": "OPAQUE"}));
    assert_eq!(middle(&opaque), [255; 3]);
    let glow =
        |i: f64| edited(ball(24, 48), Material::default(), &json!({"emissive": "#ff0000", "emissiveIntensity": i}));
    let [dim, bright] = [0.0, 0.5].map(|i| middle(&glow(i)));
    assert!(bright[0] > dim[0] && bright[1] <= dim[1] + 2, "{dim:?} {bright:?}");
}

#[test]
fn every_number_of_an_edit_changes_the_picture() {
    let base = Material { base_color: [0.5, 0.2, 0.1, 1.0], ..Material::default() };
    let room = {
        // The light comes from above and from the right, so that reflections are visible.
        let mut map = even();
        (map.width, map.height) = (64, 32);
        map.pixels = (0..64 * 32_u32)
            .map(|i| if i / 64 < 8 || (i % 64).abs_diff(40) < 4 { [3.0; 3] } else { [0.1; 3] })
            .collect();
        map
    };
    let drawn = |edit: &Value| {
        let settings = with(&json!({"materialEdits": {"Paint": edit}}));
        let ball = model(vec![(ball(24, 48), named(base.clone()), [0.0; 3], 1.0)]);
        picture(&scene_with(ball, &settings, room.clone(), &BTreeMap::new()), SIDE)
    };
    let plain = drawn(&json!({}));
    for edit in [
        json!({"roughness": 0.1}),
        json!({"metalness": 1}),
        json!({"envMapIntensity": 3}),
        json!({"transmission": 1}),
        json!({"clearcoat": 1}),
        json!({"sheen": 1, "sheenColor": "#80ff80", "sheenRoughness": 0.4}),
        json!({"iridescence": 1, "iridescenceIOR": 2.0}),
        json!({"specularIntensity": 0}),
        json!({"specularColor": "#ff0000"}),
        json!({"ior": 2.5}),
    ] {
        let apart = drawn(&edit).iter().zip(&plain).filter(|(a, b)| (luma(**a) - luma(**b)).abs() > 3.0).count();
        assert!(apart > 100, "{edit}: {apart} pixels differ");
    }
    let dark = drawn(&json!({"envMapIntensity": 0}));
    assert_eq!(middle(&dark), [0, 0, 0], "the ball is lit without the environment");
    let brighter = mean(&drawn(&json!({"envMapIntensity": 2}))) / mean(&plain);
    assert!(brighter > 1.2, "{brighter}");
    let tinted = drawn(&json!({"transmission": 1, "thickness": 1, "attenuationColor": "#20ff20"}));
    let [r, g, b] = middle(&tinted);
    assert!(g > r + 20 && g > b + 20, "the light through a green body is not green: {r} {g} {b}");
}

#[test]
fn the_side_setting_selects_the_visible_sides() {
    let white = Material { unlit: true, ..Material::default() };
    let behind = |edit: &Value| middle(&edited(square(), white.clone(), edit));
    let backdrop = [32, 64, 96];
    assert_eq!(behind(&json!({"side": "front"})), [255; 3]);
    assert_eq!(behind(&json!({"side": "back"})), backdrop);
    assert_eq!(behind(&json!({"side": "double"})), [255; 3]);
}

#[test]
fn flat_shading_gives_each_triangle_a_single_shade() {
    let base = Material { base_color: [0.7, 0.7, 0.7, 1.0], ..Material::default() };
    let settings = |flat: bool| {
        let mut more = with(&json!({"materialEdits": {"Paint": {"flatShading": flat}}}));
        more["spotlightIntensity"] = json!(1);
        more
    };
    let shades = |flat: bool| {
        let coarse = model(vec![(ball(6, 8), named(base.clone()), [0.0; 3], 1.0)]);
        let picture = picture(&scene(coarse, &settings(flat)), SIDE);
        let row = &picture[(SIDE * SIDE / 2) as usize + 20..(SIDE * SIDE / 2) as usize + 76];
        row.windows(2).filter(|w| (luma(w[0]) - luma(w[1])).abs() > 1.0).count()
    };
    let (smooth, flat) = (shades(false), shades(true));
    assert!(flat * 2 < smooth, "the colour changes {flat} times along a row, and {smooth} times with smooth shading");
}

#[test]
fn a_wireframe_shows_edges_and_the_backdrop_between_them() {
    let white = Material { unlit: true, ..Material::default() };
    let picture = edited(square(), white, &json!({"wireframe": true}));
    assert_eq!(at(&picture, SIDE / 2, SIDE / 2 + 14), [32, 64, 96], "the backdrop is not visible between the edges");
    let lines = picture.iter().filter(|p| luma(**p) > 70.0).count();
    assert!((90..600).contains(&lines), "{lines} pixels of lines");
}

#[test]
fn maps_can_be_replaced_and_removed_and_an_unknown_id_keeps_the_map() {
    let white = Material { unlit: true, ..Material::default() };
    let images = BTreeMap::from([
        ("halves".to_owned(), png(8, 8, |x, _| if x < 4 { [255, 0, 0, 255] } else { [0, 0, 255, 255] })),
        ("broken".to_owned(), b"no picture".to_vec()),
    ]);
    let drawn = |edit: &Value| {
        let settings = with(&json!({"materialEdits": {"Paint": edit, "Glass": {"ior": 1.4}}}));
        let one = model(vec![(mapped_square(), named(white.clone()), [0.0; 3], 1.0)]);
        let scene = scene_with(one, &settings, even(), &images);
        (picture(&scene, SIDE), scene.warnings)
    };
    let (halves, warnings) = drawn(&json!({"mapAssetId": "halves"}));
    assert_eq!((at(&halves, 36, 48), at(&halves, 60, 48)), ([255, 0, 0], [0, 0, 255]));
    assert_eq!(warnings, ["materialEdits.Glass: the model has no such material; it has 'Paint'"]);
    let (out, _) = drawn(&json!({"mapAssetId": "halves", "textureMaps": {"map": false}}));
    assert_eq!(at(&out, 36, 48), [255; 3]);
    for wrong in ["nowhere", "broken"] {
        let (kept, warnings) = drawn(&json!({"mapAssetId": wrong}));
        assert_eq!(at(&kept, 36, 48), [255; 3]);
        assert!(warnings.iter().any(|w| w.contains("the map is unchanged") && w.contains(wrong)), "{warnings:?}");
    }
}

#[test]
fn edits_scale_the_strength_of_normal_and_occlusion_maps() {
    // Two maps tilt all normals to the right or to the left. The third map has full occlusion.
    let texel = |rgb: [u8; 3]| plinth_model::Image {
        width: 1,
        height: 1,
        pixels: vec![rgb[0], rgb[1], rgb[2], 255].into(),
        ..plinth_model::Image::default()
    };
    let map = |texture: usize| Some(TextureRef { texture, uv_set: 0, transform: None });
    let drawn = |lean: Option<usize>, edit: Value| {
        let mut paint = named(Material { base_color: [0.7, 0.7, 0.7, 1.0], ..Material::default() });
        if let Some(lean) = lean {
            (paint.normal_texture, paint.occlusion_texture) = (map(lean), map(2));
        }
        let wall = Primitive { tangents: vec![[1.0, 0.0, 0.0, 1.0]; 4], ..mapped_square() };
        let mut model = model(vec![(wall, paint, [0.0; 3], 1.0)]);
        model.images = [texel([190, 128, 240]), texel([66, 128, 240]), texel([0, 0, 0])].map(Arc::new).to_vec();
        model.textures = (0..3).map(|image| Texture { image, sampler: Sampler::default() }).collect();
        let settings = with(&json!({"lightsIntensity": 2, "materialEdits": {"Paint": edit}}));
        let dusk = EnvironmentMap { width: 64, height: 32, pixels: vec![[0.2; 3]; 64 * 32] };
        luma(middle(&picture(&scene_with(model, &settings, dusk, &BTreeMap::new()), SIDE)))
    };
    let bare = drawn(None, json!({}));
    let leaning = |map: usize, scale: f64| drawn(Some(map), json!({"normalScale": scale, "aoMapIntensity": 0}));
    assert!((leaning(0, 0.0) - bare).abs() < 1.5, "{bare} without a map");
    let toward_fill_light = [0.0, 0.5, 1.0].map(|scale| leaning(0, scale) - leaning(1, scale));
    assert!(toward_fill_light.windows(2).all(|w| w[1] > w[0] + 2.0), "{toward_fill_light:?}");
    let closed = [0.0, 0.5, 1.0].map(|share| drawn(Some(0), json!({"normalScale": 0, "aoMapIntensity": share})));
    assert!(closed.windows(2).all(|w| w[1] < w[0] - 5.0), "{closed:?}");
}

#[test]
fn edits_without_an_equivalent_in_gltf_cause_warnings() {
    let settings = with(&json!({"materialEdits": {"Paint": {"bumpScale": 1, "displacementScale": 1}}}));
    let scene = scene(model(vec![(square(), named(Material::default()), [0.0; 3], 1.0)]), &settings);
    let told = |name: &str| scene.warnings.iter().any(|w| w.contains(name) && w.contains("has no effect"));
    assert!(told("bumpScale") && told("displacementScale"), "{:?}", scene.warnings);
}

#[test]
fn material_edits_are_visible_in_the_views_of_a_dataset() {
    let settings = with(&json!({"materialEdits": {"Paint": {"color": "#3c8cf0"}}}));
    let unlit = named(Material { unlit: true, ..Material::default() });
    let layers = layers(scene(model(vec![(square(), unlit, [0.0; 3], 1.0)]), &settings), SIDE);
    assert_eq!(layers.color[(SIDE * SIDE / 2 + SIDE / 2) as usize], [0x3c, 0x8c, 0xf0, 255]);
}

#[test]
fn a_gradient_is_behind_the_model_inside_and_outside_the_drawn_region() {
    let gradient = json!({"stops": [{"color": "#102030"}, {"color": "#e0c0a0"}], "angle": 90});
    // The model is glass without refraction, so the gradient must continue through it.
    let clear = named(Material { unlit: true, base_color: [1.0, 1.0, 1.0, 0.0], ..Material::default() });
    let settings =
        with(&json!({"quality": "share", "bgGradient": gradient, "materialEdits": {"Paint": {"alphaMode": "BLEND"}}}));
    let mut scene = scene(model(vec![(square(), clear, [0.0; 3], 1.0)]), &settings);
    // The background picture has the size of the video, so it is cropped to the size of the test picture.
    let plinth_scene::Background::Picture(whole) = &scene.background else { panic!("a picture was asked for") };
    assert_eq!((whole.width, whole.height), (540, 540));
    let pixels: Vec<u8> =
        (0..SIDE).flat_map(|y| whole.pixels[(y * 540 * 4) as usize..][..SIDE as usize * 4].to_vec()).collect();
    let part = plinth_model::Image {
        width: SIDE,
        height: SIDE,
        pixels: pixels.clone().into(),
        ..plinth_model::Image::default()
    };
    scene.background = plinth_scene::Background::Picture(part.into());
    let picture = picture(&scene, SIDE);
    for (seen, behind) in picture.iter().zip(pixels.as_chunks::<4>().0) {
        assert_eq!(*seen, behind[..3]);
    }
}

/// Returns a decal on the front of a square or a ball.
fn decal(more: &Value) -> Value {
    let mut decal = json!({
        "id": "logo", "imageAssetId": "logo", "position": [0, 0, 0], "normal": [0, 0, 1], "euler": [0, 0, 0], "size": 0.5,
    });
    for (key, value) in more.as_object().unwrap() {
        decal[key] = value.clone();
    }
    decal
}

/// Returns an image whose quarters are red and green above, and blue and yellow below.
fn quarters() -> BTreeMap<String, Vec<u8>> {
    let file = png(64, 64, |x, y| match (x < 32, y < 32) {
        (true, true) => [255, 0, 0, 255],
        (false, true) => [0, 255, 0, 255],
        (true, false) => [0, 0, 255, 255],
        (false, false) => [255, 255, 0, 255],
    });
    BTreeMap::from([("logo".to_owned(), file)])
}

fn with_decal(primitive: Primitive, more: &Value, settings: &Value) -> Vec<[u8; 3]> {
    let white = named(Material { unlit: true, ..Material::default() });
    let mut all = with(settings);
    all["decals"] = json!([decal(more)]);
    let scene = scene_with(model(vec![(primitive, white, [0.0; 3], 1.0)]), &all, even(), &quarters());
    assert!(scene.warnings.is_empty(), "{:?}", scene.warnings);
    picture(&scene, SIDE)
}

/// Returns the pixel that shows the point (x, y) of the plane z = 0. The camera is 4 units away from this plane. Its
/// field of view is 40°, which is 96 pixels wide.
fn pixel(x: f32, y: f32) -> (f32, f32) {
    let scale = 48.0 / (20_f32.to_radians().tan() * 4.0);
    (48.0 + x * scale, 48.0 - y * scale)
}

/// Returns the centre of all pixels that are neither white nor the backdrop.
fn centre(picture: &[[u8; 3]]) -> (f32, f32) {
    let inked = |i: &usize| picture[*i] != [255; 3] && picture[*i] != [32, 64, 96] && luma(picture[*i]) < 245.0;
    let on_square = |i: &usize| picture[*i].iter().any(|c| *c < 8);
    let found: Vec<usize> = (0..picture.len()).filter(inked).filter(on_square).collect();
    assert!(!found.is_empty());
    let sum = found.iter().fold((0.0, 0.0), |(x, y), i| (x + (i % 96) as f32 + 0.5, y + (i / 96) as f32 + 0.5));
    (sum.0 / found.len() as f32, sum.1 / found.len() as f32)
}

#[test]
fn a_decal_has_the_requested_position_orientation_and_size() {
    let picture = with_decal(square(), &json!({"position": [0.3, 0.2, 0]}), &json!({}));
    let (x, y) = centre(&picture);
    let (px, py) = pixel(0.3, 0.2);
    assert!((x - px).abs() < 0.6 && (y - py).abs() < 0.6, "at {x}, {y} instead of {px}, {py}");
    let color = |dx: f32, dy: f32| {
        let (x, y) = pixel(0.3 + dx, 0.2 + dy);
        at(&picture, x as u32, y as u32)
    };
    assert_eq!(color(-0.12, 0.12), [255, 0, 0]);
    assert_eq!(color(0.12, 0.12), [0, 255, 0]);
    assert_eq!(color(-0.12, -0.12), [0, 0, 255]);
    assert_eq!(color(0.12, -0.12), [255, 255, 0]);
    assert_eq!((color(-0.3, 0.0), color(0.0, 0.3)), ([255; 3], [255; 3]), "the decal extends beyond half its size");
}

#[test]
fn a_decal_follows_curved_surfaces_and_ends_at_edges() {
    let on_ball = with_decal(ball(48, 96), &json!({"position": [0, 0, 1]}), &json!({}));
    let (x, y) = centre(&on_ball);
    assert!((x - 48.0).abs() < 0.6 && (y - 48.0).abs() < 0.6, "{x} {y}");
    // Half of the decal extends beyond the right edge of the square.
    let cut = with_decal(square(), &json!({"position": [1, 0, 0]}), &json!({}));
    let (left, right) = (pixel(0.9, 0.1), pixel(1.1, 0.1));
    assert_eq!(at(&cut, left.0 as u32, left.1 as u32), [255, 0, 0]);
    assert_eq!(at(&cut, right.0 as u32, right.1 as u32), [32, 64, 96]);
}

#[test]
fn a_decal_is_rotated_as_in_three_js_and_has_the_requested_aspect_ratio() {
    let turned = with_decal(square(), &json!({"euler": [0, 0, std::f64::consts::FRAC_PI_2]}), &json!({}));
    let (x, y) = pixel(-0.12, 0.12);
    assert_eq!(at(&turned, x as u32, y as u32), [0, 255, 0], "after a quarter turn, the right side is not at the top");
    let wide = with_decal(square(), &json!({"imageAspect": 2, "size": 0.8}), &json!({}));
    let beside = pixel(-0.3, 0.1);
    let above = pixel(-0.1, 0.3);
    assert_eq!(at(&wide, beside.0 as u32, beside.1 as u32), [255, 0, 0]);
    assert_eq!(at(&wide, above.0 as u32, above.1 as u32), [255; 3]);
}

/// Returns the width and the height of the decal in the picture.
fn extent(picture: &[[u8; 3]]) -> (u32, u32) {
    let inked = |i: &u32| {
        let p = picture[*i as usize];
        p != [255; 3] && p != [32, 64, 96] && p.iter().any(|c| *c < 8)
    };
    let found: Vec<u32> = (0..SIDE * SIDE).filter(inked).collect();
    let span = |v: &dyn Fn(u32) -> u32| {
        found.iter().map(|i| v(*i)).max().unwrap() + 1 - found.iter().map(|i| v(*i)).min().unwrap()
    };
    (span(&|i| i % SIDE), span(&|i| i / SIDE))
}

#[test]
fn the_scale_of_the_model_stretches_a_decal_only_if_it_was_placed_at_another_scale() {
    // The square becomes 2 units wide and 1 unit high.
    let flat = json!({"scaleY": 0.5});
    let (w, h) = extent(&with_decal(square(), &json!({}), &flat));
    assert!(w.abs_diff(h) <= 1, "a decal without a placement scale is stretched: {w} × {h}");
    let (w, h) = extent(&with_decal(square(), &json!({"placementScale": [1, 1, 1]}), &flat));
    assert!((w / 2).abs_diff(h) <= 1, "a decal that was placed at scale 1 is not stretched: {w} × {h}");
    let (w, h) = extent(&with_decal(square(), &json!({"placementScale": [1, 0.5, 1]}), &flat));
    assert!(w.abs_diff(h) <= 1, "a decal that was placed at the final scale is stretched: {w} × {h}");
}

#[test]
fn a_decal_is_lit_like_its_surface_and_changes_no_other_pixels() {
    let grey = named(Material { base_color: [0.8, 0.8, 0.8, 1.0], ..Material::default() });
    let images = BTreeMap::from([("logo".to_owned(), png(4, 4, |_, _| [231, 231, 231, 255]))]);
    let drawn = |decals: Value| {
        let mut settings = with(&json!({"spotlightIntensity": 1, "shadows": true}));
        settings["decals"] = decals;
        picture(&scene_with(model(vec![(ball(32, 64), grey.clone(), [0.0; 3], 1.0)]), &settings, even(), &images), SIDE)
    };
    // sRGB 231 is 0.8 in linear values. A decal with the same colour as the surface must not be visible.
    let (plain, stuck) = (drawn(json!([])), drawn(json!([decal(&json!({"position": [0, 0.3, 1]}))])));
    let worst = plain.iter().zip(&stuck).map(|(a, b)| (luma(*a) - luma(*b)).abs()).fold(0.0, f64::max);
    assert!(worst < 6.0, "the colours are {worst} levels apart");
}

#[test]
fn a_decal_that_does_not_touch_the_model_causes_a_warning() {
    let mut settings = straight_on();
    settings["decals"] = json!([decal(&json!({"position": [9, 9, 9]}))]);
    let white = named(Material::default());
    let scene = scene_with(model(vec![(square(), white, [0.0; 3], 1.0)]), &settings, even(), &quarters());
    assert_eq!(scene.warnings, ["decals[0] 'logo': the decal does not touch the model"]);
}
