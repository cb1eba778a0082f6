//! Tests that measure the effect of filters, bloom, depth of field, occlusion and shadows on a picture.

use plinth_model::{Material, Model};
use serde_json::{Value, json};

use crate::models::{ball, model, picture, scene, square, straight_on};

const SIDE: u32 = 96;

fn matte(r: f32, g: f32, b: f32) -> Material {
    Material { base_color: [r, g, b, 1.0], metallic: 0.0, perceptual_roughness: 0.9, ..Material::default() }
}

fn with(extra: &Value) -> Value {
    let mut settings = straight_on();
    for (key, value) in extra.as_object().unwrap() {
        settings[key] = value.clone();
    }
    settings
}

/// Returns a picture of a ball that fills about half of the picture.
fn ball_picture(material: Material, extra: &Value) -> Vec<[u8; 3]> {
    picture(&scene(model(vec![(ball(32, 64), material, [0.0; 3], 1.0)]), &with(extra)), SIDE)
}

fn linear(byte: u8) -> f32 {
    let c = f32::from(byte) / 255.0;
    if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
}

fn luminance(pixel: [u8; 3]) -> f32 {
    let [r, g, b] = pixel.map(linear);
    0.2126 * r + 0.7152 * g + 0.0722 * b
}

fn saturation([r, g, b]: [u8; 3]) -> i32 {
    i32::from(r.max(g).max(b)) - i32::from(r.min(g).min(b))
}

fn mean(values: impl Iterator<Item = f32>) -> f32 {
    let (mut sum, mut count) = (0.0, 0.0);
    for value in values {
        sum += value;
        count += 1.0;
    }
    sum / count
}

fn middle(picture: &[[u8; 3]]) -> [u8; 3] {
    picture[(SIDE * SIDE / 2 + SIDE / 2) as usize]
}

#[test]
fn black_and_white_has_no_colour_and_keeps_luminance() {
    let plain = ball_picture(matte(0.7, 0.3, 0.1), &json!({}));
    for filter in ["bw", "noir"] {
        let grey = ball_picture(matte(0.7, 0.3, 0.1), &json!({"filter": filter}));
        assert!(grey.iter().all(|p| saturation(*p) == 0), "{filter}");
        if filter == "bw" {
            let worst = plain.iter().zip(&grey).map(|(a, b)| (luminance(*a) - luminance(*b)).abs());
            assert!(worst.fold(0.0, f32::max) < 0.012);
        }
    }
}

#[test]
fn every_filter_has_the_effect_that_its_name_says() {
    let of = |filter: &str| middle(&ball_picture(matte(0.45, 0.3, 0.25), &json!({"filter": filter})));
    let plain = of("none");
    let ratio = |[r, _, b]: [u8; 3]| f32::from(r) / f32::from(b).max(1.0);
    assert!(ratio(of("warm")) > 1.1 * ratio(plain) && ratio(of("cool")) < ratio(plain) / 1.1);
    let sepia = of("sepia");
    assert!(sepia[0] > sepia[1] && sepia[1] > sepia[2], "{sepia:?}");
    assert!(saturation(of("vivid")) > saturation(plain) && saturation(of("faded")) < saturation(plain));
    let dark = |filter: &str| middle(&ball_picture(matte(0.0, 0.0, 0.0), &json!({"filter": filter})));
    assert!(luminance(dark("faded")) > luminance(dark("none")) + 0.005, "black is not lifted");
}

#[test]
fn grain_differs_from_pixel_to_pixel_and_frame_to_frame_around_the_same_mean() {
    let material = || matte(0.4, 0.4, 0.4);
    let plain = ball_picture(material(), &json!({}));
    let grain = ball_picture(material(), &json!({"filter": "grain"}));
    let difference = mean(plain.iter().zip(&grain).map(|(a, b)| f32::from(b[1]) - f32::from(a[1])));
    assert!(difference.abs() < 1.5, "{difference}");
    let spread = mean(plain.iter().zip(&grain).map(|(a, b)| f32::from(b[1].abs_diff(a[1]))));
    assert!((3.0..20.0).contains(&spread), "{spread}");
    let still =
        scene(model(vec![(square(), material(), [0.0; 3], 1.0)]), &with(&json!({"filter": "grain", "length": 0.1})));
    assert!(!still.shots[0].same_picture(&still.shots[1]), "grain moves");
}

#[test]
fn toon_has_few_shades_and_an_outline() {
    // The light comes from one side, so the shading of the ball is a gradient, which the filter reduces to bands.
    let lit = json!({"spotlightIntensity": 2});
    let shades = |extra: &Value| {
        let picture = ball_picture(matte(0.6, 0.6, 0.6), extra);
        let seen: Vec<u8> = picture.iter().map(|p| p[1]).collect();
        let mut counts = vec![0_usize; 256];
        for shade in &seen {
            counts[usize::from(*shade)] += 1;
        }
        // Only shades that occur in more than 12 pixels are counted.
        (counts.iter().filter(|c| **c > 12).count(), picture)
    };
    let (plain, _) = shades(&lit);
    let (toon, picture) = shades(&json!({"spotlightIntensity": 2, "filter": "toon"}));
    assert!(toon * 2 < plain, "there are {toon} shades instead of {plain}");
    let row = &picture[(SIDE * SIDE / 2) as usize..(SIDE * SIDE / 2 + SIDE) as usize];
    let ink = row.iter().filter(|p| luminance(**p) < 0.012).count();
    assert!((2..12).contains(&ink), "the outlines on both sides have {ink} pixels");
}

#[test]
fn a_vignette_darkens_the_corners_and_does_not_change_the_middle() {
    let plain = ball_picture(matte(0.5, 0.5, 0.5), &json!({}));
    let dark = ball_picture(matte(0.5, 0.5, 0.5), &json!({"vignette": 0.8}));
    assert!(luminance(dark[0]) < 0.5 * luminance(plain[0]));
    assert!((luminance(middle(&dark)) - luminance(middle(&plain))).abs() < 0.01);
    let stronger = ball_picture(matte(0.5, 0.5, 0.5), &json!({"vignette": 1}));
    assert!(luminance(stronger[0]) < luminance(dark[0]));
}

/// Returns a small ball in front of a black square.
fn small_ball(material: Material) -> Model {
    model(vec![
        (square(), Material { unlit: true, ..matte(0.0, 0.0, 0.0) }, [0.0, 0.0, -1.0], 1.0),
        (ball(16, 32), material, [0.0; 3], 0.15),
    ])
}

fn shining(strength: f32) -> Material {
    Material { emissive: [strength; 3], ..matte(0.0, 0.0, 0.0) }
}

#[test]
fn only_bright_surfaces_glow_and_the_glow_extends_beyond_them() {
    let small = |material: Material, extra: &Value| picture(&scene(small_ball(material), &with(extra)), SIDE);
    let on = json!({"bloomEnabled": true, "bloomStrength": 1.5});
    let (plain, glow) = (small(shining(8.0), &json!({})), small(shining(8.0), &on));
    let beside = (SIDE * SIDE / 2 + SIDE / 2 + SIDE / 8) as usize;
    assert!(luminance(glow[beside]) > luminance(plain[beside]) + 0.01, "{:?} {:?}", plain[beside], glow[beside]);
    // A white surface that is not bright enough does not glow, so bloom changes the mean luminance by less than 1 %.
    let (plain, still) = (small(matte(0.8, 0.8, 0.8), &json!({})), small(matte(0.8, 0.8, 0.8), &on));
    let (a, b) = (mean(plain.iter().map(|p| luminance(*p))), mean(still.iter().map(|p| luminance(*p))));
    assert!((a - b).abs() < 0.01 * a, "{a} {b}");
}

/// Graphics cards store radiances that exceed the maximum of half-precision floats as infinity.
#[test]
fn extremely_bright_surfaces_glow_like_very_bright_ones() {
    let settings = with(&json!({"bloomEnabled": true, "bloomStrength": 1.5, "bgColor": "#000000"}));
    let drawn = |strength: f32| picture(&scene(small_ball(shining(strength)), &settings), SIDE);
    let (bright, extreme) = (drawn(1e4), drawn(1e6));
    assert!(middle(&extreme).iter().all(|c| *c >= 254), "{:?}", middle(&extreme));
    let differences = bright.iter().zip(&extreme).map(|(a, b)| (0..3).map(|c| a[c].abs_diff(b[c])).max());
    assert!(differences.max().flatten() <= Some(2));
}

#[test]
fn the_glow_does_not_depend_on_the_size_of_the_picture() {
    let settings = with(&json!({"bloomEnabled": true, "bloomStrength": 1.5, "bgColor": "#000000"}));
    let drawn = |side: u32| picture(&scene(small_ball(shining(8.0)), &settings), side);
    let side = 256;
    let (small, large) = (drawn(side), drawn(2 * side));
    // The ball, whose edge depends on the size of the pixels, has a radius of 13 pixels in the small picture.
    let is_glow = |i: &u32| (i % side).abs_diff(side / 2).max((i / side).abs_diff(side / 2)) > 16;
    let halved = |i: u32| {
        let (x, y) = (2 * (i % side), 2 * (i / side));
        mean((0..4).map(|k| luminance(large[((y + k / 2) * 2 * side + x + k % 2) as usize])))
    };
    let glow = || (0..side * side).filter(is_glow);
    let brightness = mean(glow().map(halved));
    let difference = mean(glow().map(|i| (luminance(small[i as usize]) - halved(i)).abs()));
    assert!(brightness > 0.02 && difference < 0.1 * brightness, "{difference} of {brightness}");
}

#[test]
fn depth_of_field_blurs_distant_surfaces_and_keeps_the_front_sharp() {
    // The lower pair of squares is near, and the upper pair is far away. In each pair, a white and a black square meet
    // in the middle of the picture.
    let wide = |shift: f32, y: f32, z: f32, material: Material| {
        let mut p = square();
        p.positions.iter_mut().for_each(|v| *v = [0.5 * v[0] + shift, 0.4 * v[1] + y, v[2] + z]);
        (p, material, [0.0; 3], 1.0)
    };
    let unlit = |c: f32| Material { unlit: true, ..matte(c, c, c) };
    let parts = || {
        vec![
            wide(-0.5, -0.5, 0.9, unlit(1.0)),
            wide(0.5, -0.5, 0.9, unlit(0.0)),
            wide(-0.5, 0.5, -1.1, unlit(1.0)),
            wide(0.5, 0.5, -1.1, unlit(0.0)),
        ]
    };
    let steepest = |extra: &Value, row: u32| {
        let picture = picture(&scene(model(parts()), &with(extra)), SIDE);
        let line = &picture[(row * SIDE) as usize..((row + 1) * SIDE) as usize];
        (SIDE / 3..SIDE * 2 / 3)
            .map(|x| luminance(line[x as usize]) - luminance(line[x as usize + 1]))
            .fold(0.0, f32::max)
    };
    let on = json!({"dofEnabled": true, "dofStrength": 1});
    let (near, far) = (SIDE * 7 / 10, SIDE * 4 / 10);
    let (sharp, soft) = (steepest(&on, near), steepest(&on, far));
    assert!(steepest(&json!({}), far) > 0.7);
    assert!(sharp > 0.6 && soft < 0.6 * sharp, "near {sharp}, far {soft}");
    let off = json!({"dofEnabled": true, "dofStrength": 0});
    assert!((steepest(&off, far) - steepest(&json!({}), far)).abs() < 0.02, "strength 0 blurs the picture");
}

#[test]
fn a_sharp_edge_stays_straight_even_if_other_parts_are_strongly_blurred() {
    // A sharp board is in front of a white background. A second board is in front of the sharp board in the lower half
    // of the picture, and a small board is far behind them.
    let board = |half: [f32; 2], [x, y, z]: [f32; 3]| {
        let mut p = square();
        p.positions.iter_mut().for_each(|v| *v = [half[0] * v[0] + x, half[1] * v[1] + y, v[2] + z]);
        (p, Material { unlit: true, ..matte(0.0, 0.0, 0.0) }, [0.0; 3], 1.0)
    };
    let parts = vec![
        board([0.9, 0.1], [0.0, -0.8, 1.0]),
        board([0.9, 0.3], [0.0, 0.0, 0.4]),
        board([0.1, 0.1], [0.8, 0.8, -3.0]),
    ];
    let side = 256;
    let extra = json!({"dofEnabled": true, "dofStrength": 1, "bgColor": "#ffffff"});
    let picture = picture(&scene(model(parts), &with(&extra)), side);
    let row = |y: u32| (side * 2 / 5..side * 3 / 5).map(move |x| luminance(picture[(y * side + x) as usize]));
    let rows: Vec<(f32, f32)> = (side * 5 / 8..side)
        .map(|y| (row.clone()(y).fold(1.0, f32::min), row.clone()(y).fold(0.0, f32::max)))
        .collect();
    let blurred = rows.iter().filter(|(low, high)| *high > 0.2 && *low < 0.8).count();
    assert!(blurred > 6, "only {blurred} rows are blurred");
    let serration = rows.iter().map(|(low, high)| high - low).fold(0.0, f32::max);
    assert!(serration < 0.1, "{serration}");
}

#[test]
fn occlusion_darkens_crevices_and_hardly_changes_open_areas() {
    // The scene is a ball that touches a wall behind it.
    let corner = |extra: &Value| {
        let parts = vec![
            (square(), matte(0.7, 0.7, 0.7), [0.0, 0.0, -0.3], 1.0),
            (ball(32, 64), matte(0.7, 0.7, 0.7), [0.0; 3], 0.3),
        ];
        picture(&scene(model(parts), &with(extra)), SIDE)
    };
    let (one, many) =
        (corner(&json!({"n8aoEnabled": true})), corner(&json!({"n8aoEnabled": true, "n8aoIntensity": 6})));
    // The first point is on the wall beside the ball, and the second point is near a corner of the wall.
    let crevice = (SIDE * SIDE / 2 + SIDE / 2 + SIDE / 6) as usize;
    let open = (SIDE * (SIDE / 2 - SIDE / 4) + SIDE / 2 - SIDE / 4) as usize;
    assert!(luminance(many[crevice]) < 0.9 * luminance(one[crevice]), "{:?} {:?}", one[crevice], many[crevice]);
    // At the second point, the ball covers 1.8 % of the cosine-weighted hemisphere: h r² / d³ with h = r = 0.3 and d =
    // 1.14. The intensity of the occlusion amplifies this effect, so that 91 % of the light remains.
    assert!(luminance(many[open]) > 0.87 * luminance(one[open]), "{:?} {:?}", one[open], many[open]);
}

#[test]
fn every_shadow_mode_draws_a_shadow_and_softness_widens_its_penumbra() {
    let camera = json!({
        "effect": "keyframes", "aspect": "1:1", "length": 0.04, "bgColor": "#ffffff",
        "keyframes": [{"pose": {"position": [0, 4, 4], "lookAt": [0, -0.5, 0], "fov": 50}}],
    });
    let shadow = |mode: &str, softness: f32| {
        let mut settings = camera.clone();
        settings["shadowMode"] = json!(mode);
        settings["shadowSoftness"] = json!(softness);
        picture(&scene(model(vec![(ball(32, 64), matte(0.5, 0.5, 0.5), [0.0; 3], 1.0)]), &settings), SIDE)
    };
    let darkness = |picture: &[[u8; 3]]| picture.iter().map(|p| 1.0 - luminance(*p)).sum::<f32>();
    let mut without = camera.clone();
    without["shadows"] = json!(false);
    let bare = picture(&scene(model(vec![(ball(32, 64), matte(0.5, 0.5, 0.5), [0.0; 3], 1.0)]), &without), SIDE);
    let mut pictures = Vec::new();
    for mode in ["shader", "flat", "accumulated"] {
        let (hard, soft) = (shadow(mode, 0.0), shadow(mode, 1.0));
        assert!(darkness(&hard) > darkness(&bare) + 20.0, "{mode}");
        // Counts the pixels of the floor that are neither fully lit nor fully in shadow.
        let penumbra = |picture: &[[u8; 3]]| {
            let floor = picture.iter().zip(&bare).filter(|(_, bare)| **bare == [255; 3]);
            let floor: Vec<f32> = floor.map(|(p, _)| 1.0 - luminance(*p)).collect();
            let darkest = floor.iter().copied().fold(0.0, f32::max);
            floor.iter().filter(|dark| (0.2 * darkest..0.8 * darkest).contains(dark)).count()
        };
        assert!(penumbra(&soft) > penumbra(&hard), "{mode}: {} {}", penumbra(&soft), penumbra(&hard));
        pictures.push(soft);
    }
    assert!(pictures[0] != pictures[1] && pictures[1] != pictures[2] && pictures[0] != pictures[2]);
}

#[test]
fn a_reflecting_floor_shows_the_visible_model_upside_down_and_fading() {
    let settings = |extra: Value| {
        let mut settings = json!({
            "effect": "keyframes", "aspect": "1:1", "length": 0.04, "bgColor": "#000000", "shadows": false,
            "keyframes": [{"pose": {"position": [0, 0.6, 6], "lookAt": [0, -1, 0], "fov": 50}}],
        });
        for (key, value) in extra.as_object().unwrap() {
            settings[key] = value.clone();
        }
        settings
    };
    // The model is red below and blue above.
    let half = |y: f32| {
        let mut p = square();
        p.positions.iter_mut().for_each(|v| v[1] = 0.5 * v[1] + y);
        p
    };
    let unlit = |r: f32, b: f32| Material { unlit: true, double_sided: true, ..matte(r, 0.0, b) };
    let drawn = |extra: Value| {
        let parts = vec![(half(-0.5), unlit(1.0, 0.0), [0.0; 3], 1.0), (half(0.5), unlit(0.0, 1.0), [0.0; 3], 1.0)];
        picture(&scene(model(parts), &settings(extra)), SIDE)
    };
    let column =
        |picture: &[[u8; 3]]| -> Vec<[u8; 3]> { (0..SIDE).map(|y| picture[(y * SIDE + SIDE / 2) as usize]).collect() };
    let sharp = json!({"reflector": true, "reflectorMix": 1, "reflectorFade": 5, "reflectorDepthBlur": 0});
    let mirrored = column(&drawn(sharp));
    // From top to bottom, the colours are blue, red, and then the reflection's red and blue.
    let mut order: Vec<char> = Vec::new();
    for [r, _, b] in &mirrored {
        let seen = if *r > 60 && *r > 2 * *b {
            Some('r')
        } else if *b > 60 && *b > 2 * *r {
            Some('b')
        } else {
            None
        };
        if let Some(seen) = seen.filter(|seen| order.last() != Some(seen)) {
            order.push(seen);
        }
    }
    assert_eq!(order, ['b', 'r', 'b'], "{mirrored:?}");
    let light =
        |picture: &[[u8; 3]]| column(picture)[(SIDE * 2 / 3) as usize..].iter().map(|p| luminance(*p)).sum::<f32>();
    let full = light(&drawn(json!({"reflector": true, "reflectorMix": 1, "reflectorFade": 5})));
    assert!(light(&drawn(json!({}))) < 0.01 * full, "there is a reflection without a reflecting floor");
    assert!(light(&drawn(json!({"reflector": true, "reflectorMix": 0.5, "reflectorFade": 5}))) < 0.8 * full);
    assert!(light(&drawn(json!({"reflector": true, "reflectorMix": 1, "reflectorFade": 0.2}))) < 0.5 * full);
    let hidden = drawn(json!({"reflector": true, "reflectorMix": 1, "hiddenMeshNames": ["part 1"]}));
    assert!(column(&hidden).iter().all(|[_, _, b]| *b < 40), "a hidden mesh has a reflection");
}
