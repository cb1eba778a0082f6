//! Tests of the files that each video quality produces.

use std::collections::BTreeMap;
use std::path::Path;

use plinth_spec::quality::{Aspect, Codec, Quality};
use plinth_testkit::probe;

use crate::support::{ball, decode, names, only_posters, packets, plan, png, straight, write};

/// Number of frames of a video whose length does not matter. The first frame is encoded without a reference to other
/// frames, and the second is predicted.
const FRAMES: u32 = 2;

/// Returns the types and the offsets of the top-level boxes of an MP4 or MOV file.
fn boxes(file: &Path) -> Vec<String> {
    let bytes = std::fs::read(file).unwrap();
    let (mut at, mut kinds) = (0, Vec::new());
    while at + 8 <= bytes.len() {
        let size = u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
        let long = || u64::from_be_bytes(bytes[at + 8..at + 16].try_into().unwrap()) as usize;
        kinds.push(String::from_utf8_lossy(&bytes[at + 4..at + 8]).into_owned());
        at += if size == 1 { long() } else { size };
    }
    assert_eq!(at, bytes.len(), "{kinds:?}");
    kinds
}

fn index_comes_first(file: &Path) -> bool {
    let kinds = boxes(file);
    let at = |kind: &str| kinds.iter().position(|k| k == kind).unwrap();
    at("moov") < at("mdat")
}

pub(crate) fn assert_h264(file: &Path, (width, height): (u32, u32), frames: u32) {
    let (stream, format) = probe(file);
    let count = frames.to_string();
    for (key, value) in [
        ("codec_name", "h264"),
        ("codec_tag_string", "avc1"),
        ("profile", "High"),
        ("pix_fmt", "yuv420p"),
        ("field_order", "progressive"),
        ("color_range", "tv"),
        ("color_space", "bt709"),
        ("color_primaries", "bt709"),
        ("color_transfer", "bt709"),
        ("chroma_location", "center"),
        ("r_frame_rate", "30/1"),
        ("avg_frame_rate", "30/1"),
        ("nb_frames", &count),
        ("nb_read_frames", &count),
        ("start_time", "0.000000"),
    ] {
        assert_eq!(stream[key], value, "{key} of {}", file.display());
    }
    assert_eq!((&stream["width"], &stream["height"]), (&width.into(), &height.into()), "{}", file.display());
    let square = stream.get("sample_aspect_ratio").is_none_or(|ratio| ratio == "1:1");
    assert!(square, "pixels of {} are not square", file.display());
    let secs: f64 = format["duration"].as_str().unwrap().parse().unwrap();
    assert!((secs - f64::from(frames) / 30.0).abs() < 0.002, "{secs} s");
    let bytes = std::fs::read(file).unwrap();
    assert!(bytes.windows(8).any(|w| w == b"colrnclx"), "no colour box in {}", file.display());
    assert!(index_comes_first(file), "{}: {:?}", file.display(), boxes(file));
}

/// Scales a size down so that its longer side is at most 1920. The sizes of all video qualities can be scaled without
/// rounding.
fn at_most_1920((width, height): (u32, u32)) -> (u32, u32) {
    let long = width.max(height);
    if long > 1920 { (width * 1920 / long, height * 1920 / long) } else { (width, height) }
}

fn assert_tier_is_high_profile_bt709_with_the_index_first(quality: Quality) {
    for &aspect in Aspect::ALL {
        let folder = tempfile::tempdir().unwrap();
        let size = quality.size(aspect);
        let plan = plan(folder.path(), size, Codec::H264, FRAMES);
        let report = write(plan, |i| ball(size, i, [40, 90, 160])).unwrap();
        let out = |name: &str| folder.path().join(name);
        let thumb = ((size.0 / 4).next_multiple_of(2), (size.1 / 4).next_multiple_of(2));
        let mut sizes =
            BTreeMap::from([("out.mp4", size), ("out.web.mp4", at_most_1920(size)), ("out.thumb.mp4", thumb)]);
        for (name, size) in &sizes {
            assert_h264(&out(name), *size, FRAMES);
        }
        let [full, small] = ["out.poster.png", "out.small.png"].map(|name| png(&out(name)));
        let (full, small) = ((full.0, full.1), (small.0, small.1));
        assert_eq!(full, size);
        assert_eq!((small.0.max(small.1), small.0 * size.1), (480, small.1 * size.0), "{quality:?} {aspect:?}");
        sizes.extend([("out.poster.png", full), ("out.small.png", small)]);
        let report = report.files.iter().map(|file| {
            assert_eq!(file.bytes, std::fs::metadata(&file.path).unwrap().len());
            (file.path.file_name().unwrap().to_str().unwrap(), (file.width, file.height))
        });
        assert_eq!(report.collect::<BTreeMap<_, _>>(), sizes);
        assert_eq!(names(folder.path()).len(), 5);
    }
}

#[test]
fn share_is_high_profile_bt709_with_the_index_first_in_every_aspect() {
    assert_tier_is_high_profile_bt709_with_the_index_first(Quality::Share);
}

#[test]
fn standard_is_high_profile_bt709_with_the_index_first_in_every_aspect() {
    assert_tier_is_high_profile_bt709_with_the_index_first(Quality::Standard);
}

#[test]
fn four_k_is_high_profile_bt709_with_the_index_first_in_every_aspect() {
    assert_tier_is_high_profile_bt709_with_the_index_first(Quality::FourK);
}

#[test]
fn every_second_begins_with_a_key_frame() {
    let folder = tempfile::tempdir().unwrap();
    let size = (320, 180);
    write(plan(folder.path(), size, Codec::H264, 61), |i| ball(size, i, [200; 3])).unwrap();
    let packets = packets(&folder.path().join("out.mp4"));
    assert_eq!(packets.len(), 61);
    let keys: Vec<f64> = packets.iter().filter(|packet| packet.is_key).map(|packet| packet.shown_secs).collect();
    let secs = keys.iter().map(|at| at - keys[0]).collect::<Vec<_>>();
    assert_eq!(secs, [0.0, 1.0, 2.0]);
}

#[test]
fn pro_is_prores_4444_with_alpha_in_every_aspect() {
    for &aspect in Aspect::ALL {
        let folder = tempfile::tempdir().unwrap();
        let size = Quality::Pro.size(aspect);
        let report = write(plan(folder.path(), size, Codec::ProRes4444, 1), |i| {
            straight(size, i, |x, _| [0.5, 0.2, 0.1, if x < size.0 / 2 { 1.0 } else { 0.0 }])
        })
        .unwrap();
        let video = folder.path().join("out.mov");
        let (stream, _) = probe(&video);
        for (key, value) in [
            ("codec_name", "prores"),
            ("codec_tag_string", "ap4h"),
            ("profile", "4444"),
            ("field_order", "progressive"),
            ("color_space", "bt709"),
            ("color_primaries", "bt709"),
            ("color_transfer", "bt709"),
            ("r_frame_rate", "30/1"),
            ("nb_read_frames", "1"),
        ] {
            assert_eq!(stream[key], value, "{key}");
        }
        // MOV does not store the colour range. ffprobe 5.1 prints a default value for it, and ffprobe 7.1 prints
        // nothing.
        assert!(stream["color_range"].is_null() || stream["color_range"] == "tv", "{stream}");
        assert!(stream["pix_fmt"].as_str().unwrap().starts_with("yuva444p"), "{stream}");
        assert_eq!((&stream["width"], &stream["height"]), (&size.0.into(), &size.1.into()));
        assert!(std::fs::read(&video).unwrap().windows(8).any(|w| w == b"colrnclc"), "no colour atom");
        assert_h264(&folder.path().join("out.web.mp4"), at_most_1920(size), 1);
        assert_h264(&folder.path().join("out.thumb.mp4"), (size.0 / 4, size.1 / 4), 1);
        assert_eq!(report.files.len(), 5);
    }
}

#[test]
fn the_poster_shows_the_poster_frame() {
    let folder = tempfile::tempdir().unwrap();
    let size = (320, 180);
    let mut plan = only_posters(plan(folder.path(), size, Codec::H264, 4));
    plan.frames.poster_frame = 3;
    write(plan, |i| ball(size, i, [10 * i as u8, 0, 0])).unwrap();
    let (_, _, pixels) = png(&folder.path().join("out.poster.png"));
    assert_eq!(pixels[..3], [30, 0, 0]);
}

#[test]
fn a_moving_region_leaves_no_traces() {
    let folder = tempfile::tempdir().unwrap();
    let size = (320, 180);
    let mut plan = only_posters(plan(folder.path(), size, Codec::H264, 2));
    plan.frames.poster_frame = 1;
    write(plan, |i| {
        let mut frame = ball(size, i, [0; 3]);
        frame.pixels.fill(255);
        frame.region.x = 160 * i;
        frame
    })
    .unwrap();
    let (_, _, pixels) = png(&folder.path().join("out.poster.png"));
    let at = |x: usize, y: usize| pixels[(y * 320 + x) * 3];
    assert_eq!((at(20, 90), at(300, 90)), (0, 255));
}

#[test]
fn the_web_video_of_a_small_video_is_a_copy() {
    let folder = tempfile::tempdir().unwrap();
    let size = (960, 540);
    write(plan(folder.path(), size, Codec::H264, 3), |i| ball(size, i, [90; 3])).unwrap();
    let read = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    assert_eq!(read("out.mp4"), read("out.web.mp4"));
}

#[test]
fn the_thumbnail_is_a_smaller_picture_of_the_video() {
    let folder = tempfile::tempdir().unwrap();
    let size = (640, 360);
    write(plan(folder.path(), size, Codec::H264, 1), |i| ball(size, i, [90; 3])).unwrap();
    let small = decode(&folder.path().join("out.mp4"), &["-vf", "scale=160:90:flags=area", "-pix_fmt", "gray"]);
    let thumb = decode(&folder.path().join("out.thumb.mp4"), &["-pix_fmt", "gray"]);
    assert_eq!(small.len(), thumb.len());
    let apart: f64 = small.iter().zip(&thumb).map(|(a, b)| f64::from(a.abs_diff(*b))).sum::<f64>() / small.len() as f64;
    assert!(apart < 3.0, "{apart} levels apart");
}
