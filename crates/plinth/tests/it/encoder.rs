//! Tests of `--encoder`. A script in place of ffmpeg simulates hardware encoders.

use plinth_testkit::{assert_h264, hardware_ffmpeg, probe};

use crate::{Place, plinth, program, text};

/// A script for a hardware encoder that passes the small test at the start, but fails after some frames of a render.
const LOST: &str =
    "if [[ $SIZE == 960x540 ]]; then head -c 8000000 >/dev/null; echo 'the card fell off the bus' >&2; exit 1; fi";
const BROKEN: &str = "echo 'No capable devices found' >&2; exit 1";

/// Renders one second of the cube to `out.mp4` with this ffmpeg. Returns exit code, stdout and stderr.
fn render(place: &Place, ffmpeg: &str, flags: &[&str]) -> (Option<i32>, String, String) {
    let (cube, out) = (place.file("cube.glb"), place.file("out.mp4"));
    let common = ["render", &cube, "-o", &out, "--quality", "share", "--length", "1", "--ffmpeg", ffmpeg];
    let done = plinth(&[&common[..], flags].concat());
    (done.status.code(), text(&done.stdout), text(&done.stderr))
}

/// Renders the cube and returns the manifest, which contains a hash of the frames.
fn manifest(place: &Place, ffmpeg: &str, encoder: &str) -> serde_json::Value {
    let (code, manifest, error) = render(place, ffmpeg, &["--json", "--hash", "--encoder", encoder, "--all"]);
    assert_eq!((code, error.as_str()), (Some(0), ""));
    let (stream, _format) = probe(place.folder.path().join("out.mp4").as_path());
    assert_h264(&stream);
    assert_eq!(stream["nb_read_frames"], "30");
    serde_json::from_str(&manifest).unwrap()
}

#[test]
fn auto_uses_hardware_and_the_file_has_the_usual_properties() {
    let place = Place::new();
    let log = place.other.path().join("log");
    let lines = format!("echo \"$ENCODER '$SIZE'\" >>{}", log.display());
    let ffmpeg = hardware_ffmpeg(place.other.path(), &["h264_nvenc"], &lines);
    let ffmpeg = ffmpeg.to_str().unwrap();
    assert_eq!(manifest(&place, ffmpeg, "auto")["encoder"], "h264_nvenc");
    let used = std::fs::read_to_string(&log).unwrap();
    assert_eq!(
        used, "h264_nvenc '640x360'\nh264_nvenc ''\nh264_nvenc '960x540'\n",
        "the encoder is tested once and then used"
    );
    // With the default encoder, hardware encoders are not tested.
    std::fs::remove_file(&log).unwrap();
    let manifest = manifest(&place, ffmpeg, "libx264");
    assert_eq!((&manifest["encoder"], log.exists()), (&"libx264".into(), false));
}

#[test]
fn auto_says_once_why_hardware_is_not_used_and_falls_back() {
    let place = Place::new();
    let ffmpeg = hardware_ffmpeg(place.other.path(), &["h264_nvenc"], BROKEN);
    let (code, _said, error) = render(&place, ffmpeg.to_str().unwrap(), &["--encoder", "auto"]);
    let lines = error.lines().filter(|line| line.starts_with("plinth: h264_nvenc is not used: No capable devices"));
    assert_eq!((code, lines.count()), (Some(0), 1), "{error}");
    assert_eq!(place.names(), ["cube.glb", "out.mp4"]);
}

#[test]
fn a_requested_encoder_that_does_not_work_is_an_error_before_the_model_is_read() {
    let place = Place::new();
    let ffmpeg = hardware_ffmpeg(place.other.path(), &["h264_nvenc"], BROKEN);
    let (code, _said, error) = render(&place, ffmpeg.to_str().unwrap(), &["--encoder", "h264_nvenc"]);
    let message = "plinth: h264_nvenc cannot be used on this machine: No capable devices found";
    assert!(code == Some(1) && error.starts_with(message) && error.lines().count() == 1, "{error}");
    assert_eq!(place.names(), ["cube.glb"]);
    // A render of a still needs no encoder.
    let (cube, out) = (place.file("cube.glb"), place.file("out.png"));
    let done = plinth(&["render", &cube, "-o", &out, "-q", "--quality", "share", "--encoder", "h264_nvenc"]);
    assert!(done.status.success(), "{}", text(&done.stderr));
}

#[test]
fn an_unknown_encoder_is_a_usage_error() {
    let place = Place::new();
    let (code, _said, error) = render(&place, "ffmpeg", &["--encoder", "nvenc"]);
    assert_eq!(code, Some(2));
    assert!(error.contains("--encoder must be one of auto, libx264, h264_nvenc, h264_vaapi,"), "{error}");
}

#[test]
fn a_render_survives_the_loss_of_the_card() {
    let place = Place::new();
    let ffmpeg = hardware_ffmpeg(place.other.path(), &["h264_nvenc"], LOST);
    let ffmpeg = ffmpeg.to_str().unwrap();
    let lost = manifest(&place, ffmpeg, "auto");
    let video = std::fs::read(place.file("out.mp4")).unwrap();
    let failure = lost["hardwareFailure"].as_str().unwrap();
    assert!(failure.starts_with("h264_nvenc failed: ") && failure.contains("fell off the bus"), "{failure}");
    let usual = manifest(&place, ffmpeg, "libx264");
    assert!(usual["hardwareFailure"].is_null());
    assert_eq!((&lost["encoder"], &lost["frameHash"]), (&usual["encoder"], &usual["frameHash"]));
    assert!(video == std::fs::read(place.file("out.mp4")).unwrap(), "the files differ");
    let (code, _said, error) = render(&place, ffmpeg, &["-q", "--encoder", "h264_nvenc"]);
    let warning = error.starts_with("plinth: warning: h264_nvenc failed: ");
    assert!(code == Some(0) && warning && error.trim_end().ends_with("; libx264 encoded instead"), "{error}");
}

#[test]
fn doctor_says_which_encoder_is_used_and_why_the_others_are_not() {
    let place = Place::new();
    let doctor = |ffmpeg: &std::path::Path, encoder: &str| {
        let run = |json: &[&str]| {
            let mut program = program();
            program.arg("doctor").args(json).env("PLINTH_FFMPEG", ffmpeg).env("PLINTH_ENCODER", encoder);
            program.output().unwrap()
        };
        let (plain, json) = (run(&[]), run(&["--json"]));
        let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
        (plain.status.code(), text(&plain.stdout), json["ffmpeg"].clone())
    };
    let broken = "if [[ $ENCODER == h264_nvenc ]]; then echo 'No capable devices found' >&2; exit 1; fi";
    let ffmpeg = hardware_ffmpeg(place.other.path(), &["h264_nvenc", "h264_vaapi"], broken);
    let (code, report, json) = doctor(&ffmpeg, "auto");
    assert_eq!((code, &json["encoder"]), (Some(0), &"h264_vaapi".into()));
    for line in [
        "h264_nvenc does not work here: No capable devices found",
        "h264_vaapi works",
        "h264_videotoolbox is not in this ffmpeg",
        "h264_vaapi is used (--encoder auto)",
    ] {
        assert!(report.contains(line), "{report}");
    }
    let (code, report, json) = doctor(&ffmpeg, "libx264");
    assert_eq!((code, &json["encoder"]), (Some(0), &"libx264".into()));
    assert!(report.contains("libx264 is used (--encoder libx264)"), "{report}");
    let (code, report, json) = doctor(&ffmpeg, "h264_nvenc");
    assert_eq!((code, &json["encoder"]), (Some(1), &serde_json::Value::Null));
    assert!(report.contains("no encoder is used: h264_nvenc cannot be used on this machine"), "{report}");
}
