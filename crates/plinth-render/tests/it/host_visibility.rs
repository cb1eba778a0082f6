//! On a software driver, the processor determines which surfaces are visible. The pictures must be the same as with the
//! passes of the device. Renderers for any camera use these passes on every adapter.

use plinth_frame::PixelFormat;
use plinth_model::{AlphaMode, Animation, Channel, Interpolation, Material, Model, Primitive, Property};
use plinth_render::{Picture, Renderer};
use serde_json::{Value, json};

use crate::models::{Kept, ball, gpu, model, scene, square, straight_on, whole};

const SIDE: u32 = 192;

fn colored(r: f32, g: f32, b: f32) -> Material {
    Material { base_color: [r, g, b, 1.0], perceptual_roughness: 0.8, ..Material::default() }
}

fn blended() -> Material {
    Material { alpha_mode: AlphaMode::Blend, base_color: [0.2, 0.3, 0.9, 0.5], ..Material::default() }
}

/// Returns a triangle whose back can be seen.
fn sheet() -> Primitive {
    Primitive {
        positions: vec![[-1.0, -1.0, 0.3], [0.2, 1.0, -0.4], [1.0, -0.7, 0.0]],
        normals: vec![[0.0, 0.0, 1.0]; 3],
        indices: vec![0, 1, 2],
        ..Primitive::default()
    }
}

/// Returns a scene with edges within a material, between materials, at different depths and around holes.
fn parts(last: Material) -> Vec<(Primitive, Material, [f32; 3], f32)> {
    vec![
        (square(), colored(0.9, 0.1, 0.1), [0.0, 0.0, -0.6], 0.9),
        (ball(12, 16), colored(0.1, 0.9, 0.1), [0.3, 0.1, 0.0], 0.5),
        (ball(40, 60), colored(0.1, 0.1, 0.9), [-0.3, -0.3, 0.2], 0.4),
        (sheet(), Material { double_sided: true, ..colored(0.8, 0.8, 0.1) }, [0.1, 0.3, 0.1], 0.6),
        (square(), last, [0.2, -0.2, 0.8], 0.4),
    ]
}

fn turning(mut model: Model) -> Model {
    let turn = Channel {
        node: 1,
        property: Property::Rotation,
        interpolation: Interpolation::Linear,
        times: vec![0.0, 1.0],
        values: vec![0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.6, 0.8],
    };
    model.animations.push(Animation { name: "turn".to_owned(), duration: 1.0, channels: vec![turn] });
    model
}

#[test]
fn the_processor_and_the_device_find_the_same_surfaces() {
    let cases: [(&str, Model, Value); 6] = [
        ("opaque", model(parts(colored(0.7, 0.7, 0.7))), json!({})),
        ("blended", model(parts(blended())), json!({})),
        ("bloom", model(parts(blended())), json!({"bloomEnabled": true})),
        ("with a shadow on the floor", model(parts(colored(0.7, 0.7, 0.7))), json!({"shadows": true})),
        ("clip", turning(model(parts(blended()))), json!({"animation": "turn", "length": 0.2})),
        ("growing", model(parts(blended())), json!({"effect": "reveal", "keyframes": null, "length": 0.2})),
    ];
    for (name, model, changes) in cases {
        let mut settings = straight_on();
        for (key, value) in changes.as_object().unwrap() {
            if value.is_null() {
                settings.as_object_mut().unwrap().remove(key);
            } else {
                settings[key] = value.clone();
            }
        }
        let scene = scene(model, &settings);
        let picture = Picture { width: SIDE, height: SIDE, format: PixelFormat::Rgba8 };
        let drawn = |mut renderer: Renderer<'_>| {
            let mut kept = Kept::default();
            renderer.render(&scene, &mut kept).unwrap();
            kept.frames.iter().map(whole).collect::<Vec<_>>()
        };
        let on_host = drawn(Renderer::new(gpu(), &scene, picture, None).unwrap());
        let on_device = drawn(Renderer::for_any_camera(gpu(), &scene, picture, None).unwrap());
        assert_eq!(on_host.len(), on_device.len());
        // At the beginning, a growing model is invisible.
        let seen = on_host.iter().flatten().filter(|pixel| **pixel != [32, 64, 96]).count();
        assert!(seen > 5000, "{name}: little is visible");
        for (k, (host, device)) in on_host.iter().zip(&on_device).enumerate() {
            let differs = |(a, b): &(&[u8; 3], &[u8; 3])| a.iter().zip(*b).any(|(a, b)| a.abs_diff(*b) > 8);
            let different = host.iter().zip(device).filter(differs).count();
            // The regions of both pictures differ, and thus the rounding of positions to fractions of a pixel.
            assert!(different <= (SIDE * SIDE / 500) as usize, "{name}, frame {k}: {different} pixels differ");
        }
    }
}
