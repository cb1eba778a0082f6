//! Tests of properties that pictures must have on every adapter.

use std::collections::BTreeMap;

use plinth_frame::PixelFormat;
use plinth_model::{AlphaMode, Animation, Channel, Interpolation, Material, Property, Transmission, Volume};
use serde_json::json;

use crate::models::{ball, even, frames, model, picture, scene, scene_with, square, straight_on, whole};

const SIDE: u32 = 96;

fn at(picture: &[[u8; 3]], x: u32, y: u32) -> [u8; 3] {
    picture[(y * SIDE + x) as usize]
}

fn colored(r: f32, g: f32, b: f32) -> Material {
    Material {
        base_color: [r, g, b, 1.0],
        metallic: 0.0,
        perceptual_roughness: 1.0,
        unlit: true,
        ..Material::default()
    }
}

/// Two squares meet in the centre of the picture. Both squares are unlit, so every mixture of their colours comes from
/// antialiasing.
#[test]
fn an_edge_between_two_surfaces_is_antialiased_by_coverage() {
    let tilted = |mut p: plinth_model::Primitive| {
        for v in &mut p.positions {
            *v = [0.96 * v[0] - 0.28 * v[1], 0.28 * v[0] + 0.96 * v[1], v[2]];
        }
        p
    };
    let parts = vec![
        (tilted(square()), colored(1.0, 0.0, 0.0), [0.0; 3], 1.0),
        (tilted(square()), colored(0.0, 0.0, 1.0), [0.0, 0.0, 0.2], 0.5),
    ];
    let picture = picture(&scene(model(parts), &straight_on()), SIDE);
    let mut mixed = 0;
    for pixel in &picture {
        let [r, g, b] = *pixel;
        // Antialiasing must mix red and blue in quarters, and must not mix in the backdrop (32, 64, 96).
        if g < 8 && r > 16 && b > 16 {
            let quarters = f32::from(b) / 255.0 * 4.0;
            assert!((quarters - quarters.round()).abs() < 0.1, "{pixel:?}");
            assert!(u32::from(r) + u32::from(b) > 240, "{pixel:?}");
            mixed += 1;
        }
    }
    assert!(mixed > 40, "only {mixed} pixels are mixed");
}

#[test]
fn a_crease_of_one_material_is_antialiased() {
    // The model is a roof of one material, with a red left side, a blue right side and an inclined ridge.
    let mut roof = plinth_model::Primitive::default();
    for side in [-1.0_f32, 1.0] {
        let first = roof.positions.len() as u32;
        for p in [[-0.1, -1.0, 0.4], [side, -1.0, -0.4], [side, 1.0, -0.4], [0.1, 1.0, 0.4]] {
            roof.positions.push(p);
            roof.normals.push(glam::Vec3::new(side * 0.8, 0.0, 1.0).normalize().to_array());
            roof.colors.push(if side < 0.0 { [1.0, 0.0, 0.0, 1.0] } else { [0.0, 0.0, 1.0, 1.0] });
        }
        let quad = if side > 0.0 { [0, 1, 2, 0, 2, 3] } else { [0, 2, 1, 0, 3, 2] };
        roof.indices.extend(quad.map(|i| first + i));
    }
    let roof = model(vec![(roof, colored(1.0, 1.0, 1.0), [0.0; 3], 1.0)]);
    let picture = picture(&scene(roof, &straight_on()), SIDE);
    let mixed = picture.iter().filter(|[r, g, b]| *g < 8 && *r > 90 && *b > 90).count();
    assert!(mixed > 20, "only {mixed} pixels along the ridge are mixed");
}

#[test]
fn a_masked_hole_shows_the_surface_behind_it() {
    let holes = Material {
        alpha_mode: AlphaMode::Mask { cutoff: 0.5 },
        base_color: [0.0, 1.0, 0.0, 0.2],
        ..colored(0.0, 1.0, 0.0)
    };
    let parts = vec![(square(), colored(1.0, 0.0, 0.0), [0.0; 3], 1.0), (square(), holes, [0.0, 0.0, 0.2], 0.5)];
    let picture = picture(&scene(model(parts), &straight_on()), SIDE);
    assert_eq!(at(&picture, SIDE / 2, SIDE / 2), [255, 0, 0]);
}

#[test]
fn blended_surfaces_mix_with_the_surface_behind_them_and_change_no_other_pixels() {
    let half = Material { alpha_mode: AlphaMode::Blend, base_color: [0.0, 0.0, 1.0, 0.5], ..colored(0.0, 0.0, 1.0) };
    let parts = vec![(square(), colored(1.0, 0.0, 0.0), [0.0; 3], 1.0), (square(), half, [0.0, 0.0, 0.2], 0.3)];
    let picture = picture(&scene(model(parts), &straight_on()), SIDE);
    let [r, _, b] = at(&picture, SIDE / 2, SIDE / 2);
    assert!(r.abs_diff(128) <= 2 && b.abs_diff(128) <= 2, "{r} {b}");
    assert_eq!(at(&picture, SIDE / 2, SIDE / 4 + 4), [255, 0, 0], "the pixel beside it is not opaque");
    assert_eq!(at(&picture, 2, 2), [32, 64, 96], "the pixel beside the model is not the backdrop");
}

fn glass(ior: f32, thickness: f32) -> Material {
    Material {
        transmission: Some(Transmission { factor: 1.0, ..Transmission::default() }),
        volume: Some(Volume { thickness, ..Volume::default() }),
        ior,
        perceptual_roughness: 0.0,
        metallic: 0.0,
        ..Material::default()
    }
}

/// Returns a picture of a glass ball in front of two squares: a red square on the left, and a blue square on the right.
fn ball_before_two_halves(material: Material) -> Vec<[u8; 3]> {
    let wide = |mut p: plinth_model::Primitive, shift: f32| {
        p.positions.iter_mut().for_each(|v| v[0] += shift);
        p
    };
    let parts = vec![
        (wide(square(), -1.0), colored(1.0, 0.0, 0.0), [0.0, 0.0, -1.5], 1.0),
        (wide(square(), 1.0), colored(0.0, 0.0, 1.0), [0.0, 0.0, -1.5], 1.0),
        (ball(48, 96), material, [0.0; 3], 0.5),
    ];
    picture(&scene(model(parts), &straight_on()), SIDE)
}

#[test]
fn a_glass_ball_shows_the_scene_behind_it_reversed() {
    let picture = ball_before_two_halves(glass(1.5, 1.0));
    let (left, right) = (at(&picture, SIDE / 2 - 4, SIDE / 2), at(&picture, SIDE / 2 + 4, SIDE / 2));
    assert!(left[2] > 200 && left[0] < 150, "the left of the ball does not show the right square: {left:?}");
    assert!(right[0] > 200 && right[2] < 150, "the right of the ball does not show the left square: {right:?}");
}

#[test]
fn only_rough_glass_blurs_the_scene_behind_it() {
    // The squares meet in the middle of the picture.
    let left_of_middle = |roughness: f32, ior: f32| {
        let picture = ball_before_two_halves(Material { perceptual_roughness: roughness, ..glass(ior, 0.0) });
        at(&picture, SIDE / 2 - 2, SIDE / 2)
    };
    let [r, _, b] = left_of_middle(0.0, 1.5);
    assert!(r > 200 && b < 60, "smooth glass blurs: {r} {b}");
    let [r, _, b] = left_of_middle(0.6, 1.5);
    assert!(r > 60 && b > 60, "rough glass does not blur: {r} {b}");
    // The blur decreases as the index of refraction approaches 1 (KHR_materials_transmission, implementation notes).
    let [r, _, b] = left_of_middle(0.6, 1.0);
    assert!(r > 200 && b < 60, "rough glass with the refraction of air blurs: {r} {b}");
}

/// The renderer blurs the scene behind rough glass in advance. Behind smooth glass, it does not blur the scene.
#[test]
fn hardly_rough_glass_looks_like_smooth_glass() {
    for (ior, thickness) in [(1.5, 1.0), (1.5, 0.0), (2.4, 0.3)] {
        let [smooth, rough] = [0.0, 1e-6].map(|roughness| {
            ball_before_two_halves(Material { perceptual_roughness: roughness, ..glass(ior, thickness) })
        });
        let differs = |(a, b): (&[u8; 3], &[u8; 3])| a.iter().zip(b).any(|(a, b)| a.abs_diff(*b) > 1);
        assert_eq!(smooth.iter().zip(&rough).filter(|pair| differs(*pair)).count(), 0, "{ior} {thickness}");
    }
}

#[test]
fn glass_without_refraction_shows_the_scene_directly_behind_it() {
    let picture = ball_before_two_halves(glass(1.0, 1.0));
    let (left, right) = (at(&picture, SIDE / 2 - 4, SIDE / 2), at(&picture, SIDE / 2 + 4, SIDE / 2));
    assert!(left[0] > 200 && left[2] < 60, "{left:?}");
    assert!(right[2] > 200 && right[0] < 60, "{right:?}");
}

#[test]
fn dispersion_separates_the_colours_of_an_edge() {
    let colored_pixels = |dispersion: f32| {
        let white = |mut p: plinth_model::Primitive| {
            p.positions.iter_mut().for_each(|v| v[0] += 1.0);
            p
        };
        let parts = vec![
            (square(), colored(0.0, 0.0, 0.0), [0.0, 0.0, -1.6], 1.5),
            (white(square()), colored(1.0, 1.0, 1.0), [0.0, 0.0, -1.5], 1.0),
            (ball(48, 96), Material { dispersion, ..glass(1.5, 1.0) }, [0.0; 3], 0.7),
        ];
        let picture = picture(&scene(model(parts), &straight_on()), SIDE);
        picture.iter().filter(|[r, g, b]| r.abs_diff(*g).max(b.abs_diff(*g)) > 60).count()
    };
    let (without, with) = (colored_pixels(0.0), colored_pixels(5.0));
    assert!(with > without + 4, "there are {without} coloured pixels without dispersion, and {with} with it");
}

#[test]
fn glass_behind_glass_is_visible() {
    let green = Material { base_color: [0.0, 1.0, 0.0, 1.0], ..glass(1.0, 0.0) };
    let clear = glass(1.0, 0.0);
    let parts = vec![
        (square(), colored(1.0, 1.0, 1.0), [0.0, 0.0, -0.5], 1.0),
        (square(), green, [0.0; 3], 0.5),
        (square(), clear, [0.0, 0.0, 0.3], 0.3),
    ];
    let picture = picture(&scene(model(parts), &straight_on()), SIDE);
    let [r, g, b] = at(&picture, SIDE / 2, SIDE / 2);
    assert!(g > 200 && r < 80 && b < 80, "green behind clear glass is not green: {r} {g} {b}");
}

/// Returns a square that consists of 2 n² triangles. It is slightly rotated, so that its edges cross pixels.
fn divided(n: u16) -> plinth_model::Primitive {
    let mut pane = plinth_model::Primitive::default();
    let steps = || (0..=n).map(|i| 2.0 * f32::from(i) / f32::from(n) - 1.0);
    for (y, x) in steps().flat_map(|y| steps().map(move |x| (y, x))) {
        pane.positions.push([0.96 * x - 0.28 * y, 0.28 * x + 0.96 * y, 0.0]);
        pane.normals.push([0.0, 0.0, 1.0]);
    }
    let row = u32::from(n) + 1;
    for corner in (0..u32::from(n)).flat_map(|j| (0..u32::from(n)).map(move |i| j * row + i)) {
        pane.indices.extend([0, 1, row, row, 1, row + 1].map(|step| corner + step));
    }
    pane
}

/// One glass pane is behind a translucent square, and another is in front of it. Panes with few triangles are drawn
/// triangle by triangle. Panes with many triangles are drawn through a visibility buffer.
#[test]
fn glass_of_many_triangles_looks_like_glass_of_few() {
    let drawn = |n: u16| {
        let green = Material { base_color: [0.2, 1.0, 0.2, 1.0], perceptual_roughness: 0.1, ..glass(1.4, 0.1) };
        let veil =
            Material { base_color: [1.0, 0.0, 0.0, 0.3], alpha_mode: AlphaMode::Blend, ..colored(1.0, 0.0, 0.0) };
        let parts = vec![
            (square(), colored(1.0, 1.0, 1.0), [-1.0, 0.0, -0.5], 1.0),
            (divided(n), green, [0.0; 3], 0.5),
            (square(), veil, [0.2, 0.2, 0.3], 0.4),
            (divided(n), glass(1.0, 0.0), [0.1, -0.2, 0.6], 0.3),
        ];
        picture(&scene(model(parts), &straight_on()), SIDE)
    };
    let (few, many) = (drawn(4), drawn(32));
    let difference = |(a, b): (&[u8; 3], &[u8; 3])| (0..3).map(|c| a[c].abs_diff(b[c])).max().unwrap_or(0);
    let differences: Vec<u8> = few.iter().zip(&many).map(difference).collect();
    // Some pixels at edges differ, because a surface is shaded there at the centroid of its samples instead of the
    // centre of the pixel.
    let different = differences.iter().filter(|difference| **difference > 2).count();
    assert!(different < 30, "{different} pixels differ, at most by {:?}", differences.iter().max());
    assert!(differences.iter().all(|difference| *difference < 40), "{:?}", differences.iter().max());
}

/// The panes overlap in the picture, so each pane is drawn where other panes were drawn before.
#[test]
fn crossing_panes_of_many_triangles_look_like_those_of_few() {
    let drawn = |n: u16| -> Vec<Vec<[u8; 3]>> {
        let tints = [[0.3, 1.0, 0.3, 1.0], [1.0, 0.3, 0.3, 1.0], [0.3, 0.3, 1.0, 1.0], [0.9, 0.9, 0.2, 1.0]];
        let positions = [[-0.3, 0.3, 0.5], [0.25, 0.1, 0.2], [-0.1, -0.35, -0.1], [0.3, -0.2, -0.4]];
        let pane = |(base_color, position)| (divided(n), Material { base_color, ..glass(1.0, 0.0) }, position, 0.4);
        let parts = tints.into_iter().zip(positions).map(pane).collect();
        let settings = json!({"quality": "share", "length": 1, "sweepAngle": 60, "shadows": false});
        frames(&scene(model(parts), &settings), 320, 180, PixelFormat::Rgba8).iter().map(whole).collect()
    };
    for (number, (few, many)) in drawn(4).iter().zip(&drawn(32)).enumerate() {
        let differences = few.iter().zip(many).map(|(a, b)| (0..3).map(|c| a[c].abs_diff(b[c])).max().unwrap_or(0));
        assert!(differences.max() < Some(100), "frame {number}");
    }
}

#[test]
fn clear_glass_shows_the_backdrop_and_frosted_glass_shows_the_environment() {
    let seen = |base: [f32; 4], roughness: f32| {
        let pane = Material { base_color: base, perceptual_roughness: roughness, ..glass(1.0001, 0.0) };
        at(&picture(&scene(model(vec![(square(), pane, [0.0; 3], 1.0)]), &straight_on()), SIDE), SIDE / 2, SIDE / 2)
    };
    let backdrop = [0x20, 0x40, 0x60_u8];
    let clear = seen([1.0; 4], 0.0);
    assert!((0..3).all(|c| clear[c].abs_diff(backdrop[c]) < 6), "{clear:?}");
    let [r, g, b] = seen([0.0, 1.0, 0.0, 1.0], 0.0);
    assert!(r < 12 && g.abs_diff(0x40) < 8 && b < 12, "green glass: {r} {g} {b}");
    let frosted = Material { perceptual_roughness: 0.6, ..glass(1.5, 0.0) };
    let parts = vec![(square(), frosted, [0.0; 3], 1.0)];
    let light = at(&picture(&scene(model(parts), &straight_on()), SIDE), SIDE / 2, SIDE / 2);
    assert!(light.iter().all(|c| *c > 180), "{light:?}");
}

#[test]
fn unlit_colours_are_exact_even_if_there_is_glass_or_bloom() {
    // From left to right, the scene contains columns of white, red, dark green, black and grey. A translucent column is
    // in front of the grey column.
    let column = |x: f32, material: Material| {
        let mut p = square();
        p.positions.iter_mut().for_each(|v| v[0] = 0.2 * v[0] + x);
        (p, material, [0.0, 0.0, -0.6], 1.0)
    };
    let mixed = Material { alpha_mode: AlphaMode::Blend, base_color: [0.2, 0.02, 0.0, 0.5], ..colored(0.0, 0.0, 0.0) };
    let drawn = |ball_material: Material, more: serde_json::Value| {
        let parts = vec![
            column(-0.8, colored(1.0, 1.0, 1.0)),
            column(-0.4, colored(1.0, 0.0, 0.0)),
            column(0.0, colored(0.0, 0.03, 0.0)),
            column(0.4, colored(0.0, 0.0, 0.0)),
            column(0.8, colored(0.1, 0.1, 0.1)),
            (column(0.8, mixed.clone()).0, mixed.clone(), [0.0, 0.0, -0.5], 1.0),
            (ball(48, 96), ball_material, [0.0; 3], 0.5),
        ];
        let mut settings = straight_on();
        settings.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        picture(&scene(model(parts), &settings), SIDE)
    };
    let alone = drawn(colored(0.3, 0.3, 0.3), json!({}));
    let beside_glass = drawn(glass(1.5, 1.0), json!({}));
    // The bloom is too weak to be visible, but it requires that all colours are converted to radiance.
    let beside_glow = drawn(colored(0.3, 0.3, 0.3), json!({"bloomEnabled": true, "bloomStrength": 0.001}));
    let is_ball = |i: u32| {
        let (x, y) = (i % SIDE, i / SIDE);
        x.abs_diff(SIDE / 2).pow(2) + y.abs_diff(SIDE / 2).pow(2) < (SIDE / 4).pow(2)
    };
    for (what, picture) in [("glass", beside_glass), ("glow", beside_glow)] {
        for (i, (a, b)) in (0..).zip(alone.iter().zip(&picture)).filter(|(i, _)| !is_ball(*i)) {
            // Blended colours are mixed as radiance instead of in display space, so they may differ more.
            let least = if i % SIDE >= SIDE * 2 / 3 { 12 } else { 1 };
            assert!((0..3).all(|c| a[c].abs_diff(b[c]) <= least), "{what}, {} {}: {a:?} {b:?}", i % SIDE, i / SIDE);
        }
    }
    assert_eq!([at(&alone, 25, 25), at(&alone, 36, 25), at(&alone, 59, 25)], [[255; 3], [255, 0, 0], [0; 3]]);
}

/// Four unlit columns are partly behind glass. In the second picture, a pane that is a triangle covers the two columns
/// on the right, and a larger pane in front of it covers all of them.
#[test]
fn clear_glass_shows_unlit_colours_exactly() {
    let columns = [(-0.3, [0.7, 0.1, 0.02]), (-0.1, [0.1, 0.1, 0.1]), (0.1, [0.5, 0.6, 0.3]), (0.3, [0.0, 0.0, 0.0])];
    let column = |(x, [r, g, b]): (f32, [f32; 3])| {
        let mut p = square();
        p.positions.iter_mut().for_each(|v| v[0] = 0.1 * v[0] + x);
        (p, colored(r, g, b), [0.0, 0.0, -0.6], 1.0)
    };
    let pane = |p: plinth_model::Primitive, z: f32| {
        let clear = Material { specular: 0.0, ..glass(1.0, 0.0) };
        (p, clear, [0.0, 0.0, z], 0.5)
    };
    let triangle = plinth_model::Primitive { indices: vec![0, 1, 2], ..square() };
    for panes in [vec![pane(square(), 0.0)], vec![pane(triangle, 0.0), pane(square(), 0.3)]] {
        let count = panes.len();
        let parts = columns.into_iter().map(column).chain(panes).collect();
        let picture = picture(&scene(model(parts), &straight_on()), SIDE);
        for x in [39, 45, 51, 57] {
            let (bare, behind) = (at(&picture, x, 22), at(&picture, x, SIDE / 2));
            assert_ne!(bare, [0x20, 0x40, 0x60], "no column is at {x}");
            assert!((0..3).all(|c| bare[c].abs_diff(behind[c]) <= 2), "{count} panes, {x}: {bare:?} {behind:?}");
        }
    }
}

#[test]
fn glass_shows_the_environment_instead_of_the_backdrop_in_a_dataset() {
    let pane = glass(1.0001, 0.0);
    let mut scene = scene(model(vec![(square(), pane, [0.0; 3], 1.0)]), &straight_on());
    scene.is_dataset = true;
    let seen = at(&picture(&scene, SIDE), SIDE / 2, SIDE / 2);
    assert!(
        seen.iter().all(|c| *c > 180),
        "the glass shows the backdrop (32, 64, 96) instead of the environment: {seen:?}"
    );
}

#[test]
fn a_mirror_shows_the_object_in_front_of_it() {
    let mirror = Material { metallic: 1.0, perceptual_roughness: 0.05, ..Material::default() };
    let red = Material { base_color: [0.8, 0.0, 0.0, 1.0], metallic: 0.0, ..Material::default() };
    let parts = vec![(square(), mirror, [0.0; 3], 1.0), (ball(48, 96), red, [0.6, 0.0, 0.8], 0.2)];
    let picture = picture(&scene(model(parts), &straight_on()), SIDE);
    // The mirror image of the ball is as far behind the mirror as the ball is in front of it. In the picture, the
    // mirror image is on the left of the ball.
    let [r, g, _] = at(&picture, 60, SIDE / 2);
    assert!(r > g + 60, "the image: {r} {g}");
    let [r, g, _] = at(&picture, 36, SIDE / 2);
    assert!(r.abs_diff(g) < 8 && g > 200, "beside it: {r} {g}");
}

#[test]
fn a_white_ball_in_even_white_light_stays_white() {
    for roughness in [0.0, 0.3, 0.6, 1.0] {
        let white =
            Material { metallic: 1.0, perceptual_roughness: roughness, base_color: [1.0; 4], ..Material::default() };
        let scene = scene(model(vec![(ball(48, 96), white, [0.0; 3], 1.0)]), &straight_on());
        let picture = picture(&scene, SIDE);
        // `middle` is the display value to which the tone curve maps the radiance 1.
        let middle = at(&picture, SIDE / 2, SIDE / 2)[1];
        let side = at(&picture, SIDE / 2 + 20, SIDE / 2)[1];
        assert!(middle.abs_diff(side) <= 3, "roughness {roughness}: {middle} in the middle, {side} at the side");
        assert!(middle > 235, "roughness {roughness}: the middle is only {middle}");
    }
}

/// Two squares share one material. The clip makes the scale of the left square negative, and keeps the scale of the
/// right square positive.
#[test]
fn a_part_that_is_mirrored_by_a_clip_still_shows_its_front() {
    for alpha_mode in [AlphaMode::Opaque, AlphaMode::Blend] {
        let red = Material { alpha_mode, ..colored(1.0, 0.0, 0.0) };
        let part = |x: f32| (square(), red.clone(), [x, 0.0, 0.0], 0.4);
        let mut both = model(vec![part(-0.5), part(0.5)]);
        both.meshes[1].primitives[0].material = 0;
        let scaled = |node: usize, x: f32| Channel {
            node,
            property: Property::Scale,
            interpolation: Interpolation::Step,
            times: vec![0.0, 0.02, 1.0],
            values: [[0.4, 0.4, 0.4], [x, 0.4, 0.4], [x, 0.4, 0.4]].concat(),
        };
        let channels = vec![scaled(0, -0.4), scaled(1, 0.5)];
        both.animations.push(Animation { name: "turn".to_owned(), duration: 1.0, channels });
        let mut settings = straight_on();
        (settings["animation"], settings["length"]) = (json!("turn"), json!(0.07));
        for frame in frames(&scene(both, &settings), SIDE, SIDE, PixelFormat::Rgba8) {
            let picture = whole(&frame);
            for x in [SIDE / 4, SIDE * 3 / 4] {
                assert_eq!(at(&picture, x, SIDE / 2), [255, 0, 0], "frame {}, {alpha_mode:?}, at {x}", frame.index);
            }
        }
    }
}

/// The reflectance of the ball at normal incidence is zero, so its middle is black in any light, but its rim reflects
/// light.
#[test]
fn a_specular_colour_of_black_reflects_at_the_rim_only() {
    let black = Material {
        base_color: [0.0, 0.0, 0.0, 1.0],
        metallic: 0.0,
        perceptual_roughness: 0.0,
        specular_color: [0.0; 3],
        ..Material::default()
    };
    let parts = vec![(ball(64, 96), black, [0.0; 3], 1.0)];
    let mut light = even();
    light.pixels.fill([50.0; 3]);
    let picture = picture(&scene_with(model(parts), &straight_on(), light, &BTreeMap::new()), SIDE);
    let middle = at(&picture, SIDE / 2, SIDE / 2);
    assert!(middle.iter().all(|c| *c < 12), "{middle:?}");
    let brightest = picture.iter().map(|p| p[0]).max();
    assert!(brightest > Some(200), "{brightest:?}");
}
