//! Tests that write synthetic frames to files, and read the files with ffmpeg and ffprobe.
#![expect(clippy::unwrap_used, reason = "tests")]
#![expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "sizes and colours of tests are small")]

mod alpha;
mod colour;
mod encoders;
mod failure;
mod files;
mod hls;
mod support;
mod watermark;
