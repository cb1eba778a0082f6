//! Builds the scene of a model, as a render does after it has loaded the model. The input has two parts: render settings and a GLB.
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use plinth_fuzz::is_usable;
use plinth_model::{LoadOptions, Model, load_glb};
use plinth_scene::{DatasetViews, EnvironmentMap, Scene, SceneAssets, SceneError, build_dataset, build_scene};
use plinth_spec::settings::{Coverage, ParseOptions, RenderSettings};

/// Maximum length of a video in seconds. Longer videos would only take more time.
const LENGTH: f64 = 0.2;

fuzz_target!(|data: &[u8]| {
    let [settings, glb] = plinth_fuzz::parts(data);
    let Ok(settings) = std::str::from_utf8(settings) else { return };
    let Ok(settings) = RenderSettings::from_text(settings, ParseOptions::default()) else { return };
    if settings.video().length_secs > LENGTH || settings.background().gradient.is_some() {
        return;
    }
    let Ok(model) = load_glb(glb, &LoadOptions { limits: plinth_fuzz::limits(), max_texture_side: 16 }) else { return };
    let model = Arc::new(model);
    // A small environment, because computing the built-in one takes longer than everything else.
    let grey = EnvironmentMap { width: 2, height: 1, pixels: vec![[0.5; 3]; 2] };
    let assets = || SceneAssets { environment: Some(grey.clone()), images: &plinth_fuzz::IMAGES };
    check(build_scene(Arc::clone(&model), &settings, assets()));
    let views = DatasetViews::Spread { count: 3, side: 8, coverage: Coverage::Sphere };
    check(build_dataset(model, &settings, assets(), &views).map(|(scene, _views)| scene));
});

/// Checks that the frames of a scene can be drawn.
fn check(scene: Result<Scene, SceneError>) {
    let Ok(scene) = scene else { return };
    assert!(!scene.shots.is_empty());
    assert!(scene.bounds.0.is_finite() && scene.bounds.1.is_finite());
    for shot in &scene.shots {
        assert!(is_usable(&shot.camera), "{:?}", shot.camera);
        let posed = scene.pose(shot.clip_time);
        assert_eq!(scene.moving(&posed).len(), posed.len());
        assert!(posed.iter().all(|one| is_complete(&scene.model, one.node, one.primitive, one.positions.len())));
    }
    let surfaces = scene.surfaces_at(&scene.shots[0], [0.5, 0.5], 1.0);
    serde_json::to_string(&surfaces).expect("surfaces can be written");
}

/// Returns whether a posed primitive has all vertices of its primitive.
fn is_complete(model: &Model, node: usize, primitive: usize, vertices: usize) -> bool {
    let mesh = model.nodes[node].mesh.map(|mesh| &model.meshes[mesh]);
    mesh.is_some_and(|mesh| mesh.primitives[primitive].positions.len() == vertices)
}

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let changed = plinth_fuzz::mutate_settings_and_glb(&data[..size], max_size, seed, fuzzer_mutate);
    plinth_fuzz::replace(data, size, &changed)
});
