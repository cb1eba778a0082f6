//! Tests that ProRes preserves straight alpha.

use std::path::Path;

use plinth_spec::OutputFile;
use plinth_spec::quality::Codec;

use crate::support::{decode, plan, straight, write};

/// Returns the R, G, B, A values of the first frame, in 0..=1.
fn rgba(file: &Path) -> Vec<[f32; 4]> {
    let filter = "scale=flags=accurate_rnd+full_chroma_int+full_chroma_inp,format=rgba64le";
    decode(file, &["-vf", filter, "-frames:v", "1"])
        .as_chunks::<8>()
        .0
        .iter()
        .map(|p| [0, 2, 4, 6].map(|i| f32::from(u16::from_le_bytes([p[i], p[i + 1]])) / 65_535.0))
        .collect()
}

fn written(folder: &Path, size: (u32, u32), pixel: impl Fn(u32, u32) -> [f32; 4]) -> Vec<[f32; 4]> {
    let mut plan = plan(folder, size, Codec::ProRes4444, 1);
    plan.media.files.retain(|file, _path| *file == OutputFile::Video);
    write(plan, |i| straight(size, i, &pixel)).unwrap();
    rgba(&folder.join("out.mov"))
}

/// Returns for each component the largest difference from the expected values, in units of 1/255. Pixels for which
/// `should` returns `None` are ignored.
fn worst(is: &[[f32; 4]], width: u32, should: impl Fn(u32, u32) -> Option<[f32; 4]>) -> [f32; 4] {
    let mut worst = [0_f32; 4];
    for (i, pixel) in is.iter().enumerate() {
        let Some(should) = should(i as u32 % width, i as u32 / width) else { continue };
        for c in 0..4 {
            worst[c] = worst[c].max((pixel[c] - should[c]).abs() * 255.0);
        }
    }
    worst
}

#[test]
fn alpha_is_within_1_of_255_for_every_level() {
    let folder = tempfile::tempdir().unwrap();
    let size = (512, 128);
    let ramp = |x: u32, _: u32| [0.8, 0.4, 0.2, x as f32 / 511.0];
    let apart = worst(&written(folder.path(), size, ramp), size.0, |x, y| Some(ramp(x, y)));
    assert!(apart[3] <= 1.0, "alpha {apart:?} levels apart");
}

#[test]
fn colour_under_partial_alpha_is_not_darkened() {
    let folder = tempfile::tempdir().unwrap();
    let size = (512, 128);
    let ramp = |x: u32, _: u32| [0.8, 0.4, 0.2, (x / 32) as f32 / 15.0];
    // Fully transparent pixels may have any colour, so they are ignored.
    let apart = worst(&written(folder.path(), size, ramp), size.0, |x, y| (x >= 32).then(|| ramp(x, y)));
    assert!(apart[..3].iter().all(|c| *c <= 1.5), "colour {apart:?} levels apart");
}

#[test]
fn a_hard_edge_keeps_its_position_and_colour() {
    let folder = tempfile::tempdir().unwrap();
    let size = (256, 128);
    // The frame has colour 0 where alpha is 0, like the frames of the renderer. The edge crosses a block of the codec.
    let edge = |x: u32, y: u32| match x + y / 16 {
        0..100 => [0.9, 0.1, 0.3, 1.0],
        100 => [0.9, 0.1, 0.3, 0.5],
        _ => [0.0; 4],
    };
    let shown = written(folder.path(), size, edge);
    let apart = worst(&shown, size.0, |x, y| Some(edge(x, y)).filter(|p| p[3] > 0.0));
    assert!(apart[3] <= 1.0, "alpha {apart:?} levels apart");
    assert!(apart[..3].iter().all(|c| *c <= 2.0), "colour {apart:?} levels apart");
    let outside = worst(&shown, size.0, |x, y| Some(edge(x, y)).filter(|p| p[3] == 0.0));
    assert!(outside[3] <= 0.0, "alpha outside is {}", outside[3]);
}

#[test]
fn the_picture_is_correct_over_any_colour() {
    let folder = tempfile::tempdir().unwrap();
    let size = (256, 256);
    // A disc with a soft edge, a varying colour and straight alpha. The frame is black where alpha is 0.
    let disc = |x: u32, y: u32| {
        let radius = ((x as f32 - 127.5).powi(2) + (y as f32 - 127.5).powi(2)).sqrt();
        let alpha = ((100.0 - radius) / 6.0).clamp(0.0, 1.0);
        if alpha == 0.0 { [0.0; 4] } else { [x as f32 / 255.0, 0.5, y as f32 / 255.0, alpha] }
    };
    let over = |p: [f32; 4], below: f32| [0, 1, 2].map(|c| p[c] * p[3] + below * (1.0 - p[3]));
    let shown = written(folder.path(), size, disc);
    for below in [0.0, 1.0] {
        let mut apart = 0_f32;
        for (i, pixel) in shown.iter().enumerate() {
            let (is, should) = (over(*pixel, below), over(disc(i as u32 % 256, i as u32 / 256), below));
            apart = (0..3).map(|c| (is[c] - should[c]).abs() * 255.0).fold(apart, f32::max);
        }
        assert!(apart <= 2.0, "over {below}: {apart} levels apart");
    }
}
