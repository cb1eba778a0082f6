//! Tests with a list of invalid files. Within a bounded time, each file must either be accepted or be rejected with a
//! one-line message.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use plinth_model::obj_zip::glb_from_zip;
use plinth_model::{Limits, LoadOptions, inspect, load_glb};
use serde_json::json;

use crate::glb::{Glb, file};
use crate::images::png;
use crate::zips::{TRIANGLE, patched, zip, zip_with_link};

/// A name, a change that makes a valid file invalid, and the text that the error message must contain.
type Change = (&'static str, fn(&mut Glb), &'static str);
/// A name, and a change after which a valid file must still be accepted.
type ValidChange = (&'static str, fn(&mut Glb));

/// Time limit for one file. It is far longer than an idle machine needs, so that the tests also pass on a busy machine.
const MAX_DURATION: Duration = Duration::from_secs(20);

/// Processes a file like an uploaded file. A ZIP archive is converted to a GLB, and the model is inspected.
fn process_upload(bytes: &[u8], is_zip: bool) -> Result<(), String> {
    let start = Instant::now();
    let converted;
    let glb = if is_zip {
        converted = glb_from_zip(bytes, &Limits::default()).map_err(|e| e.to_string());
        match &converted {
            Ok(converted) => converted.glb.as_slice(),
            Err(problem) => return bounded(start, Err(problem.clone())),
        }
    } else {
        bytes
    };
    let answer = inspect(glb, &LoadOptions::default()).map(drop).map_err(|e| e.to_string());
    bounded(start, answer)
}

fn bounded(start: Instant, answer: Result<(), String>) -> Result<(), String> {
    assert!(start.elapsed() < MAX_DURATION, "{:?}: {answer:?}", start.elapsed());
    answer
}

#[track_caller]
fn assert_rejected(name: &str, bytes: &[u8], is_zip: bool, expected: &str) {
    let problem = process_upload(bytes, is_zip).unwrap_err();
    assert!(problem.contains(expected), "{name}: '{problem}' does not contain '{expected}'");
    assert!(!problem.contains('\n') && problem.len() < 400, "{name}: expected one short line, got '{problem}'");
}

fn textured() -> Glb {
    let mut glb = Glb::textured();
    glb.image("image/png", &png(1, 1, &[255; 4]));
    glb
}

#[test]
fn invalid_glb_files_are_rejected() {
    let valid = textured().bytes();
    let cut = &valid[..valid.len() / 2];
    let mut long_chunk = valid.clone();
    long_chunk[12..16].copy_from_slice(&[0xFF; 4]);
    for (name, bytes, expected) in [
        ("empty", b"".as_slice(), "the file is empty"),
        ("header only", &valid[..12], "it is cut off"),
        ("half of it", cut, "it is cut off"),
        ("text", b"this is not a model, it is a letter", "first four bytes are not 'glTF'"),
        ("a chunk with a wrong length", &long_chunk, "a chunk is longer than the file"),
        ("a ZIP", &zip(&[("a.obj", TRIANGLE.as_bytes())]), "ZIP archive"),
        ("an array", &file(b"[]", b""), "not an object"),
        ("not JSON", &file(b"{nonsense}", b""), "the glTF JSON is broken"),
        ("deep JSON", &file(format!("{{\"a\":{}", "[".repeat(200_000)).as_bytes(), b""), "the glTF JSON is broken"),
        (
            "deep nodes",
            &file(format!("{{\"nodes\":{}", "[".repeat(200_000)).as_bytes(), b""),
            "the glTF JSON is broken",
        ),
    ] {
        assert_rejected(name, bytes, false, expected);
    }
}

#[test]
fn documents_that_violate_the_specification_are_rejected() {
    for_each_change(&[
        ("a count of 2^32", |g| g.json["accessors"][0]["count"] = u32::MAX.into(), "are more than its bufferView"),
        (
            "4e9 zeros",
            |g| g.json["accessors"][0] = json!({"componentType": 5126, "count": 4_000_000_000_u64, "type": "VEC3"}),
            "zero-filled values",
        ),
        ("a view that wraps", |g| g.json["bufferViews"][0]["byteOffset"] = u64::MAX.into(), "are beyond buffer 0"),
        (
            "doubling nodes",
            |g| {
                let node = |i: usize| if i < 60 { json!({"children": [i + 1, i + 1]}) } else { json!({"mesh": 0}) };
                g.json["nodes"] = (0..61).map(node).collect();
            },
            "it has two parents",
        ),
        (
            "half a billion instances",
            |g| {
                let zeros = g.push("accessors", json!({"componentType": 5126, "count": 500_000_000, "type": "VEC3"}));
                g.node()["extensions"]["EXT_mesh_gpu_instancing"]["attributes"]["TRANSLATION"] = zeros.into();
            },
            "zero-filled values",
        ),
        (
            "instances of zeros",
            |g| {
                let zeros = g.push("accessors", json!({"componentType": 5126, "count": 30_000_000, "type": "VEC3"}));
                g.node()["extensions"]["EXT_mesh_gpu_instancing"]["attributes"]["TRANSLATION"] = zeros.into();
            },
            "30000000 instances",
        ),
        (
            "noise as Draco",
            |g| {
                let view = g.view(b"noise noise noise");
                g.primitive()["extensions"]["KHR_draco_mesh_compression"] =
                    json!({"bufferView": view, "attributes": {"POSITION": 0}});
            },
            "Draco data: it cannot be decoded",
        ),
        (
            "a Draco header of many faces",
            |g| {
                // A Draco header: version 2.2, mesh, edgebreaker, no flags, standard traversal. It declares 2^32 − 1
                // vertices and faces.
                let view = g.view(b"DRACO\x02\x02\x01\x01\0\0\0\xFF\xFF\xFF\xFF\x0F\xFF\xFF\xFF\xFF\x0F");
                g.primitive()["extensions"]["KHR_draco_mesh_compression"] =
                    json!({"bufferView": view, "attributes": {"POSITION": 0}});
            },
            "Draco data: it cannot be decoded",
        ),
    ]);
}

#[test]
fn invalid_images_and_factors_are_rejected() {
    for_each_change(&[
        ("noise as an image", |g| replace_image(g, b"noise"), "images[0]: it cannot be decoded"),
        ("an image without data", |g| replace_image(g, &huge_png_header()), "images[0]: it cannot be decoded"),
        (
            "noise as KTX2",
            |g| replace_image(g, b"\xABKTX 20\xBB\r\n\x1A\n\x01\x02\x03\x04\x05\x06\x07\x08"),
            "images[0]: it cannot be decoded",
        ),
        (
            "strings for numbers",
            |g| g.material()["pbrMetallicRoughness"]["baseColorFactor"] = json!(["1", "1", "1", "1"]),
            "invalid type: string",
        ),
    ]);
}

fn for_each_change(changes: &[Change]) {
    for (name, change, expected) in changes {
        let mut glb = textured();
        change(&mut glb);
        assert_rejected(name, &glb.bytes(), false, expected);
    }
}

/// Returns the header of a PNG with 16 000 × 16 000 pixels and 16 bits per channel. The pixels themselves are missing.
fn huge_png_header() -> Vec<u8> {
    let mut bytes = png(1, 1, &[0; 4]);
    bytes[16..26].copy_from_slice(&[0, 0, 0x3E, 0x80, 0, 0, 0x3E, 0x80, 16, 6]);
    bytes
}

fn replace_image(glb: &mut Glb, bytes: &[u8]) {
    let view = glb.view(bytes);
    glb.json["images"][0]["bufferView"] = view.into();
}

#[test]
fn unusual_but_valid_documents_are_accepted() {
    let changes: [ValidChange; 5] = [
        ("all in one point", |g| g.attribute("POSITION", &[[0.0_f32; 3]; 3])),
        ("almost infinite", |g| g.attribute("POSITION", &[[3e38_f32; 3], [-3e38; 3], [3e38, 0.0, 0.0]])),
        ("a light that is not there", |g| g.node()["extensions"]["KHR_lights_punctual"]["light"] = 9.into()),
        ("PNG called JPEG", |g| g.json["images"][0]["mimeType"] = "image/jpeg".into()),
        ("a thousand clips", |g| g.json["animations"] = vec![json!({"channels": [], "samplers": []}); 1000].into()),
    ];
    for (name, change) in changes {
        let mut glb = textured();
        change(&mut glb);
        assert_eq!(process_upload(&glb.bytes(), false), Ok(()), "{name}");
    }
}

#[test]
fn invalid_archives_are_rejected() {
    let obj = TRIANGLE.as_bytes();
    let valid = zip(&[("a.obj", obj)]);
    let zeros = vec![b' '; (500 << 20) + 1];
    for (name, bytes, expected) in [
        ("noise", b"PK noise".to_vec(), "the ZIP cannot be read"),
        ("a cut tail", valid[..valid.len() - 30].to_vec(), "the ZIP cannot be read"),
        ("empty", zip(&[]), "exactly one .obj, not 0"),
        ("no OBJ", zip(&[("a.txt", b"text")]), "exactly one .obj, not 0"),
        ("a folder of that name", zip(&[("a.obj/", b"")]), "exactly one .obj, not 0"),
        ("two OBJ", zip(&[("a.obj", obj), ("b.OBJ", obj)]), "exactly one .obj, not 2"),
        ("nested", zip(&[("inner.zip", &valid)]), "exactly one .obj, not 0"),
        ("traversal", zip(&[("x/../../a.obj", obj)]), "exactly one .obj, not 0"),
        ("an absolute path", zip(&[("/tmp/a.obj", obj)]), "exactly one .obj, not 0"),
        ("a drive", zip(&[("C:/a.obj", obj)]), "exactly one .obj, not 0"),
        ("a link", zip_with_link(&[], "a.obj", "/etc/passwd"), "exactly one .obj, not 0"),
        ("encrypted", patched(valid.clone(), 6, 8, &[1, 0]), "encrypted"),
        ("an unknown method", patched(valid.clone(), 8, 10, &[99, 0]), "the ZIP cannot be read"),
        ("a wrong checksum", patched(valid.clone(), 14, 16, &[1, 2, 3, 4]), "the ZIP cannot be read"),
        ("a wrong size", patched(valid.clone(), 22, 24, &[2, 0, 0, 0]), "the ZIP cannot be read"),
        (
            "a declared bomb",
            patched(valid.clone(), 22, 24, &[0xFF, 0xFF, 0xFF, 0x7F]),
            "unpacks to more than 524288000 bytes",
        ),
        ("a bomb", zip(&[("a.obj", &zeros)]), "unpacks to more than 524288000 bytes"),
    ] {
        assert_rejected(name, &bytes, true, expected);
    }
}

#[test]
fn an_archive_with_a_duplicate_name_is_rejected() {
    let two = zip(&[("a.obj", TRIANGLE.as_bytes()), ("b.obj", TRIANGLE.as_bytes())]);
    let same: Vec<u8> = {
        let mut bytes = two;
        while let Some(at) = bytes.windows(5).position(|w| w == b"b.obj") {
            bytes[at] = b'a';
        }
        bytes
    };
    assert_rejected("twice", &same, true, "2 entries are listed but only 1 differ in name");
}

#[test]
fn invalid_obj_files_are_rejected_with_their_line() {
    let with = |line: &str| zip(&[("a.obj", format!("v 0 0 0\nv 1 0 0\nv 0 1 0\n{line}\n").as_bytes())]);
    for (line, expected) in [
        ("f 1 2 4", "line 4 of the OBJ: a face refers to a vertex that does not exist"),
        ("f 0 1 2", "line 4 of the OBJ: a face refers to a vertex"),
        ("f 99999999999999999999 1 2", "line 4 of the OBJ: a face refers to a vertex"),
        ("f -9223372036854775808 1 2", "line 4 of the OBJ: a face refers to a vertex"),
        ("v 1e39 0 0", "line 4 of the OBJ: a number is not finite"),
        ("v nan 0 0", "line 4 of the OBJ: a number is not finite"),
        ("v 1 2", "line 4 of the OBJ: a vertex needs three numbers"),
        ("vn 1", "line 4 of the OBJ: a normal needs three numbers"),
        ("p 1 2 3", "the OBJ has no faces"),
        (&format!("o {}", "x".repeat(2000)), "line 4 of the OBJ: a name is longer than 1024 bytes"),
    ] {
        assert_rejected(line, &with(line), true, expected);
    }
    let noise: Vec<u8> = (0..5000_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    assert!(process_upload(&zip(&[("a.obj", &noise)]), true).is_err());
}

#[test]
fn invalid_and_too_large_textures_are_rejected_with_their_name() {
    let obj = format!("mtllib a.mtl\nusemtl m\n{TRIANGLE}");
    let with =
        |picture: &[u8]| zip(&[("a.obj", obj.as_bytes()), ("a.mtl", b"newmtl m\nmap_Kd t.png"), ("t.png", picture)]);
    assert_rejected("a cut header", &with(&png(1, 1, &[0; 4])[..20]), true, "the texture 't.png' cannot be used");
    let mut wide = png(1, 1, &[0; 4]);
    // The header of a JPEG with 65 500 × 65 500 pixels.
    assert_rejected(
        "a bomb",
        &with(b"\xFF\xD8\xFF\xC0\0\x11\x08\xFF\xDC\xFF\xDC\x03\x01\x11\0\x02\x11\0\x03\x11\0\xFF\xD9"),
        true,
        "the texture 't.png' cannot be used",
    );
    wide.truncate(40);
    assert_rejected("cut texels", &with(&wide), true, "cannot be");
}

#[test]
fn paths_outside_the_archive_are_missing_files() {
    let obj = format!("mtllib /etc/passwd\nmtllib ../../secret.mtl\nmtllib http://10.0.0.1/a.mtl\n{TRIANGLE}");
    let archive = zip_with_link(&[("a.obj", obj.as_bytes())], "secret.mtl", "/etc/passwd");
    let warnings = glb_from_zip(&archive, &Limits::default()).unwrap().warnings;
    assert_eq!(warnings.len(), 3, "{warnings:?}");
}

#[test]
fn large_polygons_take_bounded_time() {
    let ring = |corners: usize, faces: usize| {
        let mut obj = String::new();
        for i in 0..corners {
            // The polygon is a star: every second corner is concave.
            let (angle, radius) = (i as f32 / corners as f32 * std::f32::consts::TAU, 1.0 + (i % 2) as f32);
            writeln!(obj, "v {} {} 0", radius * angle.cos(), radius * angle.sin()).unwrap();
        }
        let face: String = (1..=corners).fold("f".to_owned(), |mut face, i| {
            write!(face, " {i}").unwrap();
            face
        });
        (0..faces).for_each(|_| writeln!(obj, "{face}").unwrap());
        zip(&[("a.obj", obj.as_bytes())])
    };
    assert_eq!(process_upload(&ring(60_000, 1), true), Ok(()));
    let many = ring(2000, 60);
    assert_eq!(process_upload(&many, true), Ok(()));
    let warnings = glb_from_zip(&many, &Limits::default()).unwrap().warnings;
    assert_eq!(warnings, ["35 polygons that are large or cross themselves are assumed to be convex"]);
}

#[test]
fn the_number_of_faces_is_limited() {
    let limits = Limits { decoded_bytes: 1 << 20, ..Limits::default() };
    let obj = format!("v 0 0 0\n{}", "f 1 1 1\n".repeat(100_000));
    let problem = glb_from_zip(&zip(&[("a.obj", obj.as_bytes())]), &limits).unwrap_err().to_string();
    assert!(problem.contains("bytes of decoded data"), "{problem}");
    let few = Limits { indices: 30, ..Limits::default() };
    let problem = glb_from_zip(&zip(&[("a.obj", obj.as_bytes())]), &few).unwrap_err().to_string();
    assert!(problem.contains("there are more than 10 triangles"), "{problem}");
    let line = format!("v 0 0 0\nf{}\n", " 1".repeat(1_000_001));
    assert_rejected("one face", &zip(&[("a.obj", line.as_bytes())]), true, "a face has more than 1000000 corners");
}

#[test]
fn thousands_of_entries_and_lookups_take_bounded_time() {
    let names: Vec<String> = (0..10_000).map(|i| format!("folder/{i}.png")).collect();
    let mtl: String = (0..20_000).fold("newmtl m\n".to_owned(), |mut mtl, i| {
        writeln!(mtl, "map_Kd a b c d e f g h {i}.jpg").unwrap();
        mtl
    });
    let obj = format!("mtllib a.mtl\nusemtl m\n{TRIANGLE}");
    let mut files: Vec<(&str, &[u8])> = vec![("a.obj", obj.as_bytes()), ("a.mtl", mtl.as_bytes())];
    files.extend(names.iter().map(|name| (name.as_str(), b"".as_slice())));
    assert_eq!(process_upload(&zip(&files), true), Ok(()));
}

#[test]
fn randomly_damaged_files_never_panic() {
    let glb = {
        let mut glb = textured();
        glb.attribute("NORMAL", &[[0.0_f32, 0.0, 1.0]; 3]);
        glb.indices(&[0_u16, 1, 2]);
        glb.json["animations"] = json!([{"samplers": [{"input": 0, "output": 0}], "channels": [{"sampler": 0, "target": {"node": 0, "path": "scale"}}]}]);
        glb.bytes()
    };
    let obj = format!("mtllib a.mtl\nusemtl m\n{TRIANGLE}");
    let archive =
        zip(&[("a.obj", obj.as_bytes()), ("a.mtl", b"newmtl m\nmap_Kd t.png\n"), ("t.png", &png(1, 1, &[9; 4]))]);
    let mut state = 1_u32;
    let mut random = |below: usize| {
        // A pseudorandom number generator (Marsaglia 2003, "Xorshift RNGs").
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state as usize % below
    };
    for _ in 0..4000 {
        let mut damaged = glb.clone();
        for _ in 0..=random(4) {
            let at = random(damaged.len());
            damaged[at] = random(256) as u8;
        }
        drop(load_glb(&damaged, &LoadOptions::default()));
        let mut damaged = archive.clone();
        let at = random(damaged.len());
        damaged[at] = random(256) as u8;
        drop(glb_from_zip(&damaged, &Limits::default()));
    }
}
