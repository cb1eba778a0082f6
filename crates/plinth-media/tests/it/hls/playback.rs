//! Tests that ffmpeg can play the master playlist.

use super::Packaged;
use crate::support::{decode, psnr};

/// Returns for each variant the smallest PSNR between its frames and the frames of the source. The source is scaled to
/// the size of the variant.
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
            // All variants have the same aspect ratio as the video, apart from rounding to even sides.
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

#[test]
fn every_variant_plays_to_the_end_and_shows_the_frames_of_the_source() {
    for (size, frames) in [((640, 360), 75), ((360, 640), 61), ((540, 540), 60), ((320, 180), 1)] {
        for (variant, least) in likeness(&Packaged::new(size, frames)) {
            assert!(least >= 32.0, "{variant} of {size:?}: {least:.1} dB");
        }
    }
}

#[test]
fn two_minutes_play_to_the_end() {
    let packaged = Packaged::new((64, 36), 3600);
    assert_eq!(packaged.named("m4s").len(), 2 * 60);
    assert_eq!(packaged.named("jpg").len(), 2);
    for (variant, least) in likeness(&packaged) {
        assert!(least >= 25.0, "{variant}: {least:.1} dB");
    }
}

#[test]
fn the_same_video_gives_the_same_files() {
    let [first, second] = [(); 2].map(|()| Packaged::new((320, 180), 40));
    assert_eq!(first.files, second.files);
    for name in &first.files {
        assert!(first.bytes(name) == second.bytes(name), "{name}");
    }
}
