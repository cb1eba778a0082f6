//! Tests of valid and invalid command lines.

use std::os::unix::fs::symlink;

use serde_json::json;

use crate::{Place, plinth, text};

/// Runs `plinth render` with a valid model, this output and these flags, which must fail. Returns the error.
fn rejected(place: &Place, out: &str, flags: &[&str]) -> String {
    let (model, out) = (place.file("cube.glb"), place.file(out));
    let mut args = vec!["render", &model, "-o", &out, "-q"];
    args.extend(flags);
    let done = plinth(&args);
    assert_eq!(done.status.code(), Some(2), "{flags:?}: {}", text(&done.stderr));
    let stderr = text(&done.stderr);
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    stderr
}

#[test]
fn usage_errors_exit_with_2_and_one_line_that_names_the_cause() {
    assert_eq!(plinth(&[]).status.code(), Some(2));
    assert_eq!(plinth(&["render"]).status.code(), Some(2));
    assert_eq!(plinth(&["nonsense"]).status.code(), Some(2));
    let place = Place::new();
    let older = place.file("out.mp4");
    std::fs::write(&older, "").unwrap();
    let cases: [(&str, &[&str], &str); 26] = [
        ("out.mp4", &["--zoom", "9"], "zoom must be a number from 0.5 to 2"),
        ("out.mp4", &["--settings", r##"{"bgcolor":"#fff"}"##], "the nearest is 'bgColor'"),
        ("out.mp4", &["--settings", "{zoom}"], "--settings is not valid JSON"),
        ("out.mp4", &["--settings", "[1]"], "--settings must be a JSON object"),
        ("out.mp4", &["--settings", "look.json"], "did you mean --settings @look.json?"),
        ("out.mp4", &["--quality", "pro"], "quality pro needs an output that ends in .mov"),
        ("out.mov", &["--quality", "share"], "a .mov has quality pro, not share"),
        ("out.avi", &[], "must end in .mp4, .mov, .png or .zip"),
        ("out.png", &["--all"], "an output .png is a single still"),
        ("out.mp4", &["--poster", "poster.jpg"], "--poster takes a .png file"),
        ("out.mp4", &["--thumb", "thumb.png"], "--thumb takes a .mp4 file"),
        ("out.mp4", &["--web", &older], "is the name of two outputs"),
        ("out.mp4", &["--env", "sdr.webp,gain.webp"], "--env takes one .hdr file, or the three parts"),
        ("out.mp4", &["--env", "a.hdr", "--env", "b.hdr"], "--env takes one .hdr file, or the three parts"),
        ("out.mp4", &["--env", "a.exr"], "`plinth environment encode a.exr -o DIR` makes the three parts"),
        ("out.mp4", &["--env", "sky.jpg"], "not sky.jpg; to show a picture behind the model, use --bg-image"),
        ("out.mp4", &["--output", "dataset"], "the output of a dataset must be a .zip or a folder"),
        ("out.mp4", &["--split"], "--cameras and --split are for datasets"),
        ("out.zip", &["--output", "video"], "a .zip holds a dataset; leave out --output video"),
        ("out.zip", &["--cameras", "t.json", "--coverage", "sphere"], "leave one of the flags out"),
        ("out.mp4", &["--bg-image", "a.png", "--bg-image-id", "b"], "--bg-image sets bgImageId"),
        ("out.mp4", &["--asset", "a=1.png", "--asset", "a=2.png"], "'a' has two files, 1.png and 2.png"),
        ("out.mp4", &["--animation-speed", "0"], "a number from -10 to 10 ×, other than 0, not 0"),
        ("out.mp4", &["--cache-dir", &older], "--cache-dir must be a folder"),
        ("out.zip", &["--all"], "a dataset has no other outputs"),
        ("out.zip", &["--hash", "--json"], "the manifest.json of a dataset has a hash of each file"),
    ];
    for (out, flags, message) in cases {
        let stderr = rejected(&place, out, flags);
        assert!(stderr.contains(message), "{stderr}");
    }
    let (sub, link) = (place.file("sub"), place.file("link"));
    std::fs::create_dir(&sub).unwrap();
    symlink(place.folder.path(), &link).unwrap();
    for same in ["sub/../out.mp4", "link/out.mp4"] {
        let stderr = rejected(&place, "out.mp4", &["--web", &place.file(same)]);
        assert!(stderr.contains("is the name of two outputs"), "{same}: {stderr}");
    }
    let misnamed = place.file("cube.zip");
    std::fs::copy(place.file("cube.glb"), &misnamed).unwrap();
    let done = plinth(&["render", &misnamed, "-o", &place.file("new.mp4")]);
    assert!(text(&done.stderr).contains("cube.zip: this is a GLB; give the file the extension .glb"));
    let done = plinth(&["rendr"]);
    assert!(text(&done.stderr).contains("'render'") && !text(&done.stderr).contains("render-child"));
}

#[test]
fn a_model_with_another_extension_is_rejected_with_advice() {
    let place = Place::new();
    let sub = place.file("sub");
    std::fs::create_dir(&sub).unwrap();
    for (model, advice) in [
        ("model.fbx", "export the model as .glb (binary glTF)"),
        (
            "model.gltf",
            "pack it with its buffers and textures into one .glb (binary glTF), for example with \
             `gltf-transform copy model.gltf model.glb` of glTF Transform",
        ),
        ("model.obj", "put the OBJ, its MTL and its textures into one .zip"),
        (sub.as_str(), "this is a folder, so name a file in it"),
    ] {
        let done = plinth(&["render", model, "-o", &place.file("out.mp4")]);
        let message = format!("plinth: {model}: only .glb and .zip files are accepted; {advice}\n");
        assert_eq!((done.status.code(), text(&done.stderr)), (Some(2), message));
    }
}

#[test]
fn no_output_can_replace_an_input() {
    let place = Place::new();
    let file = |name: &str| {
        std::fs::write(place.file(name), "an input").unwrap();
        place.file(name)
    };
    let (wall, logo, oak, light) = (file("wall.png"), file("logo.png"), file("out.small.png"), file("light.mp4"));
    let (look, cameras) = (place.file("look.png"), place.file("cameras.zip"));
    std::fs::write(&look, "{}").unwrap();
    let matrix = [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 4], [0, 0, 0, 1]];
    let poses = json!({"camera_angle_x": 0.8, "w": 64, "h": 64, "frames": [{"transform_matrix": matrix}]});
    std::fs::write(&cameras, poses.to_string()).unwrap();
    let (decal, asset, settings) = (format!("{logo}@0,0,0,1"), format!("oak={oak}"), format!("@{look}"));
    let used = r#"{"bgImageId": "oak"}"#;
    let cases: [(&str, &[&str], &str, &str); 6] = [
        ("./wall.png", &["--bg-image", &wall], "image", &wall),
        ("out.mp4", &["--poster", &logo, "--decal", &decal], "image", &logo),
        ("out.mp4", &["--all", "--asset", &asset, "--settings", used], "image", &oak),
        ("out.mp4", &["--web", &light, "--env", &light], "environment", &light),
        ("look.png", &["--settings", &settings], "settings", &look),
        ("cameras.zip", &["--cameras", &cameras], "cameras", &cameras),
    ];
    for (out, flags, content, input) in cases {
        let stderr = rejected(&place, out, flags);
        assert!(stderr.contains(&format!("would replace the {content} {input}; choose another output")), "{stderr}");
    }
    for input in [wall, logo, oak, light] {
        assert_eq!(std::fs::read(input).unwrap(), b"an input");
    }
}

#[test]
fn missing_files_are_named() {
    let place = Place::new();
    let cube = place.file("cube.glb");
    let out = place.file("out.mp4");
    let nowhere = place.file("no/out.mp4");
    let cases: [(&[&str], &str); 5] = [
        (&["render", "none.glb", "-o", &out], "none.glb cannot be read"),
        (&["render", &cube, "-o", &nowhere], "does not exist; create it first"),
        (&["render", &cube, "-o", &out, "--env", "none.hdr"], "none.hdr cannot be read"),
        (&["render", &cube, "-o", &out, "--settings", "@none.json"], "none.json cannot be read"),
        (&["render", &cube, "-o", &out, "-q", "--ffmpeg", "/nowhere/ffmpeg"], "install ffmpeg"),
    ];
    for (args, message) in cases {
        let done = plinth(args);
        let stderr = text(&done.stderr);
        assert_eq!((done.status.code(), stderr.lines().count()), (Some(1), 1), "{stderr}");
        assert!(stderr.contains(message), "{stderr}");
    }
}

#[test]
fn an_environment_is_given_before_or_after_the_model_as_one_file_or_three() {
    let place = Place::new();
    let (hdr, sdr, gain, json) =
        (place.file("a.hdr"), place.file("s.webp"), place.file("g.webp"), place.file("m.json"));
    let mut radiance = b"#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y 4 +X 8\n".to_vec();
    radiance.extend([128, 128, 128, 129].repeat(32));
    std::fs::write(&hdr, radiance).unwrap();
    for file in [&sdr, &gain] {
        image::RgbImage::from_pixel(8, 4, image::Rgb([180; 3])).save(file).unwrap();
    }
    let numbers = r#"{"gamma":[1,1,1],"hdrCapacityMin":0,"hdrCapacityMax":4,"offsetSdr":[0.015625,0.015625,0.015625],
        "offsetHdr":[0.015625,0.015625,0.015625],"gainMapMin":[0,0,0],"gainMapMax":[4,4,4]}"#;
    std::fs::write(&json, numbers).unwrap();
    // A file name that contains a comma works if the file exists.
    let odd = place.file("a,b.hdr");
    std::fs::copy(&hdr, &odd).unwrap();
    let three = [sdr.as_str(), &gain, &json].join(",");
    let (cube, out) = (place.file("cube.glb"), place.file("out.png"));
    let rest = ["-o", &out, "--quality", "share", "-q"];
    let mut pictures = Vec::new();
    for (before, behind) in [
        (vec!["--env", &hdr], vec![]),
        (vec![], vec!["--env", &hdr]),
        (vec!["--env", &odd], vec![]),
        (vec!["--env", &three], vec![]),
        (vec![], vec!["--env", &three]),
        (vec!["--env", &sdr, "--env", &gain, "--env", &json], vec![]),
        (vec![], vec![]),
    ] {
        let mut args = vec!["render"];
        args.extend(&before);
        args.push(&cube);
        args.extend(&behind);
        args.extend(rest);
        let done = plinth(&args);
        assert!(done.status.success(), "{before:?} {behind:?}: {}", text(&done.stderr));
        pictures.push(std::fs::read(&out).unwrap());
    }
    let [first, second, odd, triple, behind, repeated, none] = pictures.try_into().unwrap();
    assert!(first == second && first == odd, "one file at different positions");
    assert!(triple == behind && triple == repeated, "three files at different positions");
    assert!(first != triple && first != none && triple != none, "the environment has no effect");
}

#[test]
fn each_output_has_a_flag_and_all_names_the_others() {
    let place = Place::new();
    let (cube, out, poster) = (place.file("cube.glb"), place.file("out.mp4"), place.file("my poster.png"));
    let common = ["render", &cube, "-o", &out, "--quality", "share", "--length", "0.05", "-q", "--poster", &poster];
    let done = plinth(&common);
    assert!(done.status.success(), "{}", text(&done.stderr));
    assert_eq!(place.names(), ["cube.glb", "my poster.png", "out.mp4"]);
    let done = plinth(&[&common[..], &["--all"]].concat());
    assert!(done.status.success(), "{}", text(&done.stderr));
    assert_eq!(
        place.names(),
        ["cube.glb", "my poster.png", "out.mp4", "out.small.png", "out.thumb.mp4", "out.web.mp4"]
    );
}

#[test]
fn progress_is_plain_lines_without_a_terminal() {
    let place = Place::new();
    let (cube, out) = (place.file("cube.glb"), place.file("out.mp4"));
    let common = ["render", &cube, "-o", &out, "--quality", "share", "--length", "1"];
    let stderr = text(&plinth(&common).stderr);
    let lines: Vec<&str> = stderr.lines().collect();
    assert_eq!(&lines[..3], ["loading", "preparing", "rendering 0/30"], "{stderr}");
    assert_eq!(lines.last(), Some(&"finishing"), "{stderr}");
    assert!(lines.iter().any(|l| l.starts_with("rendering 15/30 ") && l.ends_with(" left")), "{stderr}");
    assert!(!stderr.contains(['\r', '\x1b']), "{stderr:?}");
    for silent in ["--quiet", "--json"] {
        assert_eq!(text(&plinth(&[&common[..], &[silent]].concat()).stderr), "", "{silent}");
    }
}

#[test]
fn packages_get_a_manual_page_of_each_command_and_completions() {
    let folder = tempfile::tempdir().unwrap();
    let done = plinth(&["package-files", folder.path().to_str().unwrap()]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    assert!(read("man/plinth.1").contains("turntable"));
    assert!(read("man/plinth-worker.1").contains("exit"));
    assert!(!folder.path().join("man/plinth-render-child.1").exists(), "commands of the program's own have none");
    for name in ["completions/plinth.bash", "completions/_plinth", "completions/plinth.fish"] {
        assert!(read(name).contains("render"), "{name}");
    }
}
