//! Tests of the lights, the background and the shadow of a scene.

use std::collections::BTreeMap;
use std::sync::Arc;

use glam::Vec3;
use plinth_model::{Light, LightKind, Material, Model, Node, Primitive, Transform, Trs};
use plinth_scene::{Background, EnvironmentMap, PointLikeLight, SceneAssets, build_scene, studio};
use serde_json::{Value, json};

use crate::decals::image;
use crate::models::{cuboid, model_of, named, plain_scene, primitive, scene, settings, sliding, together};

fn plain() -> Model {
    cuboid([-1.0; 3], [1.0; 3])
}

/// Returns the irradiance that a panorama causes on a surface with this normal.
fn irradiance(map: &EnvironmentMap, normal: Vec3) -> f32 {
    let texel = std::f32::consts::PI / map.height as f32 * (std::f32::consts::TAU / map.width as f32);
    (0..map.width * map.height)
        .map(|i| {
            let d = map.direction(i % map.width, i / map.width);
            let sine = (1.0 - d.y * d.y).max(0.0).sqrt();
            map.pixels[i as usize][1] * d.dot(normal).max(0.0) * sine * texel
        })
        .sum()
}

#[test]
fn materials_with_the_same_image_share_it() {
    let mut model = plain();
    model.meshes[0].primitives[0].uvs = vec![vec![[0.0; 2]; 8]];
    let first = model.meshes[0].primitives[0].clone();
    model.meshes[0].primitives.push(Primitive { material: 1, ..first });
    model.materials = ["oak", "ash"].map(|name| Material { name: name.into(), ..Material::default() }).to_vec();
    let edits = json!({"oak": {"mapAssetId": "wood"}, "ash": {"mapAssetId": "wood"}});
    let images = BTreeMap::from([("wood".to_owned(), image(255))]);
    let assets = SceneAssets { environment: None, images: &images };
    let scene = build_scene(Arc::new(model), &settings(&json!({"materialEdits": edits})), assets).unwrap();
    let image_of = |i: usize| scene.model.textures[scene.model.materials[i].base_color_texture.unwrap().texture].image;
    assert_eq!((scene.model.images.len(), image_of(0), image_of(1)), (1, 0, 0));
}

#[test]
fn edges_of_wireframes_are_as_wide_beside_hidden_meshes_and_in_a_clip_that_moves_the_model() {
    let ground = named(cuboid([-100.0, -2.0, -100.0], [100.0, -1.0, 100.0]), "ground");
    for (mut model, mut look) in [
        (plain(), json!({})),
        (together(plain(), ground), json!({"hiddenMeshNames": ["ground"]})),
        (sliding(plain(), 0.0, 18.0, 1.0), json!({"animation": "slide", "length": 1})),
    ] {
        model.materials[0].name = "paint".into();
        look["materialEdits"] = json!({"paint": {"wireframe": true}});
        let posed = plain_scene(model, &look).pose(None);
        // The first and the fourth vertex are on both sides of the start of an edge.
        let width = posed[0].positions[0].distance(posed[0].positions[3]);
        assert!((width - 0.004).abs() < 1e-4, "{look}: {width}");
    }
}

#[test]
fn instances_count_toward_the_limit_of_edges_of_all_wireframes_and_hidden_meshes_do_not() {
    // In a wireframe, each of the two surfaces has 2100 edges.
    let surface = |material| {
        let positions = (0..1050_u16).map(|i| [f32::from(i), f32::from(i % 7), 0.0]).collect();
        Primitive { material, ..primitive(positions) }
    };
    let warnings = |instances: usize, edits: Value| {
        let mut model = model_of(vec![surface(0), surface(1)]);
        model.materials = ["oak", "ash"].map(|name| Material { name: name.into(), ..Material::default() }).to_vec();
        model.nodes[0].instances = vec![Transform::default(); instances];
        let hidden = vec![Transform::default(); 1000];
        model.nodes.push(Node { name: "hidden".into(), mesh: Some(0), instances: hidden, ..Node::default() });
        plain_scene(model, &json!({"hiddenMeshNames": ["hidden"], "materialEdits": edits})).warnings
    };
    let one = json!({"oak": {"wireframe": true}});
    let both = json!({"ash": {"wireframe": true}, "oak": {"wireframe": true}});
    assert_eq!(warnings(100, one.clone()), Vec::<String>::new());
    let warning = "materialEdits.oak: wireframe has no effect: the wireframes and their instances would have more than \
                   400000 edges";
    assert_eq!(warnings(100, both), [warning], "they have 420 000 edges together");
    assert_eq!(warnings(200, one), [warning]);
}

#[test]
fn instances_count_toward_the_limit_of_flat_shading() {
    let triangle = primitive(vec![[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]);
    let mut model = model_of(vec![Primitive { indices: [0, 1, 2].repeat(3000), ..triangle }]);
    model.materials[0].name = "oak".into();
    model.nodes[0].instances = vec![Transform::default(); 3400];
    let found = plain_scene(model, &json!({"materialEdits": {"oak": {"flatShading": true}}})).warnings;
    assert_eq!(found, ["materialEdits.oak: flatShading has no effect: the surface has too many triangles"]);
}

#[test]
fn intensity_0_turns_a_light_off() {
    let off = json!({"spotlightIntensity": 0, "lightsIntensity": 0, "ambientIntensity": 0, "glossIntensity": 0});
    let mut model = plain();
    model.lights.push(Light { kind: LightKind::Point, color: [1.0; 3], intensity: 5.0, range: None });
    model.nodes.push(Node { light: Some(0), ..Node::default() });
    let dark = scene(model.clone(), &off);
    assert!(dark.key_light.is_none() && dark.lights.is_empty() && dark.ambient == Vec3::ZERO && dark.gloss == 0.0);
    let lit = scene(model, &json!({}));
    assert!(lit.key_light.is_some() && lit.lights.len() == 3 && lit.ambient.x > 0.0 && lit.gloss == 1.0);
}

#[test]
fn irradiance_is_intensity_times_colour() {
    let once = scene(plain(), &json!({})).key_light.unwrap();
    let thrice = scene(plain(), &json!({"spotlightIntensity": 3, "keyLightColor": "#ff0000"})).key_light.unwrap();
    assert!((thrice.irradiance.x - once.irradiance.x * 3.0).abs() < 1e-5 && thrice.irradiance.y == 0.0);
    let green = scene(plain(), &json!({"fillLightColor": "#00ff00"}));
    let channels = |light: &PointLikeLight| match light {
        PointLikeLight::Directional { irradiance, .. } => *irradiance,
        PointLikeLight::Point { intensity, .. } => *intensity,
    };
    assert!(green.lights.iter().all(|l| channels(l).x == 0.0 && channels(l).y > 0.0));
}

#[test]
fn very_bright_lights_of_a_file_are_dimmed_by_a_common_factor() {
    let mut model = plain();
    for (i, intensity) in [(0, 1000.0), (1, 500.0)] {
        model.lights.push(Light { kind: LightKind::Point, color: [1.0; 3], intensity, range: None });
        let local = Transform::Trs(Trs { translation: Vec3::new(0.0, 0.0, 10.0), ..Trs::default() });
        model.nodes.push(Node { light: Some(i), local, ..Node::default() });
    }
    let scene = scene(model, &json!({}));
    let at_model: Vec<f32> = scene
        .lights
        .iter()
        .filter_map(|l| match l {
            PointLikeLight::Point { position, intensity, .. } => Some(intensity.x / position.length_squared()),
            PointLikeLight::Directional { .. } => None,
        })
        .collect();
    assert!((at_model[0] / at_model[1] - 2.0).abs() < 1e-4 && (at_model.iter().sum::<f32>() - 1.0).abs() < 1e-3);
}

#[test]
fn a_white_surface_in_default_light_is_bright_and_not_clipped() {
    let scene = scene(plain(), &json!({}));
    let radiance = |normal: Vec3, key_seen: bool| {
        let key = scene.key_light.unwrap();
        let mut total = irradiance(&scene.environment, normal) + std::f32::consts::PI * scene.ambient.x;
        if key_seen {
            total += key.irradiance.x * (key.position - key.target).normalize().dot(normal).max(0.0);
        }
        for light in &scene.lights {
            if let PointLikeLight::Directional { to_light, irradiance } = light {
                total += irradiance.x * to_light.dot(normal).max(0.0);
            }
        }
        0.8 * total / std::f32::consts::PI
    };
    let (top, front, side) = (radiance(Vec3::Y, true), radiance(Vec3::Z, true), radiance(Vec3::X, false));
    assert!((0.6..1.15).contains(&top), "top {top}");
    assert!((0.35..0.8).contains(&front) && front < top, "front {front}");
    assert!((0.2..0.55).contains(&side) && side < front, "side {side}");
}

#[test]
fn the_studio_is_neutral_finite_and_the_same_every_time() {
    let map = studio();
    assert_eq!((map.width, map.height, map.pixels.len()), (512, 256, 512 * 256));
    assert!(map.pixels.iter().all(|p| p[0] == p[1] && p[1] == p[2] && p[0].is_finite() && p[0] > 0.0));
    assert_eq!(map, studio());
    assert!(irradiance(&map, Vec3::Y) > 2.0 * irradiance(&map, Vec3::NEG_Y), "light does not come from above");
}

#[test]
fn the_environment_is_rotated_exposed_and_tinted() {
    let mut map = EnvironmentMap { width: 64, height: 32, pixels: vec![[0.5; 3]; 64 * 32] };
    for y in 14..18 {
        for x in 46..50 {
            map.pixels[y * 64 + x] = [8.0; 3];
        }
    }
    let look = json!({"envRotation": 90, "envExposure": 2, "envTint": "#ff0000", "envTintStrength": 1});
    let scene = build_scene(plain().into(), &settings(&look), Some(map)).unwrap();
    let plus_x = scene.environment.radiance(Vec3::X);
    assert!((plus_x - Vec3::new(16.0, 0.0, 0.0)).length() < 1e-3, "{plus_x}");
    assert!((scene.environment.radiance(Vec3::Z) - Vec3::new(1.0, 0.0, 0.0)).length() < 1e-3);
}

#[test]
fn only_pro_has_a_transparent_background() {
    let look =
        |quality: &str| scene(plain(), &json!({"quality": quality, "bgColor": "#102030", "length": 0.1})).background;
    assert_eq!(look("pro"), Background::Transparent);
    assert_eq!(look("share"), Background::Solid([0x10, 0x20, 0x30]));
}

#[test]
fn shadows_follow_the_settings() {
    let look = scene(plain(), &json!({"shadowDarkness": 2.5, "shadowSoftness": 0.25})).shadow.unwrap();
    assert!((look.darkness - 2.5).abs() < 1e-6 && (look.softness - 0.25).abs() < 1e-6);
    assert!(scene(plain(), &json!({"shadows": false})).shadow.is_none());
}
