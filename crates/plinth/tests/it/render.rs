//! Tests of the files that a render writes, and of the files that exist after a failed render.

use std::io::{Cursor, Write as _};
use std::path::Path;
use std::process::Command;

use plinth_testkit::{assert_h264, probe};

use crate::{Place, glb, plinth, program, text};

/// Returns the first frame of a video as R, G, B bytes.
fn first_frame(file: &Path) -> Vec<u8> {
    let filter = "scale=in_color_matrix=bt709:in_range=tv:out_range=pc,format=rgb24";
    let out = Command::new(plinth_testkit::ffmpeg())
        .args(["-v", "error", "-i"])
        .arg(file)
        .args(["-frames:v", "1", "-vf", filter, "-f", "rawvideo", "-"])
        .output()
        .unwrap();
    out.stdout
}

#[test]
fn a_share_render_has_the_size_of_its_tier_and_its_background() {
    let folder = tempfile::tempdir().unwrap();
    let (model, out) = (folder.path().join("cube.glb"), folder.path().join("cube.mp4"));
    std::fs::write(&model, glb::cube()).unwrap();
    let (model, out_name) = (model.to_str().unwrap(), out.to_str().unwrap());
    let done = plinth(&[
        "render",
        model,
        "-o",
        out_name,
        "--quality",
        "share",
        "--length",
        "0.2",
        "--bg-color",
        "#c83cf0",
        "--shadows",
        "false",
        "--all",
        "--json",
    ]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let manifest: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(manifest["frames"], 6);
    assert_eq!(manifest["files"].as_array().unwrap().len(), 5);
    let (stream, _file) = probe(&out);
    assert_h264(&stream);
    assert_eq!(stream["nb_read_frames"], "6");
    assert_eq!((&stream["width"], &stream["height"]), (&960.into(), &540.into()));
    let corner = &first_frame(&out)[..3];
    for (is, should) in corner.iter().zip([0xC8_u8, 0x3C, 0xF0]) {
        assert!(is.abs_diff(should) <= 2, "{corner:?}");
    }
    let bytes = std::fs::read(&out).unwrap();
    let find = |tag: &[u8]| bytes.windows(4).position(|w| w == tag).unwrap();
    assert!(find(b"moov") < find(b"mdat"), "not faststart");
    assert_eq!(std::fs::read(folder.path().join("cube.web.mp4")).unwrap(), bytes);
}

#[test]
fn pro_is_prores_with_straight_alpha() {
    let folder = tempfile::tempdir().unwrap();
    let (model, out) = (folder.path().join("cube.glb"), folder.path().join("cube.mov"));
    std::fs::write(&model, glb::cube()).unwrap();
    let done = plinth(&["render", model.to_str().unwrap(), "-o", out.to_str().unwrap(), "--length", "0.03"]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let (stream, _file) = probe(&out);
    assert_eq!(stream["codec_tag_string"], "ap4h");
    assert!(stream["pix_fmt"].as_str().unwrap().starts_with("yuva444p"), "{stream}");
    for key in ["color_space", "color_primaries", "color_transfer"] {
        assert_eq!(stream[key], "bt709", "{key}");
    }
}

#[test]
fn all_files_of_a_pro_render_but_the_video_show_the_background() {
    let folder = tempfile::tempdir().unwrap();
    let (model, out) = (folder.path().join("cube.glb"), folder.path().join("cube.mov"));
    std::fs::write(&model, glb::cube()).unwrap();
    let (model, out_name) = (model.to_str().unwrap(), out.to_str().unwrap());
    let look = ["--length", "0.03", "--aspect", "1:1", "--bg-color", "#ff0000", "--shadows", "false"];
    let done = plinth(&[&["render", model, "-o", out_name, "--quality", "pro", "--all", "-q"], &look[..]].concat());
    assert!(done.status.success(), "{}", text(&done.stderr));
    for name in ["cube.web.mp4", "cube.thumb.mp4"] {
        let frame = first_frame(&folder.path().join(name));
        for (is, should) in frame[..3].iter().zip([255_u8, 0, 0]) {
            assert!(is.abs_diff(should) <= 3, "{name}: {:?}", &frame[..3]);
        }
    }
    for (name, side) in [("cube.poster.png", 2160), ("cube.small.png", 480)] {
        let picture = image::open(folder.path().join(name)).unwrap().into_rgba8();
        assert_eq!((picture.dimensions(), picture.get_pixel(1, 1).0), ((side, side), [255, 0, 0, 255]), "{name}");
    }
    let video = Command::new(plinth_testkit::ffmpeg())
        .args(["-v", "error", "-i", out_name, "-frames:v", "1", "-pix_fmt", "rgba", "-f", "rawvideo", "-"])
        .output()
        .unwrap()
        .stdout;
    assert_eq!(video.len(), 2160 * 2160 * 4);
    let alpha = |x: usize, y: usize| video[(y * 2160 + x) * 4 + 3];
    assert_eq!([alpha(1, 1), alpha(2158, 1), alpha(1, 2158), alpha(2158, 2158), alpha(1080, 1080)], [0, 0, 0, 0, 255]);
}

#[test]
fn invalid_models_give_one_line_of_error_and_no_files() {
    let folder = tempfile::tempdir().unwrap();
    let good = glb::cube();
    let cut = good[..good.len() - 40].to_vec();
    let cases: [(&str, Vec<u8>); 4] = [
        ("empty", Vec::new()),
        ("cut", cut),
        ("text", b"this is not a model".to_vec()),
        ("cycle", glb::with_json(r#"{"asset":{"version":"2.0"},"nodes":[{"children":[1]},{"children":[0]}]}"#)),
    ];
    for (name, bytes) in cases {
        let (model, out) = (folder.path().join(format!("{name}.glb")), folder.path().join(format!("{name}.mp4")));
        std::fs::write(&model, bytes).unwrap();
        std::fs::write(&out, b"an older video").unwrap();
        let done = plinth(&["render", model.to_str().unwrap(), "-o", out.to_str().unwrap(), "-q"]);
        assert_eq!(done.status.code(), Some(1), "{name}");
        let errors: Vec<String> =
            text(&done.stderr).lines().filter(|l| l.starts_with("plinth:")).map(str::to_owned).collect();
        assert_eq!(errors.len(), 1, "{name}: {errors:?}");
        assert!(!errors[0].contains("internal error"), "{name}: {errors:?}");
        assert_eq!(std::fs::read(&out).unwrap(), b"an older video", "{name}");
    }
    let left = std::fs::read_dir(folder.path())
        .unwrap()
        .filter(|e| e.as_ref().is_ok_and(|e| e.file_name().to_string_lossy().starts_with(".partial")));
    assert_eq!(left.count(), 0);
}

#[test]
fn warnings_of_a_converted_archive_come_first_in_the_json_of_inspect_and_render() {
    let folder = tempfile::tempdir().unwrap();
    let (model, out) = (folder.path().join("scan.zip"), folder.path().join("scan.png"));
    let obj = "mtllib a.mtl\nusemtl Oak\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n";
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in [("a.obj", obj), ("a.mtl", "newmtl Oak\nmap_Kd oak.png\n")] {
        archive.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        archive.write_all(content.as_bytes()).unwrap();
    }
    std::fs::write(&model, archive.finish().unwrap().into_inner()).unwrap();
    let (model, out) = (model.to_str().unwrap(), out.to_str().unwrap());
    // The settings name a clip that the model lacks, which is a warning of the render.
    let render = ["render", model, "-o", out, "--quality", "share", "--animation", "walk", "--json"];
    let cases: [(&[&str], bool); 2] = [(&["inspect", model, "--json"], false), (&render, true)];
    for (args, warns_of_clip) in cases {
        let done = plinth(args);
        assert_eq!((done.status.code(), text(&done.stderr).as_str()), (Some(0), ""), "{args:?}");
        let printed: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
        let warnings = printed["warnings"].as_array().unwrap();
        assert_eq!(warnings[0], "the texture 'oak.png' is not in the ZIP", "{warnings:?}");
        assert_eq!(
            warnings[1..].iter().any(|w| w.as_str().unwrap().contains("no clips")),
            warns_of_clip,
            "{warnings:?}"
        );
    }
    let done = plinth(&["inspect", model]);
    assert!(text(&done.stdout).contains("warning     the texture 'oak.png' is not in the ZIP"));
}

#[test]
fn baked_light_is_cached_in_the_given_folder_up_to_the_given_size() {
    let folder = tempfile::tempdir().unwrap();
    let (model, cache) = (folder.path().join("cube.glb"), folder.path().join("home/cache/plinth"));
    std::fs::write(&model, glb::cube()).unwrap();
    let render = |megabytes: &str, variables: &[(&str, &str)]| {
        let mut render = program();
        render.env_remove("XDG_CACHE_HOME").env("PLINTH_CACHE_MB", megabytes).envs(variables.iter().copied());
        render.arg("render").arg(&model).arg("-o").arg(folder.path().join("cube.png"));
        let done = render.args(["--quality", "share", "--json", "--hash"]).output().unwrap();
        assert!(done.status.success(), "{}", text(&done.stderr));
        let manifest: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
        manifest["frameHash"].clone()
    };
    let files = |folder: &Path| std::fs::read_dir(folder).map_or(0, Iterator::count);
    let caches = cache.parent().unwrap().to_str().unwrap();
    let first = render("0", &[("XDG_CACHE_HOME", caches)]);
    assert!(!cache.exists());
    assert_eq!(render("100", &[("XDG_CACHE_HOME", caches)]), first);
    assert_eq!(files(&cache), 2);
    assert_eq!(render("100", &[("XDG_CACHE_HOME", caches)]), first);
    assert_eq!(files(&cache), 2);
    let home = folder.path().join("home");
    assert_eq!(render("100", &[("HOME", home.to_str().unwrap())]), first);
    assert_eq!(files(&home.join(".cache/plinth")), 2);
    let named = folder.path().join("named");
    render("100", &[("PLINTH_CACHE_DIR", named.to_str().unwrap())]);
    assert_eq!(files(&named), 2);
}

#[test]
fn a_cache_folder_that_cannot_be_created_gives_a_warning() {
    let place = Place::new();
    let (cube, out) = (place.file("cube.glb"), place.file("out.png"));
    let flags = ["--quality", "share", "-q", "--cache-mb", "100", "--cache-dir", "/proc/plinth"];
    let done = program().args(["render", &cube, "-o", &out]).args(flags).output().unwrap();
    let stderr = text(&done.stderr);
    let warning = "plinth: warning: nothing new is cached, because no files can be created in /proc/plinth: ";
    assert!(done.status.success() && stderr.starts_with(warning) && stderr.lines().count() == 1, "{stderr}");
}
