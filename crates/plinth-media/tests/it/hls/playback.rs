//! Tests that ffmpeg can play the master playlist.

use super::Packaged;
use crate::support::{decode, psnr};

/// Returns for each variant the smallest PSNR between one of its frames and the same frame of the source. The source is
/// scaled to the size of the variant.
fn likeness(packaged: &Packaged) -> Vec<(String, f64)> {
    let (long, short) = (packaged.size.0.max(packaged.size.1), packaged.size.0.min(packaged.size.1));
    // ffmpeg numbers the streams in the order of the playlist.
    let (variants, _) = super::reader::master(&packaged.text("master.m3u8"));
    variants
        .iter()
        .enumerate()
        .map(|(i, entry)| {
            let (width, height) = entry["RESOLUTION"].split_once('x').unwrap();
            let [width, height] = [width, height].map(|side| side.parse::<u32>().unwrap());
            // All variants have the aspect ratio of the video, except that their sides are rounded to even numbers.
            let shape = f64::from(width.max(height)) / f64::from(width.min(height));
            assert!((shape - f64::from(long) / f64::from(short)).abs() < 0.05, "{entry:?}");
            let shown = decode(
                &packaged.path("master.m3u8"),
                &["-map", &format!("0:v:{i}"), "-fps_mode", "passthrough", "-pix_fmt", "yuv420p"],
            );
            let scale = format!("scale={width}:{height}:flags=area");
            let source = decode(&packaged.source(), &["-vf", &scale, "-pix_fmt", "yuv420p"]);
            let frame_bytes = (width * height * 3 / 2) as usize;
            assert_eq!(shown.len(), frame_bytes * packaged.frames as usize, "{entry:?}");
            let frames = shown.chunks_exact(frame_bytes).zip(source.chunks_exact(frame_bytes));
            let least = frames.map(|(a, b)| psnr(a, b)).fold(f64::MAX, f64::min);
            (entry["RESOLUTION"].clone(), least)
        })
        .collect()
}

/// Asserts that each frame of each variant has at least this PSNR in dB, compared with the source.
pub(super) fn every_variant_plays_to_the_end_and_shows_the_frames_of_the_source(packaged: &Packaged, least_psnr: f64) {
    for (variant, least) in likeness(packaged) {
        assert!(least >= least_psnr, "{variant}: {least:.1} dB");
    }
}
