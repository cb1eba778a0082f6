//! Tests that a process that renders the same model several times writes the same files as a new process.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use plinth_pipeline::{Job, WarmModel, run, run_warm};
use plinth_render::Cache;
use plinth_spec::RenderSettings;
use plinth_spec::settings::ParseOptions;
use serde_json::{Value, json};

use super::job;

/// Settings of consecutive renders. They change the camera, the light, the texture size, the material and the pose. The
/// longer videos are drawn on two devices.
fn looks() -> [Value; 8] {
    [
        json!({"quality": "share", "length": 0.1}),
        json!({"quality": "share", "length": 2, "rotateY": 35}),
        json!({"quality": "share", "length": 0.1, "envRotation": 90, "reflector": true}),
        json!({"quality": "standard", "length": 0.1}),
        json!({"quality": "share", "length": 2, "materialEdits": {"GlassPlasticMat": {"transmission": 1, "opacity": 1}}}),
        json!({"quality": "share", "length": 0.1, "materialEdits": {"RubberWoodMat": {"alphaMode": "BLEND"}}}),
        json!({"quality": "share", "length": 0.1, "tiltX": 10, "n8aoEnabled": true}),
        json!({"quality": "share", "length": 0.1}),
    ]
}

fn parsed(look: &Value) -> RenderSettings {
    RenderSettings::from_json(look, ParseOptions::default()).unwrap()
}

/// Returns the names and contents of all files of a video.
fn files(look: &Value, warm: Option<&mut WarmModel>, cache: &Path) -> Vec<(String, Vec<u8>)> {
    let folder = tempfile::tempdir().unwrap();
    let cache = Some(Cache::open(cache.to_owned(), 1 << 30).unwrap());
    let mut job = Job { settings: parsed(look), cache, ..job(folder.path()) };
    if warm.as_ref().is_some_and(|warm| warm.has_loaded(&job.settings)) {
        job.model.clear();
    }
    let cancel = AtomicBool::new(false);
    let done = match warm {
        Some(warm) => run_warm(&job, Some(warm), &mut |_| {}, &cancel),
        None => run(&job, &mut |_| {}, &cancel),
    };
    done.unwrap();
    let entries = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap());
    let mut files: Vec<_> =
        entries.map(|entry| (entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap())).collect();
    files.sort();
    files
}

#[test]
fn a_warm_model_gives_the_files_of_a_new_process_whatever_was_drawn_before() {
    let (warm_cache, cold_cache) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut warm = WarmModel::default();
    let mut loads = 0;
    for look in looks() {
        loads += u32::from(!warm.has_loaded(&parsed(&look)));
        let drawn = files(&look, Some(&mut warm), warm_cache.path());
        let expected = files(&look, None, cold_cache.path());
        assert_eq!(drawn.len(), 5);
        for ((name, drawn), (_name, expected)) in drawn.iter().zip(&expected) {
            assert!(drawn == expected, "{name} differs with {look}");
        }
    }
    assert_eq!(loads, 3, "the model is loaded first, and for each change of the size of its textures");
}
