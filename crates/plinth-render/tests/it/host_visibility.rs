//! On a software driver, the processor determines which surfaces are visible. The pictures must be the same as with the
//! passes of the device.

use std::sync::LazyLock;

use glam::{Mat4, Vec3};
use plinth_frame::PixelFormat;
use plinth_model::{AlphaMode, Animation, Channel, Interpolation, Material, Model, Primitive, Property};
use plinth_render::{Gpu, GpuOptions, Picture, Renderer};
use serde_json::{Value, json};

use crate::models::{Kept, ball, gpu, model, scene, square, straight_on, whole};

const SIDE: u32 = 192;
const PICTURE: Picture = Picture { width: SIDE, height: SIDE, format: PixelFormat::Rgba8 };

/// Returns an adapter that determines visible surfaces on the device.
fn device() -> &'static Gpu {
    static GPU: LazyLock<Gpu> = LazyLock::new(|| {
        let mut gpu = Gpu::open(&GpuOptions::default()).unwrap();
        gpu.keep_visibility_on_device();
        gpu
    });
    &GPU
}

/// Asserts that at most `limit` pixels of two pictures differ visibly.
fn compare(name: &str, host: &[[u8; 3]], device: &[[u8; 3]], limit: u32) {
    let differs = |(a, b): &(&[u8; 3], &[u8; 3])| a.iter().zip(*b).any(|(a, b)| a.abs_diff(*b) > 8);
    let different = host.iter().zip(device).filter(differs).count();
    // Drivers round positions and depths in their own ways.
    assert!(different <= limit as usize, "{name}: {different} pixels differ");
}

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
        let drawn = |gpu: &Gpu| {
            let mut kept = Kept::default();
            Renderer::new(gpu, &scene, PICTURE, None).unwrap().render(&scene, &mut kept).unwrap();
            kept.frames.iter().map(whole).collect::<Vec<_>>()
        };
        let (on_host, on_device) = (drawn(gpu()), drawn(device()));
        assert_eq!(on_host.len(), on_device.len());
        // At the beginning, a growing model is invisible.
        let seen = on_host.iter().flatten().filter(|pixel| **pixel != [32, 64, 96]).count();
        assert!(seen > 5000, "{name}: little is visible");
        for (k, (host, device)) in on_host.iter().zip(&on_device).enumerate() {
            compare(&format!("{name}, frame {k}"), host, device, SIDE * SIDE / 500);
        }
    }
}

/// Returns a square that faces +Y. Its side length is 2.
fn ground() -> Primitive {
    Primitive {
        positions: vec![[-1.0, 0.0, 1.0], [1.0, 0.0, 1.0], [1.0, 0.0, -1.0], [-1.0, 0.0, -1.0]],
        normals: vec![[0.0, 1.0, 0.0]; 4],
        indices: vec![0, 1, 2, 0, 2, 3],
        ..Primitive::default()
    }
}

#[test]
fn cameras_inside_a_model_see_the_same_surfaces() {
    for (name, last) in [("opaque", colored(0.7, 0.7, 0.7)), ("blended", blended())] {
        let mut parts = parts(last);
        parts.push((ground(), colored(0.6, 0.3, 0.6), [0.0, -0.15, 0.0], 1.2));
        let scene = scene(model(parts), &straight_on());
        let [mut host, mut device] =
            [gpu(), device()].map(|gpu| Renderer::for_any_camera(gpu, &scene, PICTURE, None).unwrap());
        // The camera looks along −Z. The ground reaches from behind it into the picture, except for the last camera, for
        // which it reaches beyond the far plane.
        for position in [[0.0, 0.0, 0.5], [0.05, -0.05, 0.3], [-0.2, 0.3, 0.8], [0.3, -0.1, 0.0], [0.0, 0.3, 4.0]] {
            let mut shot = scene.shots[0].clone();
            shot.camera.position = Vec3::from(position);
            shot.camera.view_from_world = Mat4::from_translation(-shot.camera.position);
            (shot.camera.near, shot.camera.far) = (0.02, 4.3);
            let drawn = |renderer: &mut Renderer<'_>| {
                let mut kept = Kept::default();
                renderer.render_one(&scene, &shot, &mut kept).unwrap();
                whole(&kept.frames[0])
            };
            let (on_host, on_device) = (drawn(&mut host), drawn(&mut device));
            let seen = on_host.iter().filter(|pixel| **pixel != [32, 64, 96]).count();
            assert!(seen > 2000, "{name} from {position:?}: little is visible");
            compare(&format!("{name} from {position:?}"), &on_host, &on_device, SIDE * SIDE / 200);
        }
    }
}
