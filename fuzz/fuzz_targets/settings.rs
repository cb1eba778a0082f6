//! Parses render settings. Accepted settings must have a price, must be accepted again when they are echoed, and must
//! build a scene with shots whose cameras are finite.
#![no_main]

use std::sync::{Arc, LazyLock};

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use plinth_fuzz::is_usable;
use plinth_model::{LoadOptions, Model, load_glb};
use plinth_scene::{SceneAssets, SceneError, build_scene};
use plinth_spec::pricing::cost;
use plinth_spec::settings::{Output, ParseOptions, RenderSettings};

static MODEL: LazyLock<Arc<Model>> = LazyLock::new(|| {
    let glb = include_bytes!("../seeds/glb/ffa5138cf972970b.glb");
    Arc::new(load_glb(glb, &LoadOptions::default()).expect("the seed is a model"))
});

fuzz_target!(|text: &str| {
    let Ok(settings) = RenderSettings::from_text(text, ParseOptions::default()) else { return };
    assert!(cost(&settings).credits >= 1);
    let echoed = settings.echoed();
    let again = RenderSettings::from_json(&echoed, ParseOptions::default()).expect("echoed settings are valid");
    assert_eq!(again.canonical(), settings.canonical());
    let video = settings.video();
    // Does not build scenes of datasets, long videos and gradients, which only take time.
    if video.output == Output::Dataset || video.length_secs > 1.0 || settings.background().gradient.is_some() {
        return;
    }
    let assets = SceneAssets { environment: None, images: &plinth_fuzz::IMAGES };
    match build_scene(Arc::clone(&MODEL), &settings, assets) {
        Ok(scene) => assert!(!scene.shots.is_empty() && scene.shots.iter().all(|shot| is_usable(&shot.camera))),
        Err(SceneError::NoSuchAsset { .. }) => {}
        Err(error) => panic!("{error}"),
    }
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let changed = plinth_fuzz::mutate_json(&data[..size], max_size, seed, fuzzer_mutate);
    plinth_fuzz::replace(data, size, &changed)
});
