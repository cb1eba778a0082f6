//! Tests for every quality that the number of threads does not change the frames.

use crate::{Place, glb, program, text};

/// Returns the hash over the frames of a short render.
fn frame_hash(place: &Place, tier: &str, length: &str, threads: &str) -> String {
    let out = place.file(if tier == "pro" { "out.mov" } else { "out.mp4" });
    let done = program()
        .args(["render", &place.file("three.glb"), "-o", &out, "--quality", tier, "--length", length])
        // The large angle makes the two frames show different sides of the model.
        .args(["--sweep-angle", "180", "--easing", "false", "--hash", "--json"])
        .env("LP_NUM_THREADS", threads)
        .env("RAYON_NUM_THREADS", threads)
        .output()
        .unwrap();
    assert!(done.status.success(), "{tier}: {}", text(&done.stderr));
    let manifest: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    manifest["frameHash"].as_str().unwrap().to_owned()
}

fn assert_repeats(tier: &str, length: &str) {
    let place = Place::new();
    std::fs::write(place.file("three.glb"), glb::three_cubes()).unwrap();
    let first = frame_hash(&place, tier, length, "1");
    assert_eq!(first.len(), 64);
    for threads in ["2", "3"] {
        assert_eq!(first, frame_hash(&place, tier, length, threads), "{tier} with {threads} threads");
    }
}

#[test]
fn share_gives_the_same_frames_on_any_number_of_threads() {
    assert_repeats("share", "0.1");
}

#[test]
fn standard_gives_the_same_frames_on_any_number_of_threads() {
    assert_repeats("standard", "0.067");
}

#[test]
fn four_k_gives_the_same_frames_on_any_number_of_threads() {
    assert_repeats("4k", "0.03");
}

#[test]
fn pro_gives_the_same_frames_on_any_number_of_threads() {
    assert_repeats("pro", "0.03");
}
