//! Tests of the GLB container.

use plinth_model::{LoadOptions, load_glb};

use crate::glb::{Glb, file};

fn load_error(bytes: &[u8]) -> String {
    load_glb(bytes, &LoadOptions::default()).unwrap_err().to_string()
}

#[test]
fn an_invalid_header_is_rejected_with_its_problem() {
    let good = Glb::triangle().bytes();
    let with = |at: usize, word: u32| {
        let mut bent = good.clone();
        bent[at..at + 4].copy_from_slice(&word.to_le_bytes());
        load_error(&bent)
    };
    assert!(load_error(b"").contains("the file is empty"));
    assert!(load_error(b"glTF\x02\0\0\0").contains("ends inside its header"));
    assert!(load_error(b"PK\x03\x04....").contains("ZIP archive"));
    assert!(load_error(b"\n {\"asset\": {}}").contains("this is JSON, as in a .gltf; pack it"));
    assert!(with(0, 0).contains("first four bytes"));
    assert!(with(4, 1).contains("container version 1"));
    assert!(with(8, u32::MAX).contains("cut off"));
    assert!(with(12, u32::MAX).contains("a chunk is longer than the file"));
    assert!(with(16, 0x004E_4942).contains("the first chunk is not JSON"));
}

#[test]
fn every_truncated_file_is_rejected() {
    let good = Glb::triangle().bytes();
    for length in 0..good.len() {
        assert!(load_glb(&good[..length], &LoadOptions::default()).is_err(), "{length}");
    }
}

#[test]
fn bytes_after_the_declared_length_are_ignored() {
    let mut long = Glb::triangle().bytes();
    long.extend([0xAB; 100]);
    assert!(load_glb(&long, &LoadOptions::default()).is_ok());
}

#[test]
fn json_that_is_not_a_gltf_document_is_rejected() {
    for (json, problem) in [
        (b"".as_slice(), "there is no JSON chunk"),
        (b"[]", "the document is not an object"),
        (b"{\"asset\": ", "EOF"),
        (b"\xFF\xFE{\0}\0", "the document is not an object"),
        (b"{\"meshes\": \"many\"}", "expected a sequence"),
        (b"{}", "no asset object"),
        (b"{\"asset\": {\"version\": \"3.0\"}}", "version '3.0'"),
        (b"{\"asset\": {\"version\": \"2.0\"}, \"extensionsRequired\": [\"ACME_x\"]}", "extension ACME_x"),
    ] {
        assert!(load_error(&file(json, b"")).contains(problem), "{problem}: {}", load_error(&file(json, b"")));
    }
    let deep = format!("{{\"a\": {}", "[".repeat(100_000));
    assert!(load_error(&file(deep.as_bytes(), b"")).contains("the glTF JSON is broken"));
}

#[test]
fn an_unknown_extension_that_is_not_required_is_ignored() {
    let mut glb = Glb::triangle();
    glb.json["extensionsUsed"] = serde_json::json!(["ACME_x"]);
    glb.json["extensions"] = serde_json::json!({"ACME_x": {"anything": [1, "two"]}});
    assert_eq!(glb.load().meshes.len(), 1);
}
