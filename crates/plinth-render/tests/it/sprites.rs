//! Tests of points and lines: their position, their size, their colours, and their depth and normals in datasets.

use std::collections::BTreeMap;
use std::sync::Arc;

use glam::Vec3;
use plinth_frame::{Layers, PixelFormat};
use plinth_model::{
    AlphaMode, Animation, Channel, Image, Interpolation, Material, Model, Primitive, Property, Sampler, Texture,
    TextureRef, Topology,
};
use plinth_scene::EnvironmentMap;
use serde_json::{Value, json};

use crate::models::{ball, frames, layers, model, picture, scene, scene_with, square, straight_on, whole};

const SIDE: u32 = 96;
const DISTANCE: f32 = 4.0;

fn points(positions: Vec<[f32; 3]>) -> Primitive {
    let indices = (0..positions.len() as u32).collect();
    Primitive { topology: Topology::Points, indices, positions, ..Primitive::default() }
}

fn lines(positions: Vec<[f32; 3]>) -> Primitive {
    Primitive { topology: Topology::Lines, ..points(positions) }
}

/// Returns points that are spread evenly over a sphere of radius 1 (Vogel 1979).
fn cloud(count: u32) -> Primitive {
    let place = |i: u32| {
        let y = 1.0 - (2 * i + 1) as f32 / count as f32;
        let (sin, cos) = (i as f32 * 2.399_963_2).sin_cos();
        let r = (1.0 - y * y).sqrt();
        [r * cos, y, r * sin]
    };
    points((0..count).map(place).collect())
}

fn colored(r: f32, g: f32, b: f32) -> Material {
    Material { base_color: [r, g, b, 1.0], metallic: 0.0, perceptual_roughness: 1.0, ..Material::default() }
}

fn alone(primitive: Primitive, material: Material) -> Model {
    model(vec![(primitive, material, [0.0; 3], 1.0)])
}

fn seen(primitive: Primitive, material: Material, side: u32) -> Layers {
    layers(scene(alone(primitive, material), &straight_on()), side)
}

/// Returns settings of a camera in front of the model, combined with other settings.
fn with(more: &Value) -> Value {
    let mut settings = straight_on();
    for (key, value) in more.as_object().unwrap() {
        settings[key] = value.clone();
    }
    settings
}

/// Returns the index of the pixel that shows a world-space point.
fn pixel(p: Vec3, side: u32) -> usize {
    let scale = 0.5 * side as f32 / (20_f32.to_radians().tan() * (DISTANCE - p.z));
    let at = |v: f32| (side as f32 * 0.5 + v * scale) as usize;
    at(-p.y) * side as usize + at(p.x)
}

fn alpha_of_row(layers: &Layers, y: u32) -> f32 {
    let row = &layers.color[(y * layers.width) as usize..][..layers.width as usize];
    row.iter().map(|c| f32::from(c[3]) / 255.0).sum()
}

#[test]
fn points_without_normals_show_their_colour_and_emission_unlit() {
    let places = [[-1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.5, 0.0]];
    let tints = vec![[1.0, 0.0, 0.0, 1.0], [0.0, 1.0, 0.0, 1.0], [0.0, 0.0, 1.0, 1.0]];
    let primitive = Primitive { colors: tints, ..points(places.to_vec()) };
    // The scene is centred on the bounding box of the points, so the points are 0.25 units lower than in the model.
    let at = |p: [f32; 3]| pixel(Vec3::from(p) - Vec3::Y * 0.25, 270);
    let plain = seen(primitive.clone(), Material::default(), 270);
    let found = places.map(|p| plain.color[at(p)]);
    assert_eq!(found, [[255, 0, 0, 255], [0, 255, 0, 255], [0, 0, 255, 255]]);
    let glowing = Material { emissive: [0.0, 0.0, 1.0], ..Material::default() };
    assert_eq!(seen(primitive.clone(), glowing.clone(), 270).color[at(places[0])], [255, 0, 255, 255]);
    // Materials with KHR_materials_unlit have no emission.
    let unlit = Material { unlit: true, ..glowing };
    assert_eq!(seen(primitive, unlit, 270).color[at(places[0])], [255, 0, 0, 255]);
}

#[test]
fn a_point_is_a_disc_of_the_expected_size() {
    let few = seen(points(vec![[-1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]), Material::default(), 1080);
    let middle = pixel(Vec3::X, 1080);
    let (x, y) = ((middle % 1080) as f32, (middle / 1080) as f32);
    let (mut area, mut farthest) = (0.0, 0.0_f32);
    for (i, color) in few.color.iter().enumerate().filter(|(i, _)| i % 1080 > 540) {
        area += f32::from(color[3]) / 255.0;
        if color[3] > 0 {
            farthest = farthest.max(((i % 1080) as f32 - x).hypot((i / 1080) as f32 - y));
        }
    }
    // The diameter of the disc is 0.025 units. The camera is 4 units away.
    let radius = 0.0125 * 540.0 / (20_f32.to_radians().tan() * DISTANCE);
    let disc = std::f32::consts::PI * radius * radius;
    assert!((area / disc - 1.0).abs() < 0.06, "{area} {disc}");
    assert!(farthest < radius + 1.5, "{farthest} {radius}");
}

#[test]
fn a_dense_cloud_looks_closed_and_hides_its_far_side() {
    let mut primitive = cloud(35_000);
    primitive.colors =
        primitive.positions.iter().map(|p| if p[2] > 0.0 { [0.0, 1.0, 0.0, 1.0] } else { [1.0; 4] }).collect();
    for side in [SIDE, 400] {
        let layers = seen(primitive.clone(), Material::default(), side);
        let scale = 0.5 * side as f32 / (20_f32.to_radians().tan() * DISTANCE);
        let inside = |i: usize| {
            let at = |v: usize| v as f32 + 0.5 - side as f32 * 0.5;
            at(i % side as usize).hypot(at(i / side as usize)) < 0.9 * scale
        };
        let disc: Vec<[u8; 4]> = (0..layers.color.len()).filter(|i| inside(*i)).map(|i| layers.color[i]).collect();
        let closed = disc.iter().filter(|c| **c == [0, 255, 0, 255]).count();
        assert!(closed as f32 > 0.995 * disc.len() as f32, "{side}: {closed} of {}", disc.len());
    }
}

#[test]
fn the_width_of_a_line_scales_with_the_picture() {
    let upright = || lines(vec![[0.0, -1.0, 0.0], [0.0, 1.0, 0.0]]);
    for (side, width) in [(270, 1.0), (1080, 2.0), (1620, 3.0)] {
        let layers = seen(upright(), Material::default(), side);
        let rows: f32 = (side / 3..2 * side / 3).map(|y| alpha_of_row(&layers, y)).sum();
        let mean = rows / (side / 3) as f32;
        assert!((mean - width).abs() < 0.13 * width, "{side}: {mean}");
    }
}

#[test]
fn a_line_interpolates_the_colours_of_its_ends() {
    let ends = vec![[-1.0, 0.0, 0.0], [1.0, 0.0, 0.0]];
    let colors = vec![[1.0, 0.0, 0.0, 1.0], [0.0, 0.0, 1.0, 1.0]];
    let layers = seen(Primitive { colors, ..lines(ends) }, Material::default(), 1080);
    let [left, middle, right] = [-0.999, 0.0, 0.999].map(|x| layers.color[pixel(Vec3::X * x, 1080)]);
    assert!(left[0] > 250 && left[2] < 20, "{left:?}");
    assert!(right[2] > 250 && right[0] < 20, "{right:?}");
    assert!(middle[0].abs_diff(188) < 4 && middle[2].abs_diff(188) < 4, "{middle:?}");
}

#[test]
fn a_line_that_starts_behind_the_camera_is_clipped() {
    let ends = vec![[0.0, -1.0, -1.0], [0.0, 1.0, 1.0]];
    let mut settings = straight_on();
    // The far end of the line is in the centre of the picture. The near end is behind the camera and below it.
    settings["keyframes"][0]["pose"] = json!({"position": [0, 0.9, 0.5], "lookAt": [0, -1, -1], "fov": 60});
    let layers = layers(scene(alone(lines(ends), Material::default()), &settings), 270);
    let rows = (0..270).filter(|y| alpha_of_row(&layers, *y) > 0.5).count();
    assert!((130..=140).contains(&rows), "{rows}");
    assert!((0..270).all(|y| alpha_of_row(&layers, y) < 3.0));
}

#[test]
fn lines_and_points_on_a_surface_are_completely_visible() {
    let wall = (square(), colored(1.0, 1.0, 1.0), [0.0; 3], 1.0);
    let cross = lines(vec![[-1.0, -1.0, 0.0], [1.0, 1.0, 0.0], [-1.0, 1.0, 0.0], [1.0, -1.0, 0.0]]);
    let red = Material { unlit: true, ..colored(1.0, 0.0, 0.0) };
    let alpha = |parts: Vec<(Primitive, Material, [f32; 3], f32)>| {
        let mut settings = straight_on();
        settings["keyframes"][0]["pose"] = json!({"position": [3.4, 1.0, 2.0], "lookAt": [0, 0, 0], "fov": 40});
        let picture = picture(&scene(model(parts), &settings), 270);
        picture.iter().map(|[r, g, _]| f32::from(*r).max(1.0) - f32::from(*g)).filter(|d| *d > 8.0).sum::<f32>()
    };
    let far = [0.0, 0.0, 0.05];
    for primitive in [cross, points(vec![[0.0; 3], [0.5, 0.5, 0.0], [-1.0, 1.0, 0.0]])] {
        let on = alpha(vec![wall.clone(), (primitive.clone(), red.clone(), [0.0; 3], 1.0)]);
        let before = alpha(vec![wall.clone(), (primitive.clone(), red.clone(), far, 1.0)]);
        assert!(on > 0.9 * before && before > 100.0, "{on} {before}");
        let behind = alpha(vec![wall.clone(), (primitive, red.clone(), [0.0, 0.0, -0.3], 0.5)]);
        assert!(behind < 1.0, "{behind}");
    }
}

#[test]
fn points_with_normals_are_lit_like_the_surface_on_which_they_lie() {
    let lamp = with(&json!({"spotlightIntensity": 3}));
    let dim = || EnvironmentMap { width: 4, height: 2, pixels: vec![[0.2; 3]; 8] };
    let luma = |primitive: Primitive| {
        let scene = scene_with(alone(primitive, colored(0.6, 0.6, 0.6)), &lamp, dim(), &BTreeMap::new());
        let picture = picture(&scene, SIDE);
        [Vec3::ZERO, Vec3::Y * 0.6, Vec3::Y * -0.6, Vec3::X * 0.6].map(|p| f32::from(picture[pixel(p, SIDE)][1]))
    };
    let mut lit = cloud(20_000);
    // The side towards the light is lit, regardless of the direction of the normals.
    lit.normals = (0..).zip(&lit.positions).map(|(i, p)| if i % 2 == 0 { *p } else { p.map(|c| -c) }).collect();
    let (surface, points) = (luma(ball(48, 96)), luma(lit));
    for (s, p) in surface.into_iter().zip(points) {
        assert!((s - p).abs() < 12.0, "{surface:?} {points:?}");
    }
    assert!(surface[1] - surface[2] > 20.0, "{surface:?}");
}

#[test]
fn depth_and_normals_of_points_match_the_points() {
    let bare = seen(cloud(20_000), Material::default(), SIDE);
    let lit = Primitive { normals: cloud(20_000).positions, ..cloud(20_000) };
    let lit = seen(lit, Material::default(), SIDE);
    let half = 20_f32.to_radians().tan();
    let mut count = 0;
    for i in (0..bare.depth.len()).filter(|i| bare.depth[*i] > 0.0) {
        let ndc = |p: u32| (p as f32 + 0.5) / SIDE as f32 * 2.0 - 1.0;
        let ray = Vec3::new(ndc(i as u32 % SIDE) * half, -ndc(i as u32 / SIDE) * half, -1.0);
        let point = Vec3::new(0.0, 0.0, DISTANCE) + ray * bare.depth[i];
        // All pixels of a disc have the depth of its centre, so the computed points are only approximately on the
        // sphere of radius 1.
        assert!((0.97..1.04).contains(&point.length()), "{point}");
        let (toward, normal) = (Vec3::from(bare.normal[i]), Vec3::from(lit.normal[i]));
        assert!(toward.dot(-ray.normalize()) > 0.99, "{toward}");
        assert!(normal.dot(point.normalize()) > 0.97 && normal.is_normalized(), "{normal} {point}");
        assert!(bare.color[i][3] > 0);
        count += 1;
    }
    assert!(count > 1500, "{count}");
}

#[test]
fn the_depth_of_a_line_changes_along_the_line() {
    let layers = seen(lines(vec![[-1.0, 0.0, -1.0], [1.0, 0.0, 1.0]]), Material::default(), 270);
    for x in [-0.8_f32, -0.3, 0.4, 0.9] {
        let i = pixel(Vec3::new(x, 0.0, x), 270);
        // The line is one pixel wide, so it may be in the row above.
        let depth = [i, i - 270].map(|i| layers.depth[i]).into_iter().fold(0.0, f32::max);
        assert!((depth - (DISTANCE - x)).abs() < 0.02, "{x}: {depth}");
    }
}

#[test]
fn the_coverage_of_a_blended_cloud_equals_its_alpha() {
    let n = 120;
    let grid = || points((0..n * n).map(|i| [(i % n) as f32 / 60.0 - 1.0, (i / n) as f32 / 60.0 - 1.0, 0.0]).collect());
    let coverage = |mode: AlphaMode, alpha: f32| {
        let material = Material { alpha_mode: mode, base_color: [1.0, 1.0, 1.0, alpha], ..Material::default() };
        let layers = seen(grid(), material, SIDE);
        let middle = (SIDE / 2 - 20) * SIDE + SIDE / 2 - 20;
        let block = (0..40 * 40).map(|i| layers.color[(middle + i / 40 * SIDE + i % 40) as usize][3]);
        block.map(f32::from).sum::<f32>() / (255.0 * 1600.0)
    };
    let opaque = coverage(AlphaMode::Opaque, 0.3);
    let (faint, half) = (coverage(AlphaMode::Blend, 0.1), coverage(AlphaMode::Blend, 0.5));
    assert!(opaque > 0.99 && faint < 0.5 && faint > 0.05, "{opaque} {faint}");
    assert!(half > faint + 0.2 && half < 0.99, "{half}");
    assert!(coverage(AlphaMode::Mask { cutoff: 0.4 }, 0.3) < 1e-6);
    assert!(coverage(AlphaMode::Mask { cutoff: 0.2 }, 0.3) > 0.99);
}

#[test]
fn points_and_lines_cast_shadows_on_the_floor() {
    let helix = |topology| {
        let turn = |i: u32| {
            let (sin, cos) = (i as f32 * 0.05).sin_cos();
            [cos, i as f32 / 500.0, sin]
        };
        let positions: Vec<[f32; 3]> = (0..2000).map(turn).collect();
        let indices = match topology {
            Topology::Lines => (0..1999).flat_map(|i| [i, i + 1]).collect(),
            _ => (0..2000).collect(),
        };
        Primitive { topology, indices, positions, ..Primitive::default() }
    };
    for topology in [Topology::Points, Topology::Lines] {
        for mode in ["shader", "flat", "accumulated"] {
            let mean = |shadows: bool| {
                let settings = with(&json!({
                    "shadows": shadows, "shadowMode": mode, "shadowDarkness": 1, "shadowSoftness": 0.2,
                    "spotlightIntensity": 2, "bgColor": "#ffffff",
                    "keyframes": [{"pose": {"position": [0, 3, 3.4], "lookAt": [0, 0, 0], "fov": 40}}],
                }));
                let picture = picture(&scene(alone(helix(topology), Material::default()), &settings), SIDE);
                picture.iter().map(|c| f32::from(c[1])).sum::<f32>() / picture.len() as f32
            };
            let (without, with) = (mean(false), mean(true));
            assert!(with < without - 0.3, "{topology:?} {mode}: {without} {with}");
        }
    }
}

#[test]
fn a_base_colour_texture_is_read_at_the_vertices() {
    let pixels = [[255, 0, 0, 255], [0, 0, 255, 255]].concat();
    let texture = TextureRef { texture: 0, uv_set: 0, transform: None };
    let material = Material { base_color_texture: Some(texture), ..Material::default() };
    let uvs = vec![vec![[0.25, 0.5], [0.75, 0.5]]];
    let mut model = alone(Primitive { uvs, ..points(vec![[-1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]) }, material);
    model.images.push(Arc::new(Image { width: 2, height: 1, pixels: pixels.into(), ..Image::default() }));
    let nearest = Sampler { mag_nearest: true, ..Sampler::default() };
    model.textures.push(Texture { image: 0, sampler: nearest });
    let layers = layers(scene(model, &straight_on()), 270);
    let found = [-Vec3::X, Vec3::X].map(|p| layers.color[pixel(p, 270)]);
    assert_eq!(found, [[255, 0, 0, 255], [0, 0, 255, 255]]);
}

#[test]
fn a_clip_moves_points_and_lines() {
    for primitive in [points(vec![[0.0; 3], [0.2, 0.0, 0.0]]), lines(vec![[0.0; 3], [0.2, 0.0, 0.0]])] {
        let mut model = alone(primitive, Material::default());
        model.animations.push(Animation {
            name: "slide".to_owned(),
            duration: 1.0,
            channels: vec![Channel {
                node: 0,
                property: Property::Translation,
                interpolation: Interpolation::Linear,
                times: vec![0.0, 1.0],
                values: vec![-1.0, 0.0, 0.0, 1.0, 0.0, 0.0],
            }],
        });
        let settings = with(&json!({"animation": "slide", "length": 0.5, "bgColor": "#000000"}));
        let frames = frames(&scene(model, &settings), SIDE, SIDE, PixelFormat::Rgba8);
        let middle = |frame: &plinth_frame::Frame| {
            let picture = whole(frame);
            let lit = (0..picture.len()).filter(|i| picture[*i][1] > 60);
            let (sum, count) = lit.fold((0, 0), |(sum, count), i| (sum + i % SIDE as usize, count + 1));
            sum as f32 / count as f32
        };
        let (first, last) = (middle(&frames[0]), middle(frames.last().unwrap()));
        assert!(first < 30.0 && last > first + 15.0, "{first} {last}");
    }
}

#[test]
fn equal_scenes_of_points_give_equal_frames() {
    let draw = || picture(&scene(alone(cloud(3_000), Material::default()), &straight_on()), SIDE);
    assert_eq!(draw(), draw());
}

#[test]
fn the_reflection_of_a_point_is_as_large_as_the_point() {
    let settings = with(&json!({
        "bgColor": "#000000", "reflector": true, "reflectorMix": 1, "reflectorFade": 5, "reflectorDepthBlur": 0,
        "keyframes": [{"pose": {"position": [0, 0, 3], "lookAt": [0, 0, 0], "fov": 40}}],
    }));
    // The reflection of the first point is the lowest part of the picture. The last two points are beside the picture.
    let places = vec![[0.0, 0.1, 0.0], [0.0, -0.1, 0.0], [-1.0, 0.0, 0.0], [1.0, 0.0, 0.0]];
    let scene = scene(alone(points(places), Material::default()), &settings);
    let (width, height) = (256, 2048);
    let picture = whole(&frames(&scene, width, height, PixelFormat::Rgba8)[0]);
    let lit = |rows: &[[u8; 3]]| rows.iter().filter(|color| color[1] > 64).count();
    let row = |y: u32| (y * width) as usize;
    let (point, image) = (lit(&picture[..row(1024)]), lit(&picture[row(1200)..]));
    assert!(point > 150 && image.abs_diff(point) < 10, "{point} pixels, reflected {image}");
}
