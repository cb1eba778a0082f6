//! Tests of lights, shadows, reflections, the dome of a grounded environment, and the order of decals.

use std::collections::BTreeMap;
use std::f32::consts::PI;

use glam::Vec3;
use plinth_frame::{Frame, PixelFormat};
use plinth_model::{
    AlphaMode, DiffuseTransmission, Light, LightKind, Material, Model, Node, Transform, Transmission, Trs,
};
use plinth_scene::{EnvironmentMap, LightDetail};
use serde_json::{Value, json};

use crate::models::{ball, even, frames, model, picture, png, scene, scene_with, square, straight_on, whole};

const SIDE: u32 = 96;

/// Returns an environment with the radiance 0.1 in all directions.
fn dusk() -> EnvironmentMap {
    EnvironmentMap { width: 64, height: 32, pixels: vec![[0.1; 3]; 64 * 32] }
}

fn matte(r: f32, g: f32, b: f32) -> Material {
    Material {
        name: "Paint".to_owned(),
        base_color: [r, g, b, 1.0],
        metallic: 0.0,
        perceptual_roughness: 0.9,
        ..Material::default()
    }
}

fn one_ball(material: Material) -> Model {
    model(vec![(ball(24, 48), material, [0.0; 3], 1.0)])
}

fn drawn(model: Model, base: Value, more: &Value) -> Vec<[u8; 3]> {
    let mut settings = base;
    settings.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    // Draft quality is sufficient, because the compared brightnesses differ by much more than the error of a draft.
    let mut scene = scene_with(model, &settings, dusk(), &BTreeMap::new());
    scene.light_detail = LightDetail::Draft;
    picture(&scene, SIDE)
}

fn lit(more: &Value) -> Vec<[u8; 3]> {
    drawn(one_ball(matte(0.5, 0.3, 0.15)), straight_on(), more)
}

fn light([r, g, b]: [u8; 3]) -> f32 {
    0.2126 * f32::from(r) + 0.7152 * f32::from(g) + 0.0722 * f32::from(b)
}

/// Returns the mean brightness around a point of the ball. `right` and `up` are the offset from the centre of the
/// picture, as fractions of half its side length.
fn at(picture: &[[u8; 3]], right: f32, up: f32) -> f32 {
    let middle = SIDE as f32 / 2.0;
    let (x, y) = ((middle * (1.0 + right)) as u32, (middle * (1.0 - up)) as u32);
    let around = (0..25).map(|i| picture[((y + i / 5 - 2) * SIDE + x + i % 5 - 2) as usize]);
    around.map(light).sum::<f32>() / 25.0
}

const LEFT: (f32, f32) = (-0.3, 0.3);
const RIGHT: (f32, f32) = (0.4, 0.1);

/// Returns the increase in brightness at two points of the ball compared to a picture without lights.
fn gains(more: &Value) -> (f32, f32) {
    let (off, on) = (lit(&json!({})), lit(more));
    let gain = |(x, y)| at(&on, x, y) - at(&off, x, y);
    (gain(LEFT), gain(RIGHT))
}

#[test]
fn each_light_lights_its_own_side_and_brightness_increases_with_intensity() {
    let (key_left, key_right) = gains(&json!({"spotlightIntensity": 1}));
    assert!(key_left > 30.0 && key_left > 1.5 * key_right, "key: {key_left} {key_right}");
    let (fill_left, fill_right) = gains(&json!({"lightsIntensity": 2}));
    assert!(fill_right > 20.0 && fill_right > 1.5 * fill_left, "fill: {fill_left} {fill_right}");
    let (even_left, even_right) = gains(&json!({"ambientIntensity": 4}));
    assert!(even_left > 8.0 && (even_left - even_right).abs() < 0.3 * even_left, "ambient: {even_left} {even_right}");
    for (key, steps) in [
        ("spotlightIntensity", [0.0, 1.0, 4.0, 32.0]),
        ("lightsIntensity", [0.0, 1.0, 4.0, 32.0]),
        ("ambientIntensity", [0.0, 1.0, 4.0, 16.0]),
    ] {
        let pictures = steps.map(|value| lit(&json!({key: value})));
        let brightness = pictures.each_ref().map(|p| at(p, RIGHT.0, RIGHT.1) + at(p, LEFT.0, LEFT.1));
        assert!(brightness.windows(2).all(|w| w[1] > w[0] + 1.0), "{key}: {brightness:?}");
        // The ball must have the same brown hue in dim light and in bright light.
        let brown = |[r, g, b]: [u8; 3]| r > g + 2 && g > b + 2;
        let is_no_brown = |[r, g, b]: [u8; 3]| r.saturating_add(3) < g || g.saturating_add(3) < b;
        let turned = pictures[1].iter().zip(&pictures[3]).filter(|(dim, bright)| brown(**dim) && is_no_brown(**bright));
        // At the silhouette, the ball's colour is mixed with the blue backdrop, so a few pixels may have another hue.
        let turned = turned.count();
        assert!(turned < 16, "{key}: {turned} pixels have another hue");
    }
}

/// KHR_lights_punctual, "Range Property": the light at a distance is multiplied by 1 − (distance / range)⁴.
#[test]
fn the_range_of_a_light_reduces_it_as_recommended() {
    let wall = |intensity: f32, range: Option<f32>| {
        let mut lit = model(vec![(square(), matte(0.8, 0.8, 0.8), [0.0; 3], 1.0)]);
        lit.lights.push(Light { kind: LightKind::Point, color: [1.0; 3], intensity, range });
        let local = Transform::Trs(Trs { translation: [0.0, 0.0, 1.0].into(), ..Trs::default() });
        lit.nodes.push(Node { name: "lamp".to_owned(), light: Some(0), local, ..Node::default() });
        let picture = drawn(lit, straight_on(), &json!({"lightsIntensity": 1, "fillLightColor": "#000000"}));
        at(&picture, 0.0, 0.0)
    };
    // The wall is at the distance 1, so this range halves its light.
    let limited = wall(1.5, Some(2_f32.powf(0.25)));
    let (full, half) = (wall(1.5, None), wall(0.75, None));
    assert!((limited - half).abs() < 2.0 && half + 15.0 < full, "{limited}, not {half}; {full} without a range");
}

/// A surface with diffuse transmission passes on light from behind. Its own shadow does not cover the places at which the
/// light arrives at a grazing angle, as it does not cover those behind them.
#[test]
fn the_shadow_of_a_translucent_surface_does_not_cover_its_terminator() {
    let wax = DiffuseTransmission { factor: 1.0, ..DiffuseTransmission::default() };
    // The camera sees these points of the ball, at which the cosine between the normal and the key light is −0.15 and
    // −0.3.
    for place in [(0.25, -0.454), (0.288, -0.524)] {
        let gain = |shadows: bool| {
            let seen = |spot: f64| {
                let wax = Material { diffuse_transmission: Some(wax), ..matte(0.8, 0.8, 0.8) };
                let more = json!({"spotlightIntensity": spot, "shadows": shadows, "shadowSoftness": 0});
                at(&drawn(one_ball(wax), straight_on(), &more), place.0, place.1)
            };
            seen(2.0) - seen(0.0)
        };
        let (with, without) = (gain(true), gain(false));
        assert!(without > 15.0 && with > 0.7 * without, "{place:?}: {with}, and {without} without shadows");
    }
}

#[test]
fn the_colour_settings_tint_their_own_lights() {
    let tint = |more: &Value, (x, y): (f32, f32)| {
        let grey = |more: &Value| drawn(one_ball(matte(0.5, 0.5, 0.5)), straight_on(), more);
        let (off, on) = (grey(&json!({})), grey(more));
        let middle = SIDE as f32 / 2.0;
        let i = ((middle * (1.0 - y)) as u32 * SIDE + (middle * (1.0 + x)) as u32) as usize;
        [0, 1, 2].map(|c| i32::from(on[i][c]) - i32::from(off[i][c]))
    };
    let [r, g, b] = tint(&json!({"spotlightIntensity": 1, "keyLightColor": "#ff0000"}), LEFT);
    assert!(r > 40 && g < r / 3 && b < r / 3, "{r} {g} {b}");
    let [r, g, b] = tint(&json!({"lightsIntensity": 2, "fillLightColor": "#0000ff"}), RIGHT);
    assert!(b > 40 && g < b / 3 && r < b / 3, "{r} {g} {b}");
    let [r, g, b] = tint(&json!({"spotlightIntensity": 1, "fillLightColor": "#0000ff"}), LEFT);
    assert!((r - g).abs() < 4 && (g - b).abs() < 4, "the key light has the colour of the fill light: {r} {g} {b}");
}

#[test]
fn gloss_intensity_affects_mirrors_strongly_and_matte_surfaces_hardly() {
    let mirror = Material { metallic: 1.0, perceptual_roughness: 0.1, ..matte(1.0, 1.0, 1.0) };
    let of = |material: &Material, gloss: f64| {
        let picture = drawn(one_ball(material.clone()), straight_on(), &json!({"glossIntensity": gloss}));
        at(&picture, 0.0, 0.0)
    };
    let steps = [0.0, 1.0, 4.0, 16.0].map(|gloss| of(&mirror, gloss));
    assert!(steps[0] < 2.0 && steps.windows(2).all(|w| w[1] > w[0] + 5.0), "{steps:?}");
    let clay = matte(0.5, 0.5, 0.5);
    let (none, twice) = (of(&clay, 0.0), of(&clay, 2.0));
    assert!(twice - none < 0.35 * none, "{none} {twice}");
}

/// Returns settings of a camera that sees the floor from above.
fn from_above() -> Value {
    json!({
        "effect": "keyframes", "aspect": "1:1", "length": 0.04, "bgColor": "#ffffff",
        "keyframes": [{"pose": {"position": [0, 4, 4], "lookAt": [0, -0.5, 0], "fov": 50}}],
    })
}

#[test]
fn the_shadow_becomes_darker_with_shadow_darkness() {
    for mode in ["shader", "flat", "accumulated"] {
        let darkest = |darkness: f64| {
            let more = json!({"shadowMode": mode, "shadowDarkness": darkness});
            let with = drawn(one_ball(matte(0.5, 0.5, 0.5)), from_above(), &more);
            let without = drawn(one_ball(matte(0.5, 0.5, 0.5)), from_above(), &json!({"shadows": false}));
            let floor = with.iter().zip(&without).filter(|(_, bare)| **bare == [255; 3]);
            floor.map(|(p, _)| light(*p)).fold(255.0, f32::min)
        };
        let steps = [0.0, 0.5, 1.0, 3.0, 5.0].map(darkest);
        assert!(steps[0] > 250.0, "{mode}: there is a shadow at darkness 0: {steps:?}");
        assert!(steps[..4].windows(2).all(|w| w[1] < w[0] - 5.0) && steps[4] < steps[3] - 1.0, "{mode}: {steps:?}");
    }
}

#[test]
fn the_shadow_of_the_key_light_is_as_strong_as_the_light() {
    for mode in ["shader", "flat", "accumulated"] {
        let floor = |light_of_key: Value| {
            let mut more = light_of_key;
            more["shadowMode"] = json!(mode);
            let with = drawn(one_ball(matte(0.5, 0.5, 0.5)), from_above(), &more);
            let without = drawn(one_ball(matte(0.5, 0.5, 0.5)), from_above(), &json!({"shadows": false}));
            let floor = with.iter().zip(&without).filter(|(_, bare)| **bare == [255; 3]);
            floor.map(|(p, _)| light(*p)).sum::<f32>()
        };
        let off = floor(json!({"spotlightIntensity": 0}));
        let black = floor(json!({"spotlightIntensity": 1, "keyLightColor": "#000000"}));
        let steps = [0.05, 0.4, 1.0, 4.0].map(|spot| floor(json!({"spotlightIntensity": spot})));
        assert!((off - black).abs() < 1.0, "{mode}: {off} {black}");
        assert!(steps[0] > off - 0.4 * (off - steps[2]), "{mode}: a weak light has a weak shadow: {off} {steps:?}");
        assert!(steps.windows(2).all(|w| w[1] < w[0] - 100.0), "{mode}: {off} {steps:?}");
    }
}

/// Returns the fraction of the light that remains at points of the floor around a ball, which are given by x and z. The
/// only light is the environment.
fn floor_light<const N: usize>(environment: EnvironmentMap, mode: &str, points: [(f32, f32); N]) -> [f32; N] {
    let settings = json!({
        "effect": "keyframes", "aspect": "1:1", "length": 0.04, "bgColor": "#ffffff", "shadowMode": mode,
        "spotlightIntensity": 0, "lightsIntensity": 0, "ambientIntensity": 0,
        "keyframes": [{"pose": {"position": [0, 8, 8], "lookAt": [0, -1, 0], "fov": 40}}],
    });
    let mut scene = scene_with(one_ball(matte(0.5, 0.5, 0.5)), &settings, environment, &BTreeMap::new());
    scene.light_detail = LightDetail::Draft;
    let drawn = picture(&scene, SIDE);
    let camera = &scene.shots[0].camera;
    points.map(|(x, z)| {
        let seen = camera.view_from_world.transform_point3(Vec3::new(x, scene.floor_height, z));
        let size = -seen.z * (0.5 * camera.fov_y).tan();
        at(&drawn, seen.x / size, seen.y / size) / 255.0
    })
}

/// Returns the fraction of a uniform sky's light that the ball blocks at a point of the floor: the form factor of a
/// sphere above the horizon is h r² / d³, with h = r = 1.
fn blocked_by_ball((x, z): (f32, f32)) -> f32 {
    (1.0 + x * x + z * z).powf(-1.5)
}

/// Fraction of the light on the floor that comes from the environment.
const OF_ENVIRONMENT: f32 = 0.75;

#[test]
fn the_sun_of_an_environment_casts_a_shadow_as_dark_as_its_share_of_the_light() {
    const BESIDE: (f32, f32) = (0.9, 0.9);
    // The shadow at −3.6 is beyond the depth range of the sun's shadow map.
    for (mode, row, shadow) in [
        ("shader", 31, (-1.9, 0.0)),
        ("flat", 31, (-1.9, 0.0)),
        ("accumulated", 31, (-1.9, 0.0)),
        ("shader", 45, (-3.6, 0.0)),
    ] {
        // One bright texel in the direction +X.
        let mut sunny = EnvironmentMap { width: 256, height: 128, pixels: vec![[0.1; 3]; 256 * 128] };
        sunny.pixels[row * 256 + 128] = [2500.0; 3];
        let polar = (row as f32 + 0.5) / 128.0 * PI;
        let sun = 2500.0 * polar.sin() * (PI / 128.0) * (2.0 * PI / 256.0) * polar.cos();
        let share = sun / (sun + 0.1 * PI);
        let sky = |point| if mode == "flat" { 0.0 } else { (1.0 - share) * blocked_by_ball(point) };
        let [dark, lit] = floor_light(sunny, mode, [shadow, BESIDE]);
        let (dim, bright) = (1.0 - OF_ENVIRONMENT * (share + sky(shadow)), 1.0 - OF_ENVIRONMENT * sky(BESIDE));
        assert!((dark - dim).abs() < 0.03, "{mode}, row {row}: {dark} in the shadow, not {dim}");
        assert!((lit - bright).abs() < 0.03, "{mode}, row {row}: {lit} beside the shadow, not {bright}");
    }
}

#[test]
fn without_a_sun_the_floor_loses_only_the_light_of_the_sky() {
    const LEFT_SIDE: (f32, f32) = (-0.9, 0.9);
    const RIGHT_SIDE: (f32, f32) = (0.9, 0.9);
    let [left, right, far] = floor_light(dusk(), "shader", [LEFT_SIDE, RIGHT_SIDE, (-1.9, 0.0)]);
    let expected = 1.0 - OF_ENVIRONMENT * blocked_by_ball(LEFT_SIDE);
    assert!((left - expected).abs() < 0.04 && (right - expected).abs() < 0.04, "{left} and {right}, not {expected}");
    assert!(far > 0.999, "{far}: the floor extends beyond the model, although no light casts a shadow there");
}

#[test]
fn there_is_no_shadow_at_the_start_of_a_reveal() {
    for mode in ["shader", "flat", "accumulated"] {
        let settings = json!({
            "effect": "reveal", "scaleFrom": 0, "aspect": "1:1", "length": 0.1, "bgColor": "#ffffff", "shadowMode": mode,
        });
        let scene = scene_with(one_ball(matte(0.5, 0.5, 0.5)), &settings, dusk(), &BTreeMap::new());
        let all = frames(&scene, SIDE, SIDE, PixelFormat::Rgba8);
        let dark = |frame: &Frame| whole(frame).into_iter().filter(|p| light(*p) < 245.0).count();
        assert!(dark(&all[0]) < 12, "{mode}: {} dark pixels", dark(&all[0]));
        assert!(dark(&all[2]) > 800, "{mode}: {} dark pixels", dark(&all[2]));
    }
}

#[test]
fn hidden_meshes_and_their_shadows_are_not_drawn() {
    let sphere = |x: f32| (ball(16, 32), matte(0.5, 0.5, 0.5), [x, 0.0, 0.0], 0.5);
    let two = || model(vec![sphere(-1.0), sphere(1.0)]);
    let both = drawn(two(), from_above(), &json!({}));
    let one = drawn(two(), from_above(), &json!({"hiddenMeshNames": ["part 1"]}));
    let alone = drawn(model(vec![sphere(-1.0)]), from_above(), &json!({}));
    assert!(one != both && one == alone);
}

#[test]
fn if_every_mesh_is_hidden_the_picture_is_the_background() {
    for (mode, reflector) in [("shader", false), ("flat", false), ("accumulated", false), ("shader", true)] {
        let hidden = json!({"hiddenMeshNames": ["part 0"], "shadowMode": mode, "reflector": reflector});
        let picture = drawn(one_ball(matte(0.5, 0.5, 0.5)), from_above(), &hidden);
        assert!(picture.iter().all(|p| *p == [255; 3]), "{mode}, mirror {reflector}");
    }
}

/// Returns settings of a camera slightly above a reflecting floor.
fn low() -> Value {
    json!({
        "effect": "keyframes", "aspect": "1:1", "length": 0.04, "bgColor": "#000000", "shadows": false,
        "keyframes": [{"pose": {"position": [0, 0.6, 6], "lookAt": [0, -1, 0], "fov": 50}}],
        "reflector": true, "reflectorMix": 1, "reflectorFade": 5,
    })
}

/// Returns an unlit board whose left half is white and whose right half is black.
fn board() -> Model {
    let half = |x: f32, value: f32| {
        let mut p = square();
        p.positions.iter_mut().for_each(|v| v[0] = 0.5 * v[0] + x);
        (p, Material { unlit: true, double_sided: true, ..matte(value, value, value) }, [0.0; 3], 1.0)
    };
    model(vec![half(-0.5, 1.0), half(0.5, 0.0)])
}

#[test]
fn the_reflection_blurs_with_the_height_above_the_floor() {
    let steepest = |blur: f64, row: u32| {
        let picture = drawn(board(), low(), &json!({"reflectorDepthBlur": blur}));
        let line = &picture[(row * SIDE) as usize..((row + 1) * SIDE) as usize];
        line[SIDE as usize / 4..SIDE as usize * 3 / 4].windows(2).map(|w| light(w[0]) - light(w[1])).fold(0.0, f32::max)
    };
    let rows: Vec<u32> = {
        let picture = drawn(board(), low(), &json!({"reflectorDepthBlur": 0}));
        let mut model = low();
        model["reflector"] = json!(false);
        let bare = drawn(board(), model, &json!({}));
        let column = SIDE / 2 - 6;
        (0..SIDE)
            .filter(|y| light(picture[(y * SIDE + column) as usize]) > 60.0)
            .filter(|y| light(bare[(y * SIDE + column) as usize]) < 5.0)
            .collect()
    };
    let (near, far) = (rows[2], rows[rows.len() - 6]);
    let sharp = steepest(0.0, far);
    let soft = steepest(10.0, far);
    assert!(sharp > 60.0 && soft < 0.5 * sharp, "far: {sharp} {soft}");
    assert!(steepest(10.0, near) > 2.0 * soft, "near the floor: {} {soft}", steepest(10.0, near));
}

#[test]
fn a_blurred_reflection_has_no_hard_outline() {
    let side = 192;
    let mut settings = low();
    settings["reflectorDepthBlur"] = json!(10);
    let white = (square(), Material { unlit: true, double_sided: true, ..matte(1.0, 1.0, 1.0) }, [0.0; 3], 1.0);
    let picture = picture(&scene(model(vec![white]), &settings), side);
    // The row shows the reflection of the board's upper part.
    let row = &picture[(side * side * 3 / 4) as usize..][..side as usize];
    let brightest = row.iter().map(|p| light(*p)).fold(0.0, f32::max);
    let steepest = row.windows(2).map(|pair| (light(pair[0]) - light(pair[1])).abs()).fold(0.0, f32::max);
    assert!(brightest > 60.0 && steepest < 0.1 * brightest, "{steepest} of {brightest}");
}

#[test]
fn a_blended_surface_fades_and_blurs_in_the_reflection_like_an_opaque_one() {
    let white = Material { unlit: true, double_sided: true, ..matte(1.0, 1.0, 1.0) };
    let veil = Material { base_color: [1.0, 1.0, 1.0, 0.9], alpha_mode: AlphaMode::Blend, ..white.clone() };
    let drawn_as = |material: &Material, more: &Value| {
        drawn(model(vec![(square(), material.clone(), [0.0; 3], 1.0)]), low(), more)
    };
    let bare = drawn_as(&white, &json!({"reflector": false}));
    for blur in [0, 10] {
        let fading = json!({"reflectorFade": 0.2, "reflectorDepthBlur": blur});
        let (opaque, blended) = (drawn_as(&white, &fading), drawn_as(&veil, &fading));
        let floor: Vec<usize> = (0..bare.len()).filter(|i| bare[*i] == [0; 3]).collect();
        assert!(floor.iter().any(|i| light(opaque[*i]) > 60.0), "blur {blur}: there is no reflection");
        for i in floor {
            let (wanted, seen) = (0.9 * light(opaque[i]), light(blended[i]));
            assert!((seen - wanted).abs() < 8.0, "blur {blur}, pixel {i}: {seen} instead of {wanted}");
        }
    }
}

#[test]
fn an_invisible_blended_surface_does_not_change_the_reflection_behind_it() {
    let white = Material { unlit: true, double_sided: true, ..matte(1.0, 1.0, 1.0) };
    let behind = |alpha_mode: AlphaMode| {
        let clear = Material { base_color: [1.0, 1.0, 1.0, 0.0], alpha_mode, ..white.clone() };
        let parts = vec![(square(), white.clone(), [0.0; 3], 1.0), (square(), clear, [0.0, 0.0, 2.0], 1.0)];
        drawn(model(parts), low(), &json!({"reflectorFade": 0.5, "reflectorDepthBlur": 0}))
    };
    // A masked surface without a visible texel writes no depth.
    let (wanted, seen) = (behind(AlphaMode::Mask { cutoff: 0.5 }), behind(AlphaMode::Blend));
    for (i, (wanted, seen)) in wanted.iter().zip(&seen).enumerate() {
        assert!((light(*seen) - light(*wanted)).abs() < 8.0, "pixel {i}: {seen:?} instead of {wanted:?}");
    }
}

#[test]
fn material_edits_are_visible_in_the_reflection() {
    let red = json!({"materialEdits": {"Paint": {"color": "#ff0000"}}});
    let picture = drawn(board(), low(), &red);
    let reds = |rows: std::ops::Range<u32>| {
        let area = &picture[(rows.start * SIDE) as usize..(rows.end * SIDE) as usize];
        area.iter().filter(|[r, g, b]| *r > 60 && *g < 20 && *b < 20).count()
    };
    assert!(reds(0..SIDE / 2) > 200 && reds(SIDE * 2 / 3..SIDE) > 200, "the board or its reflection is not red");
    assert!(picture.iter().all(|[r, g, _]| *g <= *r), "a pixel is still white");
}

#[test]
fn a_dome_of_twice_the_size_shows_its_ground_at_twice_the_size() {
    // The panorama is green within 26° of its nadir.
    let mut room = EnvironmentMap { width: 256, height: 128, pixels: vec![[0.2; 3]; 256 * 128] };
    for i in 0..256 * 128_u32 {
        if room.direction(i % 256, i / 256).y < -0.9 {
            room.pixels[i as usize] = [0.0, 0.6, 0.0];
        }
    }
    let greens = |scale: f64| {
        let mut settings = straight_on();
        settings["keyframes"] = json!([{"pose": {"position": [0, 5, 3], "lookAt": [0, -1, 0], "fov": 50}}]);
        settings["envMode"] = json!("grounded");
        settings["envScale"] = json!(scale);
        let mut scene = scene_with(one_ball(matte(0.5, 0.5, 0.5)), &settings, room.clone(), &BTreeMap::new());
        scene.hidden_nodes.fill(true);
        picture(&scene, SIDE).iter().filter(|[r, g, b]| *g > 100 && *r < 60 && *b < 60).count() as f32
    };
    let ratio = greens(1.0) / greens(0.5);
    assert!((3.2..5.0).contains(&ratio), "the area is {ratio} times as large");
}

#[test]
fn overlapping_decals_are_drawn_in_their_order() {
    // The wall is inclined, so that sorting by depth alone would not give the right order.
    let wall = || {
        let mut p = square();
        p.positions.iter_mut().for_each(|v| v[2] = 0.8 * v[0]);
        p.normals.fill(Vec3::new(-0.8, 0.0, 1.0).normalize().to_array());
        model(vec![(p, Material { unlit: true, ..matte(1.0, 1.0, 1.0) }, [0.0; 3], 1.0)])
    };
    let images = BTreeMap::from([
        ("red".to_owned(), png(4, 4, |_, _| [255, 0, 0, 200])),
        ("blue".to_owned(), png(4, 4, |_, _| [0, 0, 255, 200])),
    ]);
    let middle = |first: &str, second: &str, shift: f64| {
        let decal = |image: &str, x: f64| {
            json!({"id": image, "imageAssetId": image, "position": [x, 0, 0.8 * x], "normal": [0, 0, 1],
                "euler": [0, 0, 0], "size": 0.9})
        };
        let mut settings = straight_on();
        settings["decals"] = json!([decal(first, -shift), decal(second, shift)]);
        picture(&scene_with(wall(), &settings, dusk(), &images), SIDE)[(SIDE * SIDE / 2 + SIDE / 2) as usize]
    };
    for shift in [-0.2, 0.2] {
        let ([r, _, b], [red, _, blue]) = (middle("red", "blue", shift), middle("blue", "red", shift));
        assert!(b > r + 60, "blue is not drawn over red: {r} {b}");
        assert!(red > blue + 60, "red is not drawn over blue: {red} {blue}");
    }
}

#[test]
fn a_decal_is_drawn_over_the_transparent_surface_on_which_it_lies() {
    let blue = [0.0, 0.0, 1.0, 0.8];
    let blended = Material { unlit: true, base_color: blue, alpha_mode: AlphaMode::Blend, ..matte(0.0, 0.0, 1.0) };
    let glass = Material {
        transmission: Some(Transmission { factor: 1.0, ..Transmission::default() }),
        perceptual_roughness: 0.0,
        ..matte(0.0, 0.0, 1.0)
    };
    let images = BTreeMap::from([("logo".to_owned(), png(4, 4, |_, _| [255, 0, 0, 200]))]);
    // Seen from above, the lower half of an upright panel is farther from the camera than its centre.
    let mut settings = straight_on();
    settings["keyframes"] = json!([{"pose": {"position": [0, 3, 3], "lookAt": [0, 0, 0], "fov": 40}}]);
    settings["decals"] = json!([{"id": "logo", "imageAssetId": "logo", "position": [0, -0.5, 0],
        "normal": [0, 0, 1], "euler": [0, 0, 0], "size": 0.6}]);
    for (name, material) in [("blended", blended), ("glass", glass)] {
        let panel = model(vec![(square(), material, [0.0; 3], 1.0)]);
        let picture = picture(&scene_with(panel, &settings, even(), &images), SIDE);
        let [r, _, b] = picture[(58 * SIDE + SIDE / 2) as usize];
        assert!(r > b.saturating_add(60), "{name}: red {r}, blue {b}");
    }
}
