//! Tests of environments that are visible in the picture.

use std::collections::BTreeMap;

use glam::Vec3;
use plinth_model::{Material, Primitive};
use plinth_scene::EnvironmentMap;
use serde_json::{Value, json};

use crate::models::{ball, model, picture, scene_with, straight_on};

const SIDE: u32 = 96;

/// Returns an environment that is red towards −Z (behind the model), blue towards +Z, green below, and dim grey
/// elsewhere.
fn room() -> EnvironmentMap {
    let mut map = EnvironmentMap { width: 256, height: 128, pixels: vec![[0.2; 3]; 256 * 128] };
    for y in 0..128 {
        for x in 0..256 {
            let d = map.direction(x, y);
            let pixel = &mut map.pixels[(y * 256 + x) as usize];
            if d.y < -0.9 {
                *pixel = [0.0, 0.6, 0.0];
            } else if d.z < -0.97 {
                *pixel = [0.6, 0.0, 0.0];
            } else if d.z > 0.97 {
                *pixel = [0.0, 0.0, 0.6];
            }
        }
    }
    map
}

fn drawn(more: &Value) -> Vec<[u8; 3]> {
    let mut settings = straight_on();
    for (key, value) in more.as_object().unwrap() {
        settings[key] = value.clone();
    }
    // The model is small and far below the centre of the picture, so that the environment behind it is visible.
    let small = (ball(12, 24), Material { name: "m".to_owned(), ..Material::default() }, [0.0; 3], 1.0);
    let mut scene = scene_with(model(vec![small]), &settings, room(), &BTreeMap::new());
    scene.hidden_nodes.fill(true);
    picture(&scene, SIDE)
}

fn at(picture: &[[u8; 3]], x: u32, y: u32) -> [u8; 3] {
    picture[(y * SIDE + x) as usize]
}

#[test]
fn an_environment_that_is_only_a_light_source_is_not_visible() {
    let picture = drawn(&json!({"envMode": "lighting"}));
    assert!(picture.iter().all(|p| *p == [32, 64, 96]));
}

#[test]
fn a_floating_environment_is_visible_in_the_direction_of_the_camera() {
    let picture = drawn(&json!({"envMode": "floating"}));
    let [r, g, b] = at(&picture, SIDE / 2, SIDE / 2);
    assert!(r > 150 && g < 40 && b < 40, "the environment at −Z is not behind the model: {r} {g} {b}");
    let [r, g, b] = at(&picture, 2, SIDE / 2);
    assert!(r.abs_diff(g) <= 2 && g.abs_diff(b) <= 2, "{r} {g} {b}");
    let [r, _, b] = at(&drawn(&json!({"envMode": "floating", "envRotation": 180})), SIDE / 2, SIDE / 2);
    assert!(b > 150 && r < 40, "the environment is not turned by 180°: {r} {b}");
}

#[test]
fn rotating_the_visible_environment_matches_rotating_its_light() {
    // A rotation by 90° moves the part of the panorama at −Z to −X. The camera looks along −Z. Therefore, after a
    // smaller rotation, this part is at the left edge of the picture.
    let picture = drawn(&json!({"envMode": "floating", "envRotation": 15}));
    let red = |from: u32, to: u32| (from..to).filter(|x| at(&picture, *x, SIDE / 2)[0] > 120).count();
    assert!(red(0, 40) > red(56, 96) + 5, "{} left, {} right", red(0, 40), red(56, 96));
}

#[test]
fn opacity_exposure_and_tint_have_their_effects() {
    let grey = |more: Value| {
        let mut settings = json!({"envMode": "floating"});
        settings.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        at(&drawn(&settings), 2, SIDE / 2)
    };
    let full = grey(json!({}));
    let half = grey(json!({"envOpacity": 0.5}));
    for (c, background) in [32.0, 64.0, 96.0].into_iter().enumerate() {
        assert!((f64::from(half[c]) - (f64::from(full[c]) + background) * 0.5).abs() <= 2.0, "{half:?} {full:?}");
    }
    assert_eq!(grey(json!({"envOpacity": 0})), [32, 64, 96]);
    assert!(grey(json!({"envExposure": 2}))[0] > full[0] + 20);
    let [r, g, b] = grey(json!({"envTint": "#00ff00", "envTintStrength": 1}));
    assert!(g.abs_diff(full[1]) <= 12 && r < 30 && b < 30, "{r} {g} {b}");
}

#[test]
fn blur_is_smooth_and_keeps_the_light() {
    let (sharp, soft) =
        (drawn(&json!({"envMode": "floating"})), drawn(&json!({"envMode": "floating", "envBlur": 0.6})));
    let steepest = |picture: &[[u8; 3]]| {
        let rows = picture.chunks_exact(SIDE as usize);
        rows.flat_map(|row| row.windows(2).map(|w| w[0][0].abs_diff(w[1][0])).collect::<Vec<_>>()).max().unwrap()
    };
    assert!(steepest(&sharp) > 12 && steepest(&soft) <= 6, "{} {}", steepest(&sharp), steepest(&soft));
    assert!(at(&soft, SIDE / 2, SIDE / 2)[0] > at(&soft, 2, SIDE / 2)[0], "the middle is not red");
}

#[test]
fn a_grounded_environment_forms_a_ground_below_the_model() {
    // The camera looks at the point of the ground below the centre of the model.
    let down = |mode: &str| {
        let pose = json!({"position": [0, 3, 3], "lookAt": [0, -1, 0], "fov": 50});
        drawn(&json!({"envMode": mode, "keyframes": [{"pose": pose}]}))
    };
    // The nadir of the panorama must be at the centre of the picture, not straight below the camera.
    let is_green = |[r, g, b]: [u8; 3]| g > 100 && r < 60 && b < 60;
    let middle = |picture: &[[u8; 3]]| {
        let found: Vec<(u32, u32)> =
            (0..SIDE * SIDE).map(|i| (i % SIDE, i / SIDE)).filter(|(x, y)| is_green(at(picture, *x, *y))).collect();
        let mean = |value: &dyn Fn(&(u32, u32)) -> u32| {
            found.iter().map(|p| value(p) as f32).sum::<f32>() / found.len() as f32
        };
        (mean(&|p| p.0), mean(&|p| p.1))
    };
    let (floating, grounded) = (down("floating"), down("grounded"));
    assert!(is_green(at(&grounded, SIDE / 2, SIDE / 2)) && !is_green(at(&floating, SIDE / 2, SIDE / 2)));
    let (ground, below_camera) = (middle(&grounded), middle(&floating));
    assert!((ground.0 - 47.5).abs() < 1.5 && (ground.1 - 47.5).abs() < 6.0, "{ground:?}");
    assert!(below_camera.1 > 70.0, "{below_camera:?}");
}

/// Returns a drum with more than 1024 triangles, and with bevels that are thinner than a pixel. The normals at the ends
/// of a bevel are those of the adjacent surfaces.
fn drum() -> Primitive {
    const SECTORS: u32 = 96;
    // Each entry is the height, the radius, and the slope of the normal.
    let profile = [
        (-1.0, 0.7, 0.0),
        (-0.01, 0.7, 0.0),
        (0.0, 0.69, 1.0),
        (0.01, 0.7, 0.0),
        (0.99, 0.7, 0.0),
        (1.0, 0.69, 1.0),
        (1.0, 0.0, 1e3),
    ];
    let mut drum = Primitive::default();
    for (y, radius, slope) in profile {
        for sector in 0..=SECTORS {
            let (sin, cos) = (std::f32::consts::TAU * sector as f32 / SECTORS as f32).sin_cos();
            drum.positions.push([radius * sin, y, radius * cos]);
            drum.normals.push(Vec3::new(sin, slope, cos).normalize().into());
        }
    }
    for row in 0..profile.len() as u32 - 1 {
        for sector in 0..SECTORS {
            let a = row * (SECTORS + 1) + sector;
            let c = a + SECTORS + 1;
            drum.indices.extend([a, a + 1, c, c, a + 1, c + 1]);
        }
    }
    drum
}

#[test]
fn a_video_shows_the_same_reflections_as_a_still() {
    let chrome = Material { metallic: 1.0, perceptual_roughness: 0.05, ..Material::default() };
    let drawn = |length: f64| {
        let mut settings = straight_on();
        settings["length"] = json!(length);
        let model = model(vec![(drum(), chrome.clone(), [0.0; 3], 1.0)]);
        picture(&scene_with(model, &settings, room(), &BTreeMap::new()), SIDE)
    };
    let (still, film) = (drawn(0.04), drawn(0.2));
    let different = still.iter().zip(&film).filter(|(a, b)| (0..3).any(|c| a[c].abs_diff(b[c]) > 24)).count();
    assert!(different <= 20, "{different} of {} pixels differ", still.len());
}
