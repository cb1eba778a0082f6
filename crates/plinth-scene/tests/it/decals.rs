//! Tests that decals move with the surface on which they lie, and are hidden with it.

use std::collections::BTreeMap;
use std::io::Cursor;
use std::sync::Arc;

use glam::{Quat, Vec2, Vec3};
use plinth_model::{Model, Node, Transform, Trs};
use plinth_scene::{
    PosedPrimitive, SURFACE_ERROR_PIXELS, Scene, SceneAssets, SceneError, build_scene, build_scene_of_height,
    smallest_pixel,
};
use serde_json::{Value, json};

use crate::models::{arm, cuboid, model_of, morphing, placed_at, primitive, settings, sliding};

/// Returns a PNG file.
pub(crate) fn image(alpha: u8) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    let picture = image::RgbaImage::from_pixel(4, 4, image::Rgba([200, 10, 10, alpha]));
    picture.write_to(&mut bytes, image::ImageFormat::Png).unwrap();
    bytes.into_inner()
}

/// Returns a scene with one decal. `decal` contains fields of the decal, and `more` contains other settings.
fn stuck(model: Model, decal: &Value, more: &Value) -> Scene {
    stuck_in_frames(model, decal, more, None)
}

/// Returns the same scene as [`stuck`]. Its frames are drawn with the given height.
fn stuck_in_frames(model: Model, decal: &Value, more: &Value, height: Option<u32>) -> Scene {
    let mut all = json!({
        "id": "logo", "imageAssetId": "logo", "position": [0, 0, 0], "normal": [0, 0, 0], "euler": [0, 0, 0], "size": 0.5,
    });
    all.as_object_mut().unwrap().extend(decal.as_object().unwrap().clone());
    let mut json = more.clone();
    json["decals"] = json!([all]);
    let images = BTreeMap::from([("logo".to_owned(), image(255))]);
    let (model, settings, assets) =
        (Arc::new(model), settings(&json), SceneAssets { environment: None, images: &images });
    match height {
        Some(height) => build_scene_of_height(model, &settings, assets, height).unwrap(),
        None => build_scene(model, &settings, assets).unwrap(),
    }
}

/// Returns the geometry of the decal. It is the last primitive of the scene.
fn decal_of(scene: &Scene, time: Option<f32>) -> PosedPrimitive {
    scene.pose(time).pop().unwrap()
}

fn middle(posed: &PosedPrimitive) -> Vec3 {
    let start = (Vec3::INFINITY, Vec3::NEG_INFINITY);
    let (min, max) = posed.positions.iter().fold(start, |(min, max), p| (min.min(*p), max.max(*p)));
    (min + max) * 0.5
}

/// Returns a finely subdivided square that faces +Z. Its side length is 2.
fn sheet() -> Model {
    let at = |i: u32| i as f32 / 10.0 - 1.0;
    let mut part = primitive((0..21 * 21).map(|i| [at(i % 21), at(i / 21), 0.0]).collect());
    let quads = (0..20 * 20).map(|i| i / 20 * 21 + i % 20);
    part.indices = quads.flat_map(|a| [a, a + 1, a + 22, a, a + 22, a + 21]).collect();
    model_of(vec![part])
}

#[test]
fn a_decal_lies_just_above_the_surface_where_it_was_put() {
    let scene = stuck(sheet(), &json!({"position": [0.33, -0.21, 0]}), &json!({}));
    let decal = decal_of(&scene, None);
    assert!((middle(&decal).truncate() - Vec2::new(0.33, -0.21)).length() < 1e-4, "{}", middle(&decal));
    assert!(decal.positions.iter().all(|p| (5e-4..0.01).contains(&p.z)), "the decal is not just above the surface");
    let primitive = &scene.model.meshes.last().unwrap().primitives[0];
    let uvs = &primitive.uvs[1];
    for (p, uv) in decal.positions.iter().zip(uvs) {
        let expected = Vec2::new((p.x - 0.33) / 0.5 + 0.5, 0.5 - (p.y + 0.21) / 0.5);
        assert!((Vec2::from(*uv) - expected).length() < 1e-3, "{uv:?} at {p}");
    }
    assert!(scene.model.materials[primitive.material].overlay && scene.warnings.is_empty());
}

/// Returns the distance in pixels of a frame that is `height` pixels high.
fn in_pixels(scene: &Scene, distance: f32, height: u32) -> f32 {
    distance / smallest_pixel(scene.bounds, &scene.shots, height)
}

#[test]
fn the_distance_of_a_decal_does_not_depend_on_how_the_model_is_stretched() {
    let stretched = |x: f32, y: f32, z: f32| placed_at(sheet(), Trs { scale: Vec3::new(x, y, z), ..Trs::default() });
    for (name, model, more) in [
        ("thin", stretched(1.0, 1.0, 0.02), json!({})),
        ("long", stretched(0.05, 0.05, 1.0), json!({})),
        ("low", stretched(1.0, 0.02, 1.0), json!({})),
        ("thin by a setting", sheet(), json!({"scaleZ": 0.02})),
        ("long by a setting", sheet(), json!({"scaleX": 0.05, "scaleY": 0.05})),
    ] {
        let scene = stuck(model, &json!({}), &more);
        for p in decal_of(&scene, None).positions {
            let pixels = in_pixels(&scene, p.z, 1080);
            assert!((pixels - SURFACE_ERROR_PIXELS - 0.2).abs() < 0.01, "{name}: {pixels} pixels");
        }
    }
}

#[test]
fn a_decal_is_lifted_along_the_normal_of_a_sheared_surface() {
    let mut model = sheet();
    let scale = Transform::Trs(Trs { scale: Vec3::new(1.0, 0.02, 1.0), ..Trs::default() });
    let rotation = Quat::from_rotation_x(-std::f32::consts::FRAC_PI_4);
    let inclined = Transform::Trs(Trs { rotation, ..Trs::default() });
    let sheet = Node { parent: Some(0), local: inclined, ..model.nodes[0].clone() };
    model.nodes = vec![Node { local: scale, ..Node::default() }, sheet];
    let scene = stuck(model, &json!({}), &json!({}));
    let (normal, decal) = (scene.pose(None)[0].normals[0], decal_of(&scene, None));
    for p in &decal.positions {
        let pixels = in_pixels(&scene, p.dot(normal), 1080);
        assert!((pixels - SURFACE_ERROR_PIXELS - 0.2).abs() < 0.01, "{pixels} pixels");
    }
    let shift = middle(&decal).reject_from_normalized(normal).length();
    assert!(shift < 1e-4, "the decal is shifted by {shift}");
}

#[test]
fn in_smaller_frames_a_decal_has_the_same_distance_in_pixels() {
    for height in [180, 540, 1080] {
        let scene = stuck_in_frames(sheet(), &json!({}), &json!({}), Some(height));
        let pixels = in_pixels(&scene, decal_of(&scene, None).positions[0].z, height);
        assert!((pixels - SURFACE_ERROR_PIXELS - 0.2).abs() < 0.01, "{height}: {pixels} pixels");
    }
}

#[test]
fn a_scene_knows_the_surface_of_each_decal() {
    let mut model = model_of(vec![primitive(vec![[9.0; 3]; 3]), sheet().meshes[0].primitives[0].clone()]);
    model.nodes.insert(0, Node::default());
    let scene = stuck(model, &json!({"position": [-0.8, -0.8, -0.9], "size": 1}), &json!({}));
    let posed = scene.pose(None);
    let surface = scene.decal_surfaces[&decal_of(&scene, None).node];
    assert_eq!((surface.node, surface.instance, surface.primitive), (1, 0, 1));
    assert!(posed.iter().any(|one| one.surface() == surface));
}

#[test]
fn a_decal_moves_with_the_model() {
    let more = json!({"panX": 90, "translateY": 0.5});
    let decal = decal_of(&stuck(sheet(), &json!({"position": [0.5, 0, 0]}), &more), None);
    assert!((middle(&decal) - Vec3::new(0.0, 0.5, -0.5)).length() < 0.02, "{}", middle(&decal));
}

#[test]
fn a_decal_follows_nodes_skins_and_morph_targets() {
    let slides = sliding(sheet(), 0.0, 2.0, 2.0);
    let scene = stuck(slides, &json!({"position": [-0.5, 0, 0]}), &json!({"animation": "slide", "length": 1}));
    let (first, later) = (scene.pose(Some(0.0)), scene.pose(Some(0.5)));
    let shift = |i: usize| later[i].positions[0] - first[i].positions[0];
    assert!((shift(0) - shift(1)).length() < 1e-5 && shift(0).x > 0.3);

    let pulled = stuck(
        morphing(),
        &json!({"position": [-0.9, -0.9, 0], "size": 0.4}),
        &json!({"animation": "pull", "length": 1}),
    );
    let moved = middle(&decal_of(&pulled, Some(1.0))) - middle(&decal_of(&pulled, Some(0.0)));
    assert!(moved.x < -0.3, "{moved}");

    let bends =
        stuck(arm(), &json!({"position": [-0.5, 0.9, 0], "size": 0.3}), &json!({"animation": "bend", "length": 1}));
    let (straight, bent) = (bends.pose(Some(0.0)), bends.pose(Some(1.0)));
    // At the end of the clip, the arm is bent to the right, so its elbow is at the left edge of the bounding box.
    let tip = |posed: &[PosedPrimitive]| posed[0].positions[8];
    let apart = |posed: &[PosedPrimitive]| middle(&posed[1]).distance(tip(posed));
    assert!((apart(&straight) - apart(&bent)).abs() < 0.05, "the decal does not stay at the tip");
    assert!(bends.moving(&bent) == [true, true]);
}

#[test]
fn hiding_a_mesh_hides_its_decals() {
    let hidden = stuck(sheet(), &json!({}), &json!({}));
    assert_eq!(hidden.pose(None).len(), 2);
    let names: Vec<&str> = hidden.model.nodes.iter().map(|n| n.name.as_str()).collect();
    assert_eq!(names, ["part", "part"], "hiddenMeshNames does not hide both");
}

#[test]
fn a_decal_is_put_on_front_faces_and_on_back_faces_only_if_there_are_no_others() {
    let mut cube = cuboid([-1.0; 3], [1.0; 3]);
    // The triangles form the side of the cube at +Z and the side at −Z. Both sides face outwards.
    cube.meshes[0].primitives[0].indices = vec![4, 5, 7, 4, 7, 6, 0, 3, 1, 0, 2, 3];
    let through = json!({"size": 3, "imageAspect": 1});
    let sides = |normal: [f64; 3]| {
        let mut decal = through.clone();
        decal["normal"] = json!(normal);
        let decal = decal_of(&stuck(cube.clone(), &decal, &json!({})), None);
        (decal.positions.iter().any(|p| p.z > 0.5), decal.positions.iter().any(|p| p.z < -0.5))
    };
    assert_eq!(sides([0.0, 0.0, 1.0]), (true, false));
    assert_eq!(sides([0.0, 0.0, -1.0]), (false, true));
    assert_eq!(sides([0.0, 0.0, 0.0]), (true, true));
}

#[test]
fn a_missing_image_is_an_error_that_names_it() {
    let decal =
        json!({"id": "a", "imageAssetId": "gone", "position": [0,0,0], "normal": [0,0,1], "euler": [0,0,0], "size": 1});
    let error = build_scene(sheet().into(), &settings(&json!({"decals": [decal]})), None).unwrap_err();
    assert_eq!(error, SceneError::NoSuchAsset { id: "gone".into() });
    let error = build_scene(sheet().into(), &settings(&json!({"bgImageId": "wall"})), None).unwrap_err();
    assert_eq!(error, SceneError::NoSuchAsset { id: "wall".into() });
}
