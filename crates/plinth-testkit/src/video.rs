//! Reads videos with ffprobe.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::tools::ffprobe;

/// Returns two objects that ffprobe prints: the description of the file's only stream, including its number of frames,
/// and the description of the file.
pub fn probe(file: &Path) -> (Value, Value) {
    let out = Command::new(ffprobe())
        .args(["-v", "error", "-count_frames", "-show_streams", "-show_format", "-of", "json"])
        .arg(file)
        .output()
        .expect("ffprobe starts");
    let all: Value = serde_json::from_slice(&out.stdout).expect("JSON of ffprobe");
    assert_eq!(all["streams"].as_array().map(Vec::len), Some(1), "one stream, no sound: {all}");
    (all["streams"][0].clone(), all["format"].clone())
}

/// Asserts that a stream is progressive H.264 High, 4:2:0, BT.709 in limited range, with 30 frames per second, and that
/// its metadata contains these properties.
pub fn assert_h264(stream: &Value) {
    for (key, value) in [
        ("codec_name", "h264"),
        ("profile", "High"),
        ("pix_fmt", "yuv420p"),
        ("color_range", "tv"),
        ("color_space", "bt709"),
        ("color_primaries", "bt709"),
        ("color_transfer", "bt709"),
        ("field_order", "progressive"),
        ("avg_frame_rate", "30/1"),
    ] {
        assert_eq!(stream[key], value, "{key} of {stream}");
    }
}
