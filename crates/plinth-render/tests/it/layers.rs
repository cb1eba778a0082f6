//! Tests that the depth and the normals of dataset views match the shapes in the scene.

use glam::Vec3;
use plinth_frame::Layers;
use plinth_model::{Material, Primitive};

use crate::models::{ball, layers, model, scene, square, straight_on};

const SIDE: u32 = 128;
const DISTANCE: f32 = 4.0;

/// Returns the ray through the centre of a pixel, with a z component of −1.
fn ray(x: u32, y: u32) -> Vec3 {
    let half = 20_f32.to_radians().tan();
    let ndc = |p: u32| (p as f32 + 0.5) / SIDE as f32 * 2.0 - 1.0;
    Vec3::new(ndc(x) * half, -ndc(y) * half, -1.0)
}

/// Returns the position and the normal of each pixel with a surface.
fn surfaces(layers: &Layers) -> Vec<(Vec3, Vec3)> {
    let mut found = Vec::new();
    for y in 0..SIDE {
        for x in 0..SIDE {
            let i = (y * SIDE + x) as usize;
            if layers.depth[i] > 0.0 {
                let point = Vec3::new(0.0, 0.0, DISTANCE) + ray(x, y) * layers.depth[i];
                found.push((point, Vec3::from(layers.normal[i])));
            }
        }
    }
    found
}

#[test]
fn depth_and_normals_of_a_ball_match_its_surface() {
    let ball = model(vec![(ball(96, 192), Material::default(), [0.0; 3], 1.0)]);
    let found = surfaces(&layers(scene(ball, &straight_on()), SIDE));
    assert!(found.len() > 1500, "{} pixels", found.len());
    for (point, normal) in found {
        assert!((point.length() - 1.0).abs() < 6e-4, "{point}");
        assert!(normal.angle_between(point) < 0.5_f32.to_radians(), "{point} {normal}");
    }
}

#[test]
fn depth_is_along_the_axis_and_not_along_the_ray() {
    let square = model(vec![(square(), Material::default(), [0.0; 3], 1.0)]);
    let layers = layers(scene(square, &straight_on()), SIDE);
    let depths: Vec<f32> = layers.depth.iter().copied().filter(|d| *d > 0.0).collect();
    assert!(depths.len() > 1000);
    assert!(depths.iter().all(|d| (d - DISTANCE).abs() < 1e-4));
}

#[test]
fn where_the_normals_of_vertices_cancel_each_other_the_normal_is_that_of_the_triangle() {
    // The interpolated normal is zero in the middle column of pixels.
    let (up, down) = ([0.0, 1.0, 0.0], [0.0, -1.0, 0.0]);
    let square = Primitive { normals: vec![up, down, down, up], ..square() };
    let side = SIDE + 1;
    let layers = layers(scene(model(vec![(square, Material::default(), [0.0; 3], 1.0)]), &straight_on()), side);
    let column = (0..side).map(|y| (y * side + side / 2) as usize);
    let normals: Vec<Vec3> = column.filter(|i| layers.depth[*i] > 0.0).map(|i| Vec3::from(layers.normal[i])).collect();
    assert!(normals.len() > 50, "{} pixels", normals.len());
    assert!(normals.iter().all(|normal| normal.distance(Vec3::Z) < 1e-4), "{normals:?}");
    assert!(layers.normal.iter().flatten().all(|value| value.is_finite()));
}

#[test]
fn the_mask_and_the_depth_agree_except_at_edges() {
    let ball = model(vec![(ball(48, 96), Material::default(), [0.0; 3], 1.0)]);
    let layers = layers(scene(ball, &straight_on()), SIDE);
    let solid = |x: i64, y: i64| layers.color[(y * i64::from(SIDE) + x) as usize][3] >= 128;
    let deep = |x: i64, y: i64| layers.depth[(y * i64::from(SIDE) + x) as usize] > 0.0;
    let last = i64::from(SIDE) - 1;
    for y in 1..last {
        for x in 1..last {
            let near_edge = (-1..=1).any(|dy| (-1..=1).any(|dx| deep(x + dx, y + dy) != deep(x, y)));
            assert!(near_edge || solid(x, y) == deep(x, y), "{x} {y}");
        }
    }
    let partial = layers.color.iter().filter(|c| c[3] > 0 && c[3] < 255).count();
    assert!(partial > 100, "the mask is not antialiased: only {partial} pixels are partly covered");
}

#[test]
fn depth_does_not_bleed_across_a_silhouette() {
    let parts = vec![
        (square(), Material::default(), [0.0, 0.0, -0.5], 1.0),
        (ball(48, 96), Material::default(), [0.0, 0.0, 0.5], 0.3),
    ];
    let scene = scene(model(parts), &straight_on());
    let (middle, scale) = (scene.world_from_model.transform_point3(Vec3::ZERO), scene.world_from_model_scale);
    let wall = DISTANCE - (middle.z - 0.5 * scale);
    let front = DISTANCE - (middle.z + 0.8 * scale);
    let back = DISTANCE - (middle.z + 0.5 * scale);
    for depth in layers(scene, SIDE).depth.into_iter().filter(|d| *d > 0.0) {
        let on_wall = (depth - wall).abs() < 1e-3;
        assert!(
            on_wall || (depth > front - 1e-3 && depth < back + 1e-3),
            "the depth {depth} is between the ball and the wall"
        );
    }
}

#[test]
fn drawing_layers_with_a_background_is_an_error() {
    let square = model(vec![(square(), Material::default(), [0.0; 3], 1.0)]);
    let scene = scene(square, &straight_on());
    let gpu = plinth_render::Gpu::open(&plinth_render::GpuOptions::default()).unwrap();
    let picture = plinth_render::Picture { width: 32, height: 32, format: plinth_frame::PixelFormat::Rgba8 };
    let mut renderer = plinth_render::Renderer::new(&gpu, &scene, picture, None).unwrap();
    assert!(renderer.render_layers(&scene, &[0], &mut crate::models::Kept::default()).is_err());
}
