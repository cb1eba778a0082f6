//! Tests of datasets from the command line.

use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::{FileTypeExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::SystemTime;

use serde_json::{Value, json};

use crate::{Place, plinth, program, text};

/// Builds camera poses on a circle around the model, for views of 64×64 pixels.
fn cameras(count: u32) -> Value {
    let frames: Vec<Value> = (0..count)
        .map(|i| {
            let (s, c) = (std::f64::consts::TAU * f64::from(i) / f64::from(count)).sin_cos();
            json!({"transform_matrix": [[c, 0.0, s, 4.0 * s], [s, 0.0, -c, -4.0 * c], [0, 1, 0, 0.25], [0, 0, 0, 1]]})
        })
        .collect();
    json!({"camera_angle_x": 0.8, "w": 64, "h": 64, "frames": frames})
}

fn files(folder: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    entries.map_while(Result::ok).map(|e| e.file_name().to_string_lossy().into_owned()).collect()
}

/// Returns the work folder that a running or killed render has in this folder.
fn work(folder: &Path) -> Option<PathBuf> {
    let mut all = files(folder).into_iter().map(|name| folder.join(name));
    all.find(|path| path.extension().is_some_and(|ending| ending == "work"))
}

/// Returns the names of the views that the work folder records as finished.
fn finished(folder: &Path) -> Vec<String> {
    let noted = work(folder).map_or_else(Vec::new, |work| files(&work.join("views")));
    noted.iter().filter_map(|name| name.strip_suffix(".json")).map(str::to_owned).collect()
}

/// Returns the times at which views of a dataset were written.
fn written(set: &Path, views: &[String]) -> Vec<SystemTime> {
    let picture = |view: &String| std::fs::metadata(set.join(format!("normals/{view}.png"))).unwrap();
    views.iter().map(|view| picture(view).modified().unwrap()).collect()
}

#[test]
fn custom_cameras_give_a_folder_with_their_poses() {
    let place = Place::new();
    let asked = cameras(3);
    std::fs::write(place.file("cameras.json"), asked.to_string()).unwrap();
    let (model, set, cameras) = (place.file("cube.glb"), place.file("set"), place.file("cameras.json"));
    let args = ["render", &model, "-o", &set, "--output", "dataset", "--cameras", &cameras, "--split", "--json"];
    let done = plinth(&args);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let manifest: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!((&manifest["frames"], &manifest["files"][0]["kind"]), (&json!(3), &json!("dataset")));
    let warnings = manifest["warnings"].as_array().unwrap();
    let says = |warning: &Value| warning.as_str().unwrap().contains("at least 5 views, not 3");
    assert!(warnings.iter().any(says), "{warnings:?}");
    let read =
        |name: &str| -> Value { serde_json::from_slice(&std::fs::read(Path::new(&set).join(name)).unwrap()).unwrap() };
    let poses = |file: &Value| -> Vec<f64> {
        let rows = file["frames"].as_array().unwrap().iter().flat_map(|f| f["transform_matrix"].as_array().unwrap());
        rows.flat_map(|row| row.as_array().unwrap()).map(|v| v.as_f64().unwrap()).collect()
    };
    let made = read("transforms.json");
    assert!(poses(&made).iter().zip(poses(&asked)).all(|(a, b)| (a - b).abs() < 1e-14));
    assert_eq!((&made["coverage"], &made["w"]), (&json!("given"), &json!(64)));
    assert_eq!(read("transforms_train.json")["frames"].as_array().unwrap().len(), 2);
    let again = plinth(&args);
    assert_eq!(again.status.code(), Some(1));
    assert!(text(&again.stderr).contains("is not empty"), "{}", text(&again.stderr));
    assert_eq!(place.names(), ["cameras.json", "cube.glb", "set"]);
}

#[test]
fn a_dataset_is_written_to_the_current_folder_if_it_is_empty() {
    let place = Place::new();
    std::fs::write(place.file("cameras.json"), cameras(2).to_string()).unwrap();
    let (model, set, cameras) = (place.file("cube.glb"), place.file("set"), place.file("cameras.json"));
    std::fs::create_dir(&set).unwrap();
    let render = || {
        let args = ["render", &model, "-o", ".", "--output", "dataset", "--cameras", &cameras, "-q"];
        program().current_dir(&set).args(args).output().unwrap()
    };
    let done = render();
    assert!(done.status.success(), "{}", text(&done.stderr));
    let found = files(Path::new(&set));
    assert!(
        found.contains(&"manifest.json".to_owned()) && !found.iter().any(|name| name.starts_with('.')),
        "{found:?}"
    );
    let again = render();
    assert_eq!(again.status.code(), Some(1));
    assert!(text(&again.stderr).contains("the folder . is not empty"), "{}", text(&again.stderr));
}

/// Builds the command that renders a dataset with 120 views.
fn render(place: &Place, set: &str) -> Command {
    let mut program = program();
    let (model, set, cameras) = (place.file("cube.glb"), place.file(set), place.file("cameras.json"));
    program.args(["render", &model, "-o", &set, "--output", "dataset", "--cameras", &cameras, "-q"]);
    program
}

/// Starts a render of a dataset and kills it. Its work folder is in `folder`. Returns the names of the finished views.
fn killed(place: &Place, set: &str, folder: &Path) -> Vec<String> {
    std::fs::write(place.file("cameras.json"), cameras(120).to_string()).unwrap();
    let mut killed = render(place, set).spawn().unwrap();
    while finished(folder).len() < 3 {
        assert!(killed.try_wait().unwrap().is_none(), "the render ended before three views were finished");
    }
    killed.kill().unwrap();
    killed.wait().unwrap();
    let done = finished(folder);
    assert!((3..120).contains(&done.len()), "{}", done.len());
    done
}

#[test]
fn a_killed_render_leaves_no_dataset_and_the_next_one_resumes_it() {
    let place = Place::new();
    let done = killed(&place, "set", place.folder.path());
    let set = PathBuf::from(place.file("set"));
    assert!(!set.exists());
    let before = written(&work(place.folder.path()).unwrap().join("set"), &done);
    assert!(render(&place, "set").status().unwrap().success());
    assert_eq!(before, written(&set, &done), "finished views are not rendered again");
    assert!(render(&place, "other").status().unwrap().success());
    let manifest = |set: &str| text(&std::fs::read(place.file(set).clone() + "/manifest.json").unwrap());
    assert_eq!(
        manifest("set"),
        manifest("other"),
        "a resumed dataset equals one that was rendered without interruption"
    );
    assert_eq!(place.names(), ["cameras.json", "cube.glb", "other", "set"]);
}

#[test]
fn a_killed_render_into_an_existing_folder_is_resumed_by_another_path_to_it() {
    let place = Place::new();
    let set = PathBuf::from(place.file("set"));
    std::fs::create_dir(&set).unwrap();
    symlink(&set, place.file("link")).unwrap();
    let done = killed(&place, "set/.", &set);
    let before = written(&work(&set).unwrap().join("set"), &done);
    assert!(render(&place, "link").status().unwrap().success());
    assert_eq!(before, written(&set, &done), "finished views are not rendered again");
    assert!(set.join("manifest.json").exists() && work(&set).is_none());
    assert_eq!(place.names(), ["cameras.json", "cube.glb", "link", "set"]);
}

#[test]
fn a_killed_render_leaves_no_zip_and_a_resumed_one_is_the_same() {
    let place = Place::new();
    killed(&place, "set.zip", place.folder.path());
    assert!(!Path::new(&place.file("set.zip")).exists());
    for set in ["set.zip", "other.zip"] {
        assert!(render(&place, set).status().unwrap().success());
    }
    assert!(std::fs::read(place.file("set.zip")).unwrap() == std::fs::read(place.file("other.zip")).unwrap());
    assert_eq!(place.names(), ["cameras.json", "cube.glb", "other.zip", "set.zip"]);
}

/// Waits until a render of a dataset has its work folder in `folder`. Returns the folder in it that receives a layer.
fn layer_folder(running: &mut Child, folder: &Path, layer: &str) -> PathBuf {
    loop {
        assert!(running.try_wait().unwrap().is_none(), "the render ended before it had a work folder");
        let made = work(folder).map(|work| work.join("set").join(layer)).filter(|made| made.is_dir());
        if let Some(made) = made {
            return made;
        }
    }
}

#[test]
fn a_second_signal_removes_the_work_folder() {
    let place = Place::new();
    std::fs::write(place.file("cameras.json"), cameras(120).to_string()).unwrap();
    let mut running = render(&place, "set").stderr(Stdio::piped()).spawn().unwrap();
    let normals = layer_folder(&mut running, place.folder.path(), "normals");
    // Writing to a pipe without a reader blocks, so the first signal does not end the render.
    let pipes: Vec<PathBuf> = (0..120).map(|view| normals.join(format!("{view:04}.png"))).collect();
    // This fails for views that are already written.
    let _all_made = Command::new("mkfifo").args(&pipes).stderr(Stdio::null()).status().unwrap();
    assert!(pipes.iter().any(|pipe| pipe.symlink_metadata().unwrap().file_type().is_fifo()), "all views are written");
    let id = running.id().to_string();
    let signal = || Command::new("kill").args(["-INT", &id]).status().unwrap();
    let mut lines = BufReader::new(running.stderr.take().unwrap()).lines().map_while(Result::ok);
    assert!(signal().success());
    assert!(lines.any(|line| line.starts_with("plinth: stopping after this frame")));
    assert!(signal().success());
    assert_eq!(lines.last().as_deref(), Some("plinth: cancelled"));
    assert_eq!(running.wait().unwrap().code(), Some(130));
    assert_eq!(place.names(), ["cameras.json", "cube.glb"]);
}

#[test]
fn a_destination_that_cannot_be_used_is_an_error_before_the_model_is_read() {
    let place = Place::new();
    let (full, folder, file) = (place.file("full"), place.file("folder.zip"), place.file("file"));
    for made in [&full, &folder] {
        std::fs::create_dir(made).unwrap();
    }
    for made in [&file, &place.file("full/notes.txt")] {
        std::fs::write(made, "somebody's own").unwrap();
    }
    let cases = [
        (&full, format!("the folder {full} is not empty")),
        (&folder, format!("{folder} cannot be written")),
        (&file, format!("{file} cannot be written")),
    ];
    for (set, message) in cases {
        let done = plinth(&["render", "none.glb", "-o", set, "--output", "dataset"]);
        let stderr = text(&done.stderr);
        assert_eq!((done.status.code(), stderr.lines().count()), (Some(1), 1), "{stderr}");
        assert!(stderr.contains(&message), "{stderr}");
    }
}

#[test]
fn an_output_cannot_replace_the_model() {
    let place = Place::new();
    std::fs::copy(place.file("cube.glb"), place.file("model.zip")).unwrap();
    let model = place.file("model.zip");
    let done = plinth(&["render", &model, "-o", &model]);
    assert_eq!(done.status.code(), Some(2));
    assert!(text(&done.stderr).contains("would replace the model"), "{}", text(&done.stderr));
}
