//! Tests of `plinth environment encode`.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;

use crate::{Place, plinth, program, text};

/// Returns a dark Radiance file of 32 × 16 texels, one of which has a radiance of about 5000.
fn lamp() -> Vec<u8> {
    let mut bytes = b"#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y 16 +X 32\n".to_vec();
    for i in 0..32 * 16 {
        let lamp = [156, 156, 156, 128 + 13];
        bytes.extend(if i == 200 { lamp } else { [128, 100, 80, 128 - 4] });
    }
    bytes
}

#[test]
fn an_encoded_panorama_lights_a_model_like_its_source() {
    let place = Place::new();
    let (hdr, folder) = (place.file("lamp.hdr"), place.file("made/here"));
    std::fs::write(&hdr, lamp()).unwrap();
    let done = plinth(&["environment", "encode", &hdr, "-o", &folder]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let output = text(&done.stdout);
    assert!(output.contains("size           32×16\n") && output.contains("largest error  "), "{output}");
    assert!(!output.contains("warning"), "{output}");
    let files = ["lamp.sdr.webp", "lamp.gainmap.webp", "lamp.json"].map(|name| format!("{folder}/{name}"));
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 3);
    let picture = |env: &str| {
        let out = place.file("out.png");
        let done = plinth(&["render", &place.file("cube.glb"), "-o", &out, "--quality", "share", "-q", "--env", env]);
        assert!(done.status.success(), "{}", text(&done.stderr));
        image::open(out).unwrap().into_rgb8().into_raw()
    };
    let (source, encoded) = (picture(&hdr), picture(&files.join(",")));
    let total: u64 = source.iter().zip(&encoded).map(|(a, b)| u64::from(a.abs_diff(*b))).sum();
    let mean = total as f64 / source.len() as f64;
    assert!(mean < 0.3, "the mean difference is {mean} of 255");
}

#[test]
fn json_has_the_files_the_size_and_the_error() {
    let place = Place::new();
    let hdr = place.file("lamp.hdr");
    std::fs::write(&hdr, lamp()).unwrap();
    let done = plinth(&["environment", "encode", &hdr, "-o", &place.file(""), "--max-width", "16", "--json"]);
    let output: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    let sizes = ["width", "height", "sourceWidth", "sourceHeight"].map(|key| output[key].as_u64().unwrap());
    assert_eq!(sizes, [16, 8, 32, 16]);
    assert!(output["largestError"].as_f64().unwrap() < 0.015, "{output}");
    for file in output["files"].as_array().unwrap() {
        let path = file["path"].as_str().unwrap();
        assert_eq!(std::fs::metadata(path).unwrap().len(), file["bytes"].as_u64().unwrap());
    }
}

#[test]
fn json_has_files_whose_names_are_not_utf8() {
    let place = Place::new();
    let hdr = place.file("lamp.hdr");
    std::fs::write(&hdr, lamp()).unwrap();
    let mut folder = OsString::from(place.file("made "));
    folder.push(OsStr::from_bytes(b"\xff"));
    let done = program().args(["environment", "encode", hdr.as_str(), "--json", "-o"]).arg(folder).output().unwrap();
    assert!(done.status.success(), "{}", text(&done.stderr));
    let output: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    assert!(output["files"][0]["path"].as_str().unwrap().ends_with("made \u{FFFD}/lamp.sdr.webp"), "{output}");
}

#[test]
fn files_that_are_no_panorama_are_rejected_and_nothing_is_written() {
    let place = Place::new();
    let (square, cut) = (place.file("square.hdr"), place.file("cut.hdr"));
    std::fs::write(
        &square,
        b"#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y 4 +X 4\n".iter().chain(&[9; 64]).copied().collect::<Vec<u8>>(),
    )
    .unwrap();
    std::fs::write(&cut, &lamp()[..500]).unwrap();
    let folder = place.file("made");
    for (file, expected) in [
        (place.file("none.hdr"), "none.hdr: No such file"),
        (place.file("cube.glb"), "neither Radiance HDR (.hdr) nor OpenEXR (.exr)"),
        (square, "4×4 is not that of an equirectangular panorama, which is twice as wide as high"),
        (cut, "the environment cannot be read"),
    ] {
        let done = plinth(&["environment", "encode", &file, "-o", &folder]);
        let output = text(&done.stderr);
        assert_eq!(done.status.code(), Some(1), "{output}");
        assert!(output.contains(expected) && output.contains(&file), "{output}");
    }
    assert!(!std::path::Path::new(&folder).exists());
    let done = plinth(&["environment", "encode", "a.hdr", "-o", &folder, "--max-width", "9000"]);
    assert_eq!(done.status.code(), Some(2));
}
