//! Tests of the thumbnail track and its sprite sheets.

use std::collections::BTreeMap;

use plinth_testkit::probe;

use super::reader::{Cue, cues};
use super::{Packaged, same_time};
use crate::support::{decode, psnr};

/// Returns the sprite sheets by file name, each as width, height and R, G, B bytes.
fn sheets(packaged: &Packaged) -> BTreeMap<String, (u32, u32, Vec<u8>)> {
    packaged
        .named("jpg")
        .into_iter()
        .map(|name| {
            let (stream, _) = probe(&packaged.path(name));
            let side = |key: &str| stream[key].as_u64().unwrap() as u32;
            let pixels = decode(&packaged.path(name), &["-pix_fmt", "rgb24"]);
            (name.clone(), (side("width"), side("height"), pixels))
        })
        .collect()
}

/// Returns the pixels of a cue's rectangle on a sprite sheet.
fn tile(cue: &Cue, (width, _, pixels): &(u32, u32, Vec<u8>)) -> Vec<u8> {
    let [x, y, columns, rows] = cue.rectangle;
    let row = |y: u32| &pixels[((y * width + x) * 3) as usize..][..(columns * 3) as usize];
    (y..y + rows).flat_map(row).copied().collect()
}

pub(super) fn cues_cover_the_video_and_their_tiles_lie_inside_of_the_sheets(packaged: &Packaged) {
    let (cues, sheets) = (cues(&packaged.text("thumbnails.vtt")), sheets(packaged));
    let mut end = 0.0;
    for cue in &cues {
        assert!(same_time(cue.begin, end) && cue.end > cue.begin, "{cue:?}");
        end = cue.end;
        let (width, height, _) = sheets[&cue.sprite];
        let [x, y, columns, rows] = cue.rectangle;
        assert!(x + columns <= width && y + rows <= height, "{cue:?}");
        assert!(width <= 4096 && height <= 4096);
    }
    assert!(same_time(end, packaged.secs()), "{end}");
    let mut places: Vec<_> = cues.iter().map(|cue| (&cue.sprite, cue.rectangle)).collect();
    places.sort();
    places.dedup();
    assert_eq!(places.len(), cues.len(), "tiles overlap");
}

pub(super) fn a_tile_shows_the_frame_at_the_middle_of_its_cue(packaged: &Packaged) {
    let (cues, sheets) = (cues(&packaged.text("thumbnails.vtt")), sheets(packaged));
    let [_, _, width, height] = cues[0].rectangle;
    let filter = format!("scale={width}:{height}:flags=area+accurate_rnd+full_chroma_int+full_chroma_inp,format=rgb24");
    let source = decode(&packaged.source(), &["-vf", &filter]);
    let frames: Vec<&[u8]> = source.chunks_exact((width * height * 3) as usize).collect();
    for cue in &cues {
        let shown = tile(cue, &sheets[&cue.sprite]);
        let middle = (f64::midpoint(cue.begin, cue.end) * 30.0 + 1e-3) as usize;
        let likeness: Vec<f64> = frames.iter().map(|frame| psnr(frame, &shown)).collect();
        assert!(likeness[middle] >= 30.0, "{cue:?}: {:.1} dB", likeness[middle]);
        let best = (0..frames.len()).max_by(|a, b| likeness[*a].total_cmp(&likeness[*b])).unwrap();
        assert!(best.abs_diff(middle) <= 1, "{cue:?} shows frame {best} instead of {middle}");
    }
}
