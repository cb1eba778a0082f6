//! Tests of drawing on two devices with a software driver. The pictures must be the same as with one device.

use plinth_frame::PixelFormat;
use plinth_model::{Material, Transmission};
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
