//! Tests that all outputs of free renders have the watermark, and that paid renders have none.

use std::path::Path;

use plinth_media::Watermark;
use plinth_spec::OutputFile;
use plinth_spec::quality::Codec;

use crate::support::{Plan, ball, decode, only_posters, plan, png, rgb, straight, write};

const SIZE: (u32, u32) = (640, 360);
const OUTPUTS: [&str; 5] = ["out.mp4", "out.web.mp4", "out.thumb.mp4", "out.poster.png", "out.small.png"];

/// Returns the R, G, B bytes of the first frame.
fn first(file: &Path) -> Vec<u8> {
    if file.extension().is_some_and(|e| e == "png") { png(file).2 } else { rgb(file) }
}

fn written(codec: Codec, change: impl Fn(&mut Plan)) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut plan = plan(folder.path(), SIZE, codec, 1);
    change(&mut plan);
    match codec {
        Codec::H264 => write(plan, |i| ball(SIZE, i, [90; 3])).unwrap(),
        Codec::ProRes4444 => {
            write(plan, |i| straight(SIZE, i, |x, _| [0.2, 0.4, 0.8, if x < 320 { 1.0 } else { 0.0 }])).unwrap()
        }
    };
    folder
}

#[test]
fn the_watermark_covers_every_output() {
    for codec in [Codec::H264, Codec::ProRes4444] {
        let (plain, marked) = (written(codec, |_| ()), written(codec, |plan| plan.media.watermark = true));
        for name in OUTPUTS.into_iter().skip(usize::from(codec == Codec::ProRes4444)) {
            let [plain, marked] = [&plain, &marked].map(|folder| first(&folder.path().join(name)));
            assert_eq!(plain.len(), marked.len());
            // The picture is divided into six equal bands of rows.
            let part = plain.len() / 6;
            for (i, (plain, marked)) in plain.chunks(part).zip(marked.chunks(part)).enumerate() {
                let changed = plain.iter().zip(marked).filter(|(a, b)| a.abs_diff(**b) > 20).count();
                assert!(changed > part / 60, "{codec:?} {name}, part {i}: {changed} of {part} bytes");
            }
        }
    }
}

#[test]
fn a_poster_has_exactly_the_watermarks_pixels() {
    let poster = |watermark| {
        written(Codec::H264, |plan| {
            plan.media.watermark = watermark;
            plan.media.files.retain(|file, _path| *file == OutputFile::FullPoster);
        })
    };
    let (plain, marked) = (poster(false), poster(true));
    let [mut plain, marked] = [plain, marked].map(|folder| png(&folder.path().join("out.poster.png")).2);
    Watermark::new(SIZE.0, SIZE.1).mark_rgb(plain.as_chunks_mut::<3>().0);
    assert!(plain == marked);
}

#[test]
fn a_moving_region_is_marked_only_once() {
    let folder = tempfile::tempdir().unwrap();
    let mut plan = only_posters(plan(folder.path(), SIZE, Codec::H264, 3));
    (plan.media.watermark, plan.frames.poster_frame) = (true, 2);
    let frame = |i| {
        let mut frame = ball(SIZE, i, [90; 3]);
        frame.pixels.as_chunks_mut::<4>().0.fill([200, 200, 200, 255]);
        frame.region.x = 10 * (i / 2);
        frame
    };
    write(plan, frame).unwrap();
    let last = frame(2).region;
    let mut expected = Vec::new();
    for y in 0..SIZE.1 {
        for x in 0..SIZE.0 {
            let is_inside = (last.x..last.x + last.width).contains(&x) && (last.y..last.y + last.height).contains(&y);
            expected.push(if is_inside { [200; 3] } else { [90; 3] });
        }
    }
    Watermark::new(SIZE.0, SIZE.1).mark_rgb(&mut expected);
    assert!(png(&folder.path().join("out.poster.png")).2 == expected.as_flattened());
}

#[test]
fn the_watermark_increases_alpha_in_prores() {
    let marked = written(Codec::ProRes4444, |plan| {
        plan.media.watermark = true;
        plan.media.files.retain(|file, _path| *file == OutputFile::Video);
    });
    let filter = "scale=flags=accurate_rnd+full_chroma_int+full_chroma_inp,format=rgba";
    let shown = decode(&marked.path().join("out.mov"), &["-vf", filter, "-frames:v", "1"]);
    let mut expected: Vec<[u8; 4]> =
        (0..SIZE.0 * SIZE.1).map(|i| if i % SIZE.0 < 320 { [51, 102, 204, 255] } else { [0; 4] }).collect();
    Watermark::new(SIZE.0, SIZE.1).mark_rgba(&mut expected);
    let mut marked_nothing = 0;
    for (shown, expected) in shown.as_chunks::<4>().0.iter().zip(&expected) {
        assert!(shown[3].abs_diff(expected[3]) <= 1, "alpha {} instead of {}", shown[3], expected[3]);
        marked_nothing += usize::from((40..=80).contains(&shown[3]));
    }
    assert!(marked_nothing > 2000, "{marked_nothing} pixels");
}
