//! Tests that check datasets with scripts that share no code with Plinth.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use plinth_pipeline::{DatasetOptions, Job, JobError, Stage, read_cameras, run};
use plinth_scene::DatasetViews;
use plinth_spec::settings::{Coverage, ParseOptions};
use plinth_spec::{OutputFile, RenderSettings};
use serde_json::json;

use crate::shapes;

fn job(model: Vec<u8>, path: PathBuf, views: DatasetViews) -> Job {
    let settings = RenderSettings::from_json(&json!({"output": "dataset"}), ParseOptions::default()).unwrap();
    let dataset = DatasetOptions { views: Some(views), splits: false };
    Job { dataset, ..Job::new(model, settings, [(OutputFile::Dataset, path)].into()) }
}

fn spread(count: u32, side: u32, whole_sphere: bool) -> DatasetViews {
    let coverage = if whole_sphere { Coverage::Sphere } else { Coverage::Hemisphere };
    DatasetViews::Spread { count, side, coverage }
}

/// Runs a script of this repository that checks a dataset. Panics with the output of the script if it finds an error.
fn judged_by(script: &str, set: &Path, flags: &[&str]) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let done =
        Command::new(plinth_testkit::python()).arg("-B").arg(root.join(script)).arg(set).args(flags).output().unwrap();
    let stderr = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.success(), "{stderr}");
}

fn check(set: &Path, flags: &[&str]) {
    judged_by("scripts/check_dataset.py", set, flags);
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn quietly(job: &Job) -> Result<plinth_pipeline::Manifest, JobError> {
    run(job, &mut |_| {}, &AtomicBool::new(false))
}

#[test]
fn views_of_a_sphere_lie_on_it() {
    let folder = tempfile::tempdir().unwrap();
    let set = folder.path().join("set.zip");
    let manifest = quietly(&job(shapes::sphere(), set.clone(), spread(24, 160, false))).unwrap();
    assert_eq!((manifest.frames, manifest.files[0].kind.as_str(), manifest.files[0].width), (24, "dataset", 160));
    assert_eq!(manifest.files[0].bytes, std::fs::metadata(&set).unwrap().len());
    assert_eq!(names(folder.path()), ["set.zip"]);
    check(&set, &["--shape", "sphere", "--views", "24", "--side", "160", "--points", "100000"]);
}

#[test]
fn views_of_a_torus_from_all_sides_lie_on_it() {
    let folder = tempfile::tempdir().unwrap();
    let set = folder.path().join("set.zip");
    quietly(&job(shapes::torus(), set.clone(), spread(26, 160, true))).unwrap();
    check(&set, &["--shape", "torus", "--views", "26"]);
}

#[test]
fn views_of_a_box_by_custom_cameras_lie_on_it() {
    let folder = tempfile::tempdir().unwrap();
    let frames: Vec<_> = (0..5)
        .map(|i| {
            let (s, c) = (f64::from(i) * 1.3).sin_cos();
            // The cameras are on a circle of radius 4, in a plane that is inclined by 30°. They look at a point beside
            // the centre of this circle.
            let back = [c, s * 0.75_f64.sqrt(), s * 0.5];
            let right = [-s, c * 0.75_f64.sqrt(), c * 0.5];
            let up = [0.0, -0.5, 0.75_f64.sqrt()];
            let row = |k: usize| json!([right[k], up[k], back[k], 4.0 * back[k] + 0.1]);
            json!({"file_path": "unused", "transform_matrix": [row(0), row(1), row(2), [0, 0, 0, 1]]})
        })
        .collect();
    let cameras = json!({"w": 161, "h": 121, "fl_x": 190, "fl_y": 185, "cx": 83.5, "cy": 57.25, "frames": frames});
    let asked = folder.path().join("cameras.json");
    std::fs::write(&asked, cameras.to_string()).unwrap();
    let set = folder.path().join("set");
    let mut job = job(shapes::cuboid(), set.clone(), read_cameras(&cameras.to_string(), 800).unwrap());
    job.dataset.splits = true;
    quietly(&job).unwrap();
    check(&set, &["--shape", "box", "--cameras", asked.to_str().unwrap()]);
    judged_by("bench/loaders.py", &set, &[]);
    let frames = |name: &str| -> Vec<String> {
        let text = std::fs::read_to_string(set.join(format!("transforms_{name}.json"))).unwrap();
        let file: serde_json::Value = serde_json::from_str(&text).unwrap();
        file["frames"].as_array().unwrap().iter().map(|f| f["file_path"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(frames("train"), ["images/0001", "images/0002", "images/0003"]);
    assert_eq!((frames("test"), frames("val")), (vec!["images/0000".to_owned()], vec!["images/0004".to_owned()]));
}

#[test]
fn settings_with_the_same_frames_give_the_same_files() {
    let folder = tempfile::tempdir().unwrap();
    let manifest = |name: &str, settings: serde_json::Value| {
        let set = folder.path().join(name);
        let mut job = job(shapes::cuboid(), set.clone(), spread(3, 48, false));
        job.settings = RenderSettings::from_json(&settings, ParseOptions::default()).unwrap();
        quietly(&job).unwrap();
        std::fs::read_to_string(set.join("manifest.json")).unwrap()
    };
    let plain = manifest("a", json!({"output": "dataset", "zoom": 2}));
    let other = json!({"output": "dataset", "zoom": 2.0, "videoLength": 6, "strictCredits": true});
    assert_eq!(manifest("b", other), plain, "the manifest has the hash of every other file");
    let read: serde_json::Value = serde_json::from_str(&plain).unwrap();
    assert_eq!(read["renderSettings"], json!({"output": "dataset", "zoom": 2.0}));
}

#[test]
fn settings_that_given_cameras_make_ineffective_are_warnings() {
    let folder = tempfile::tempdir().unwrap();
    let matrix = [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 5], [0, 0, 0, 1]];
    let cameras = json!({"camera_angle_x": 0.7, "w": 32, "h": 24, "frames": [{"transform_matrix": matrix}]});
    let given = read_cameras(&cameras.to_string(), 800).unwrap();
    let rendered = |name: &str, views: &DatasetViews, settings: serde_json::Value| {
        let set = folder.path().join(name);
        let mut job = job(shapes::cuboid(), set.clone(), views.clone());
        job.settings = RenderSettings::from_json(&settings, ParseOptions::default()).unwrap();
        let warnings = quietly(&job).unwrap().warnings;
        let named =
            warnings.iter().filter_map(|warning| Some(warning.split_once(": no effect, because")?.0.to_owned()));
        (named.collect::<Vec<String>>(), std::fs::read(set.join("normals/0000.png")).unwrap())
    };
    let (named, plain) = rendered("plain", &given, json!({"output": "dataset"}));
    assert!(named.is_empty(), "{named:?}");
    let changed =
        json!({"output": "dataset", "rotateY": 30, "zoom": 2, "coverage": "sphere", "datasetQuality": "196x1024"});
    let (named, same) = rendered("given", &given, changed.clone());
    assert_eq!(named, ["rotateY", "zoom", "coverage", "datasetQuality"]);
    assert!(same == plain);
    let (named, _picture) = rendered("spread", &spread(1, 32, true), changed);
    assert!(named.is_empty(), "{named:?}");
}

#[test]
fn the_same_job_gives_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let sets = ["a.zip", "b.zip"].map(|name| {
        let set = folder.path().join(name);
        quietly(&job(shapes::cuboid(), set.clone(), spread(3, 48, false))).unwrap();
        std::fs::read(set).unwrap()
    });
    assert!(sets[0] == sets[1]);
}

#[test]
fn only_the_colours_of_a_free_dataset_are_watermarked() {
    let folder = tempfile::tempdir().unwrap();
    let [paid, free] = [false, true].map(|watermark| {
        let set = folder.path().join(watermark.to_string());
        let mut job = job(shapes::cuboid(), set.clone(), spread(2, 64, false));
        job.watermark = watermark;
        quietly(&job).unwrap();
        let text = std::fs::read(set.join("manifest.json")).unwrap();
        let manifest: serde_json::Value = serde_json::from_slice(&text).unwrap();
        manifest["files"].as_array().unwrap().clone()
    });
    let pairs = paid.iter().zip(&free).filter(|(a, b)| a != b);
    let differ: Vec<&str> = pairs.map(|(a, _)| a["path"].as_str().unwrap()).collect();
    assert_eq!(differ, ["overview.webp", "images/0000.png", "images/0001.png"]);
}

#[test]
fn a_dataset_cancelled_at_any_stage_leaves_no_files() {
    let moments = [
        (Stage::Loading, 0),
        (Stage::Preparing, 0),
        (Stage::Rendering, 0),
        (Stage::Rendering, 2),
        (Stage::Finishing, 3),
    ];
    // The second target is the temporary folder itself.
    for (moment, target) in moments.into_iter().flat_map(|moment| [(moment, "set.zip"), (moment, ".")]) {
        let folder = tempfile::tempdir().unwrap();
        let cancel = AtomicBool::new(false);
        let mut watch = |p: plinth_pipeline::Progress| {
            cancel.fetch_or((p.stage, p.frame) == moment, Ordering::Relaxed);
        };
        let job = job(shapes::cuboid(), folder.path().join(target), spread(3, 48, false));
        let error = run(&job, &mut watch, &cancel).unwrap_err();
        assert!(matches!(error, JobError::Cancelled), "{moment:?}: {error}");
        assert!(names(folder.path()).is_empty(), "{moment:?}");
    }
}

#[test]
fn an_existing_empty_folder_receives_the_same_dataset_as_a_new_one_by_each_of_its_paths() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for name in ["existing", "here", "linked"] {
        std::fs::create_dir(at(name)).unwrap();
    }
    symlink(at("linked"), at("link")).unwrap();
    for target in ["new", "existing", "here/.", "link"] {
        quietly(&job(shapes::cuboid(), at(target), spread(2, 48, false))).unwrap();
    }
    let manifest = |set: &str| std::fs::read(at(set).join("manifest.json")).unwrap();
    for set in ["existing", "here", "linked"] {
        assert_eq!(names(&at(set)), names(&at("new")), "{set}");
        assert!(manifest(set) == manifest("new"), "{set}");
    }
    assert_eq!(names(folder.path()), ["existing", "here", "link", "linked", "new"]);
}

#[test]
fn a_folder_with_other_files_is_rejected_before_a_view_is_drawn() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("notes.txt"), b"somebody's own").unwrap();
    let mut drawn = 0;
    let mut watch = |p: plinth_pipeline::Progress| drawn = drawn.max(p.frame);
    let job = job(shapes::cuboid(), folder.path().join("."), spread(2, 48, false));
    let error = run(&job, &mut watch, &AtomicBool::new(false)).unwrap_err().to_string();
    assert!(error.contains("is not empty") && drawn == 0, "{drawn}: {error}");
    assert_eq!(names(folder.path()), ["notes.txt"]);
}

#[test]
fn invalid_jobs_are_rejected_and_change_no_files() {
    let folder = tempfile::tempdir().unwrap();
    let full = folder.path().join("full");
    std::fs::create_dir(&full).unwrap();
    std::fs::write(full.join("notes.txt"), b"somebody's own").unwrap();
    let error = quietly(&job(shapes::cuboid(), full.clone(), spread(2, 48, false))).unwrap_err().to_string();
    assert!(error.contains("is not empty"), "{error}");
    // All cameras look down. They are at three heights: below the model, far above it, and above it.
    let at_height = |height: f64| {
        let matrix = [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, height], [0.0, 0.0, 0.0, 1.0]];
        let frames = json!([{"transform_matrix": matrix}]);
        let cameras = json!({"camera_angle_x": 0.7, "w": 32, "h": 32, "frames": frames});
        let set = folder.path().join("set.zip");
        quietly(&job(shapes::cuboid(), set, read_cameras(&cameras.to_string(), 32).unwrap()))
    };
    let rejected = |height: f64| at_height(height).unwrap_err().to_string();
    assert!(rejected(-9.0).contains("behind every camera"), "{}", rejected(-9.0));
    for (height, warnings) in [(90.0, 1), (9.0, 0)] {
        let found = at_height(height).unwrap().warnings;
        assert_eq!(
            found.iter().filter(|warning| warning.contains("beyond 65.535 units")).count(),
            warnings,
            "{found:?}"
        );
        std::fs::remove_file(folder.path().join("set.zip")).unwrap();
    }
    assert_eq!((names(folder.path()), names(&full)), (vec!["full".to_owned()], vec!["notes.txt".to_owned()]));
}

#[test]
fn the_dataset_quality_sets_the_number_of_views() {
    // The job is cancelled at its first progress report, so no view is drawn.
    for (name, views) in [("100x800", 100), ("196x1024", 196), ("400x2048", 400)] {
        let folder = tempfile::tempdir().unwrap();
        let mut job = job(shapes::cuboid(), folder.path().join("set.zip"), spread(1, 1, false));
        let settings = json!({"output": "dataset", "datasetQuality": name, "shadows": false});
        job.settings = RenderSettings::from_json(&settings, ParseOptions::default()).unwrap();
        job.dataset.views = None;
        let cancel = AtomicBool::new(false);
        let mut told = 0;
        let mut watch = |p: plinth_pipeline::Progress| {
            told = p.frames;
            cancel.fetch_or(p.stage == Stage::Rendering, Ordering::Relaxed);
        };
        let error = run(&job, &mut watch, &cancel).unwrap_err();
        assert!(matches!(error, JobError::Cancelled) && told == views, "{name}: {told} {error}");
    }
}
