//! Tests that shaders are compiled only once, however long a video is. If a branch of a shader depends on a uniform, a
//! software driver compiles the shader again for every draw and keeps every copy. Memory would then grow with the
//! length of the video.
#![cfg(target_os = "linux")]

use plinth_frame::{Frame, FrameSink, PixelFormat, SinkError};
use plinth_model::{Light, LightKind, Material};
use plinth_render::{Picture, Renderer};
use plinth_scene::Scene;
use serde_json::{Value, json};

use crate::alone::is_alone;
use crate::models::{ball, gpu, model, scene, square};

/// Number of frames after which every shader has been compiled.
const WARM: usize = 4;
const FRAMES: usize = 12;

/// Number of executable memory mappings of this process after each frame.
#[derive(Default)]
struct Code(Vec<usize>);

impl FrameSink for Code {
    fn frame(&mut self, _frame: &Frame) -> Result<(), SinkError> {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        self.0.push(maps.lines().filter(|line| line.contains("r-xp")).count());
        Ok(())
    }
}

fn film(lights: Vec<Light>, settings: &Value) -> Scene {
    let grey = || Material { metallic: 0.0, ..Material::default() };
    let parts = vec![(square(), grey(), [0.0; 3], 1.0), (ball(16, 24), grey(), [0.0, 0.0, 0.5], 0.4)];
    let mut model = model(parts);
    for (i, light) in lights.into_iter().enumerate() {
        model.lights.push(light);
        model.nodes[i].light = Some(i);
    }
    let mut all = json!({"quality": "share", "aspect": "1:1", "length": FRAMES as f64 / 30.0});
    all.as_object_mut().unwrap().extend(settings.as_object().unwrap().clone());
    scene(model, &all)
}

#[test]
fn no_shader_is_compiled_after_the_first_frames_of_a_video() {
    // Other tests would compile shaders during this test.
    if !is_alone("compiling::no_shader_is_compiled_after_the_first_frames_of_a_video") {
        return;
    }
    let light = |kind: LightKind| Light { color: [1.0; 3], intensity: 20.0, range: Some(8.0), kind };
    let spot = light(LightKind::Spot { inner_cone_angle: 0.2, outer_cone_angle: 0.6 });
    let films = [
        ("a shadow that changes", film(Vec::new(), &json!({"effect": "reveal"}))),
        ("a flat one", film(Vec::new(), &json!({"effect": "reveal", "shadowMode": "flat"}))),
        ("without a key light", film(Vec::new(), &json!({"effect": "reveal", "spotlightIntensity": 0}))),
        ("a ground", film(Vec::new(), &json!({"envMode": "grounded"}))),
        ("an environment all around", film(Vec::new(), &json!({"envMode": "floating"}))),
        ("lamps of the file", film(vec![light(LightKind::Point), spot], &json!({}))),
        ("depth of field", film(Vec::new(), &json!({"dofEnabled": true, "bloomEnabled": true, "reflector": true}))),
    ];
    for (name, scene) in films {
        let picture = Picture { width: 64, height: 64, format: PixelFormat::Rgba8 };
        let mut code = Code::default();
        Renderer::new(gpu(), &scene, picture, None).unwrap().render(&scene, &mut code).unwrap();
        assert_eq!(code.0.len(), FRAMES);
        assert_eq!(code.0.last(), Some(&code.0[WARM]), "{name}: {:?}", code.0);
    }
}
