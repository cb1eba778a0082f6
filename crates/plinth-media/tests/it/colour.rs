//! Tests that encoding preserves colours.

use plinth_frame::{Backdrop, Frame, PixelFormat, Region};
use plinth_spec::quality::Codec;

use crate::support::{ball, only_posters, plan, png, rgb, straight, write};

/// Saturated, dark, light and grey colours. Their values are close to the limits of limited-range 4:2:0.
const HARD: [[u8; 3]; 16] = [
    [255, 0, 0],
    [0, 255, 0],
    [0, 0, 255],
    [255, 255, 0],
    [0, 255, 255],
    [255, 0, 255],
    [0, 0, 0],
    [255, 255, 255],
    [1, 2, 3],
    [252, 253, 254],
    [127, 127, 127],
    [128, 128, 128],
    [64, 64, 64],
    [200, 60, 240],
    [32, 36, 40],
    [245, 240, 232],
];

/// Number of frames of each colour. The first is encoded without a reference to other frames, and the others are
/// predicted.
const FRAMES_PER_COLOR: u32 = 3;

/// Returns the largest difference between a colour and any of the first `checked` pixels of each frame.
fn worst(pixels: &[u8], frame_pixels: usize, checked: usize, color: [u8; 3]) -> u8 {
    pixels
        .chunks_exact(frame_pixels * 3)
        .flat_map(|frame| frame[..checked * 3].as_chunks::<3>().0)
        .flat_map(|pixel| [0, 1, 2].map(|c| pixel[c].abs_diff(color[c])))
        .max()
        .unwrap()
}

#[test]
fn a_solid_background_is_within_2_of_255_in_video_web_and_thumbnail_and_exact_in_posters() {
    // The width exceeds the maximum of web videos, so all three videos are encoded separately. A small height is
    // sufficient.
    let size = (2048, 256);
    let folder = tempfile::tempdir().unwrap();
    // All colours are in one video, one after another.
    let video = plan(folder.path(), size, Codec::H264, FRAMES_PER_COLOR * HARD.len() as u32);
    write(video, |i| ball(size, i, HARD[(i / FRAMES_PER_COLOR) as usize])).unwrap();
    let mut wrong = Vec::new();
    for (name, width, height) in [("out.mp4", 2048, 256), ("out.web.mp4", 1920, 240), ("out.thumb.mp4", 512, 64)] {
        let shown = rgb(&folder.path().join(name));
        assert_eq!(shown.len() % (width * height * 3 * HARD.len()), 0, "{name}");
        for (frames, color) in shown.chunks_exact(shown.len() / HARD.len()).zip(HARD) {
            let apart = worst(frames, width * height, width * height / 5, color);
            if apart > 2 {
                wrong.push(format!("{color:?} in {name}: {apart} levels apart"));
            }
        }
    }
    for color in HARD {
        write(only_posters(plan(folder.path(), size, Codec::H264, 1)), |i| ball(size, i, color)).unwrap();
        for name in ["out.poster.png", "out.small.png"] {
            let (_, _, pixels) = png(&folder.path().join(name));
            assert_eq!(pixels[..3], color, "{name}");
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn colours_inside_of_the_region_are_preserved() {
    // The region consists of patches that have one colour each.
    let (width, height) = (1024_u32, 64_u32);
    let patch = |x: u32| HARD[(x / 64) as usize];
    let pixels: Vec<u8> =
        (0..height).flat_map(|_| (0..width).flat_map(|x| patch(x).into_iter().chain([255]))).collect();
    let folder = tempfile::tempdir().unwrap();
    write(plan(folder.path(), (width, height), Codec::H264, 3), |index| Frame {
        index,
        width,
        height,
        region: Region::whole(width, height),
        backdrop: Backdrop::Solid([255; 3]),
        format: PixelFormat::Rgba8,
        pixels: pixels.clone(),
    })
    .unwrap();
    let shown = rgb(&folder.path().join("out.mp4"));
    for (i, color) in HARD.iter().enumerate() {
        let at = (32 * width as usize + i * 64 + 32) * 3;
        let apart = (0..3).map(|c| shown[at + c].abs_diff(color[c])).max().unwrap();
        assert!(apart <= 3, "{color:?} became {:?}", &shown[at..at + 3]);
    }
}

#[test]
fn transparent_frames_are_composited_over_the_background_except_in_prores() {
    let size = (640, 360);
    let folder = tempfile::tempdir().unwrap();
    let mut plan = plan(folder.path(), size, Codec::ProRes4444, 2);
    plan.frames.background = Backdrop::Solid([200, 60, 240]);
    // The right half is white with opacity 0.5, and the left half is transparent.
    write(plan, |i| straight(size, i, |x, _| [1.0, 1.0, 1.0, if x < 320 { 0.0 } else { 0.5 }])).unwrap();
    let (_, _, poster) = png(&folder.path().join("out.poster.png"));
    assert_eq!(poster[..3], [200, 60, 240]);
    assert_eq!(poster[(639 * 3)..][..3], [228, 158, 248]);
    for (name, width) in [("out.web.mp4", 640), ("out.thumb.mp4", 160)] {
        let shown = rgb(&folder.path().join(name));
        for (at, color) in [(width / 4, [200_u8, 60, 240]), (width - width / 4, [228, 158, 248])] {
            let apart = (0..3).map(|c| shown[at * 3 + c].abs_diff(color[c])).max().unwrap();
            assert!(apart <= 2, "{name}: {:?} instead of {color:?}", &shown[at * 3..at * 3 + 3]);
        }
    }
}

#[test]
fn a_background_picture_surrounds_the_region_and_is_behind_transparent_frames() {
    let (width, height) = (64_u32, 32_u32);
    let color = |x: u32, y: u32| [(x * 3) as u8, (y * 7) as u8, 90, 255];
    let pixels: Vec<u8> = (0..height).flat_map(|y| (0..width).flat_map(move |x| color(x, y))).collect();
    let around = Backdrop::Picture(std::sync::Arc::new(pixels));
    let folder = tempfile::tempdir().unwrap();
    let mut opaque = only_posters(plan(folder.path(), (width, height), Codec::H264, 1));
    opaque.frames.background = around.clone();
    let region = Region { x: 16, y: 8, width: 8, height: 4 };
    write(opaque, |index| Frame {
        index,
        width,
        height,
        region,
        backdrop: around.clone(),
        format: PixelFormat::Rgba8,
        pixels: [1, 2, 3, 255].repeat(32),
    })
    .unwrap();
    let (_, _, poster) = png(&folder.path().join("out.poster.png"));
    let at = |poster: &[u8], x: u32, y: u32| poster[((y * width + x) * 3) as usize..][..3].to_vec();
    assert_eq!((at(&poster, 50, 20), at(&poster, 17, 9)), (color(50, 20)[..3].to_vec(), vec![1, 2, 3]));
    let mut transparent = only_posters(plan(folder.path(), (width, height), Codec::ProRes4444, 1));
    transparent.frames.background = around;
    write(transparent, |i| straight((width, height), i, |x, _| [1.0, 1.0, 1.0, if x < 32 { 0.0 } else { 1.0 }]))
        .unwrap();
    let (_, _, poster) = png(&folder.path().join("out.poster.png"));
    assert_eq!((at(&poster, 20, 20), at(&poster, 40, 20)), (color(20, 20)[..3].to_vec(), vec![255; 3]));
}

#[test]
fn a_background_of_another_size_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    for wrong in [Backdrop::Transparent, Backdrop::Picture(std::sync::Arc::new(vec![0; 12]))] {
        let mut plan = plan(folder.path(), (64, 32), Codec::H264, 1);
        plan.frames.background = wrong;
        let told = write(plan, |_| unreachable!("no frame is taken")).unwrap_err().to_string();
        assert!(told.contains("background of transparent frames"), "{told}");
    }
}
