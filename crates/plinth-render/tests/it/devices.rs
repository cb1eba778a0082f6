//! Tests of drawing on two devices with a software driver. The pictures must be the same as with one device.

use plinth_frame::PixelFormat;
use plinth_model::{AlphaMode, Material, Primitive, Topology, Transmission};
use plinth_render::{Picture, Renderer};
use serde_json::json;

use crate::models::{Kept, ball, gpu, model, scene, square, straight_on};

const FRAMES: usize = 150;

fn film() -> plinth_scene::Scene {
    let glossy = || Material { perceptual_roughness: 0.3, ..Material::default() };
    let clear = Material { transmission: Some(Transmission { factor: 0.8, ..Transmission::default() }), ..glossy() };
    let parts = vec![
        (square(), glossy(), [0.0, 0.0, -0.6], 1.0),
        (ball(24, 48), glossy(), [0.3, 0.0, 0.0], 0.4),
        (ball(12, 24), clear, [-0.4, 0.0, 0.3], 0.3),
    ];
    scene(model(parts), &json!({"quality": "share", "aspect": "1:1", "length": FRAMES as f64 / 30.0}))
}

#[test]
fn frames_are_equal_whichever_device_draws_them() {
    let scene = film();
    let picture = Picture { width: 128, height: 128, format: PixelFormat::Rgba8 };
    let frames = |timed: bool| {
        let mut renderer = Renderer::new(gpu(), &scene, picture, None).unwrap();
        if timed {
            // A renderer that measures the duration of its passes uses only one device.
            renderer.time_passes();
        }
        let mut kept = Kept::default();
        renderer.render(&scene, &mut kept).unwrap();
        kept.frames
    };
    let (one, several) = (frames(true), frames(false));
    assert_eq!(one.len(), FRAMES);
    assert_eq!(several.len(), FRAMES);
    for (a, b) in one.iter().zip(&several) {
        assert!(a == b, "frame {}", a.index);
    }
}

#[test]
fn views_are_equal_on_all_devices_and_in_the_requested_order() {
    let mut settings = straight_on();
    settings["length"] = json!(2.0);
    settings["keyframes"] = json!([
        {"pose": {"position": [0, 1, 4], "lookAt": [0, 0, 0], "fov": 40}},
        {"pose": {"position": [3, 1, 2], "lookAt": [0, 0, 0], "fov": 40}},
    ]);
    let mut scene = scene(model(vec![(ball(24, 48), Material::default(), [0.0; 3], 1.0)]), &settings);
    scene.background = plinth_scene::Background::Transparent;
    let picture = Picture { width: 96, height: 96, format: PixelFormat::Rgba8 };
    let views = |wanted: &[u32]| {
        let mut kept = Kept::default();
        let mut renderer = Renderer::new(gpu(), &scene, picture, None).unwrap();
        renderer.render_layers(&scene, wanted, &mut kept).unwrap();
        kept.layers
    };
    let wanted: Vec<u32> = (0..scene.shots.len() as u32).rev().collect();
    let all = views(&wanted);
    assert_eq!(all.iter().map(|view| view.index).collect::<Vec<_>>(), wanted);
    for index in [0, 17, 58] {
        assert!(views(&[index])[0] == all[wanted.len() - 1 - index as usize], "view {index}");
    }
}

#[test]
fn a_frame_does_not_depend_on_the_frames_before() {
    let color = |r: f32, g: f32| Material { base_color: [r, g, 0.2, 1.0], ..Material::default() };
    let blended = Material { base_color: [0.2, 0.3, 0.9, 0.5], alpha_mode: AlphaMode::Blend, ..Material::default() };
    let clear =
        Material { transmission: Some(Transmission { factor: 0.8, ..Transmission::default() }), ..color(0.9, 0.9) };
    // The fourth part of the model is in front of edges of the other parts.
    let cases = [
        ("opaque", color(0.9, 0.4), json!({})),
        ("blended", blended.clone(), json!({})),
        ("bloom", color(0.9, 0.4), json!({"bloomEnabled": true})),
        ("blended with bloom", blended.clone(), json!({"bloomEnabled": true})),
        ("reflecting floor", blended, json!({"reflector": true})),
        ("glass", clear, json!({})),
    ];
    for (name, fourth, changes) in cases {
        let parts = vec![
            (square(), color(0.9, 0.1), [0.0; 3], 1.0),
            (square(), color(0.1, 0.9), [-0.2, 0.3, 0.2], 0.3),
            (ball(6, 8), color(0.5, 0.5), [0.3, -0.4, 0.3], 0.3),
            (if name == "glass" { ball(12, 24) } else { square() }, fourth, [0.1, -0.2, 0.8], 0.5),
        ];
        let mut settings = straight_on();
        for (key, value) in changes.as_object().unwrap() {
            settings[key] = value.clone();
        }
        let scene = scene(model(parts), &settings);
        let picture = Picture { width: 192, height: 192, format: PixelFormat::Rgba8 };
        let renderer = || Renderer::for_any_camera(gpu(), &scene, picture, None).unwrap();
        let draw = |renderer: &mut Renderer<'_>, position: glam::Vec3| {
            let mut shot = scene.shots[0].clone();
            shot.camera.position = position;
            shot.camera.view_from_world = glam::Mat4::from_translation(-position);
            let mut kept = Kept::default();
            renderer.render_one(&scene, &shot, &mut kept).unwrap();
            kept.frames.remove(0).pixels
        };
        let mut used = renderer();
        // The model moves by less and by more than its parts, leaves the picture, and comes back.
        let places = [(0.0, 4.4), (0.5, 4.4), (9.0, 4.4), (0.1, 4.4), (1.5, 4.4), (-1.5, 4.4), (0.0, 9.0), (0.0, 2.0)];
        for (x, z) in places.into_iter().chain([places[0]]) {
            let position = glam::Vec3::new(x, 0.3 * x.min(2.0), z);
            assert!(draw(&mut used, position) == draw(&mut renderer(), position), "{name}, after others at {position}");
        }
    }
}

/// The renderer of a draft also draws the pictures of later cameras. If these are nearer, circles of confusion and points
/// are larger.
#[test]
fn a_picture_does_not_depend_on_the_camera_for_which_its_renderer_was_made() {
    let unlit = || Material { unlit: true, ..Material::default() };
    let board = |y: f32, z: f32| (square(), unlit(), [0.0, y, z], 0.3);
    let positions = vec![[-0.3, 0.0, 0.0], [0.3, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, -1.0, 0.0]];
    let points = Primitive { topology: Topology::Points, positions, indices: vec![0, 1, 2, 3], ..Primitive::default() };
    let cases = [
        ("depth of field", vec![board(-0.5, 1.0), board(0.5, -1.0)], true),
        ("points", vec![(points, unlit(), [0.0; 3], 1.0)], false),
    ];
    let picture = Picture { width: 512, height: 1024, format: PixelFormat::Rgba8 };
    for (name, parts, is_blurred) in cases {
        let seen_from = |z: f64| {
            let mut settings = straight_on();
            settings["keyframes"] = json!([{"pose": {"position": [0, 0, z], "lookAt": [0, 0, 0], "fov": 40}}]);
            settings["dofEnabled"] = json!(is_blurred);
            settings["dofStrength"] = json!(1);
            scene(model(parts.clone()), &settings)
        };
        let (near, far) = (seen_from(2.5), seen_from(20.0));
        let drawn = |made_for: &plinth_scene::Scene| {
            let mut renderer = Renderer::for_any_camera(gpu(), made_for, picture, None).unwrap();
            let mut kept = Kept::default();
            renderer.render_one(&near, &near.shots[0], &mut kept).unwrap();
            kept.frames.remove(0).pixels
        };
        assert!(drawn(&far) == drawn(&near), "{name}");
    }
}

/// A sink that returns an error after a number of frames.
struct Full(usize);

impl plinth_frame::FrameSink for Full {
    fn frame(&mut self, _frame: &plinth_frame::Frame) -> Result<(), plinth_frame::SinkError> {
        self.0 = self.0.checked_sub(1).ok_or_else(|| plinth_frame::SinkError("full".into()))?;
        Ok(())
    }
}

#[test]
fn an_error_of_the_sink_stops_all_devices() {
    let scene = film();
    let picture = Picture { width: 64, height: 64, format: PixelFormat::Rgba8 };
    let mut renderer = Renderer::new(gpu(), &scene, picture, None).unwrap();
    for taken in [0, 1, 60] {
        let error = renderer.render(&scene, &mut Full(taken)).unwrap_err();
        assert!(matches!(error, plinth_render::RenderError::Sink { .. }), "{error}");
    }
}
