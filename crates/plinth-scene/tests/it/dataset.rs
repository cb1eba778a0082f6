//! Tests of the scenes of datasets.

use std::collections::BTreeMap;
use std::io::Cursor;
use std::sync::Arc;

use glam::{DMat4, DVec3};
use plinth_scene::{DatasetViews, EnvironmentMap, Intrinsics, SceneAssets, build_dataset};
use plinth_spec::settings::Coverage;
use serde_json::{Value, json};

use crate::models::{cuboid, settings};

/// Returns a description of the scene and the cameras of a small dataset with a decal. `more` contains other settings.
fn described(more: &Value) -> String {
    let mut json = json!({
        "output": "dataset",
        "decals": [{"id": "logo", "imageAssetId": "logo", "position": [0, 0, 0], "normal": [0, 0, 0],
            "euler": [0, 0, 0], "size": 3, "imageAspect": 1}],
    });
    json.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    // The image is wider than textures may be in videos of the quality `share`.
    let image = image::RgbaImage::from_pixel(2100, 8, image::Rgba([200, 10, 10, 255]));
    let mut bytes = Cursor::new(Vec::new());
    image.write_to(&mut bytes, image::ImageFormat::Png).unwrap();
    let images = BTreeMap::from([("logo".to_owned(), bytes.into_inner())]);
    let environment = Some(EnvironmentMap { width: 2, height: 1, pixels: vec![[1.0; 3]; 2] });
    let views = DatasetViews::Spread { count: 3, side: 64, coverage: Coverage::Hemisphere };
    let model = Arc::new(cuboid([-1.0; 3], [1.0; 3]));
    let (scene, set) =
        build_dataset(model, &settings(&json), SceneAssets { environment, images: &images }, &views).unwrap();
    assert!(scene.model.materials.iter().any(|material| material.overlay), "the decal does not touch the model");
    format!("{scene:?} {set:?}")
}

#[test]
fn quality_aspect_and_background_of_videos_have_no_effect_on_datasets() {
    let plain = described(&json!({}));
    for more in [
        json!({"quality": "share"}),
        json!({"quality": "4k"}),
        json!({"quality": "pro"}),
        json!({"aspect": "9:16"}),
        json!({"bgColor": "#ff8800"}),
        json!({"bgGradient": {"stops": [{"color": "#ff8800"}, {"color": "#002244"}], "angle": 30}}),
        json!({"bgImageId": "deleted"}),
    ] {
        assert!(described(&more) == plain, "{more}");
    }
    assert!(described(&json!({"rotateY": 30})) != plain);
}

#[test]
fn no_surface_is_drawn_that_is_closer_than_the_smallest_encoded_depth() {
    let depths = |views: &DatasetViews| {
        let even = EnvironmentMap { width: 2, height: 1, pixels: vec![[1.0; 3]; 2] };
        let model = Arc::new(cuboid([-1.0; 3], [1.0; 3]));
        let (scene, set) = build_dataset(model, &settings(&json!({"output": "dataset"})), Some(even), views).unwrap();
        (f64::from(scene.shots[0].camera.near), set.depth_near)
    };
    let intrinsics = Intrinsics::square(64, 0.7);
    let at_centre = DatasetViews::Given { intrinsics, world_from_camera: vec![DMat4::IDENTITY] };
    let (drawn, encoded) = depths(&at_centre);
    assert!(encoded > 0.0 && drawn >= encoded * (1.0 - 1e-6), "{drawn} {encoded}");
    // Nothing is as close to a camera outside of the model as its smallest depth, so it may draw from a closer distance.
    let outside = DatasetViews::Spread { count: 1, side: 64, coverage: Coverage::Hemisphere };
    let (drawn, encoded) = depths(&outside);
    assert!((drawn / encoded - 0.95).abs() < 1e-6, "{drawn} {encoded}");
}

#[test]
fn no_surface_has_the_16_bit_depth_that_means_no_surface_if_cameras_have_very_different_distances() {
    let even = EnvironmentMap { width: 2, height: 1, pixels: vec![[1.0; 3]; 2] };
    // The cameras look down at a box that extends from -1 to 1.
    let world_from_camera = [3.0, 30.0].map(|z| DMat4::from_translation(DVec3::new(0.0, 0.0, z))).to_vec();
    let views = DatasetViews::Given { intrinsics: Intrinsics::square(64, 0.7), world_from_camera };
    let model = Arc::new(cuboid([-1.0; 3], [1.0; 3]));
    let (_, set) = build_dataset(model, &settings(&json!({"output": "dataset"})), Some(even), &views).unwrap();
    let value = (31.0 - set.depth_near) / (set.depth_far - set.depth_near) * 65_535.0;
    assert!((65_533.0..65_534.5).contains(&value), "{value}: {} to {}", set.depth_near, set.depth_far);
}
