//! Tests of the baked light on animated models.

use plinth_frame::PixelFormat;
use plinth_model::{AlphaMode, Animation, Channel, Interpolation, Material, Property};
use plinth_render::{Cache, Picture, Renderer};
use plinth_scene::Scene;
use serde_json::json;

use crate::models::{Kept, ball, frames, gpu, model, scene, square, straight_on, whole};

const SIDE: u32 = 64;
/// Duration of the motion of the ball in seconds.
const DURATION: f32 = 0.25;

/// Returns a scene with a wall, which is node 0, and a ball in front of its left half, which is node 1. A clip contains
/// one channel. The scene has one shot for each of `times`, which are times of the clip.
fn wall_and_ball(wall: AlphaMode, channel: Channel, times: &[f32]) -> Scene {
    let grey = || Material {
        base_color: [0.2, 0.2, 0.2, 1.0],
        metallic: 0.0,
        perceptual_roughness: 1.0,
        ..Material::default()
    };
    let wall = Material { alpha_mode: wall, base_color: [0.2, 0.2, 0.2, 0.95], ..grey() };
    let mut model = model(vec![(square(), wall, [0.0; 3], 1.0), (ball(16, 24), grey(), [-0.5, 0.0, 0.3], 0.28)]);
    model.animations.push(Animation { name: "clip".to_owned(), duration: DURATION, channels: vec![channel] });
    let mut settings = straight_on();
    settings["animation"] = json!("clip");
    settings["length"] = json!(DURATION);
    let mut scene = scene(model, &settings);
    scene.shots = times.iter().map(|t| plinth_scene::Shot { clip_time: Some(*t), ..scene.shots[0].clone() }).collect();
    scene
}

/// Returns a scene in which a ball slides along a wall from left to right.
fn sliding(times: &[f32]) -> Scene {
    let channel = Channel {
        node: 1,
        property: Property::Translation,
        interpolation: Interpolation::Linear,
        times: vec![0.0, DURATION],
        values: vec![-0.5, 0.0, 0.3, 0.5, 0.0, 0.3],
    };
    wall_and_ball(AlphaMode::Opaque, channel, times)
}

fn pictures(times: &[f32]) -> Vec<Vec<[u8; 3]>> {
    frames(&sliding(times), SIDE, SIDE, PixelFormat::Rgba8).iter().map(whole).collect()
}

/// The columns of the picture where the ball is at the start and at the end of the motion.
const LEFT: usize = SIDE as usize / 2 - 9;
const RIGHT: usize = SIDE as usize / 2 + 9;

/// Returns the brightness of the darkest pixel of the wall in a column beside the ball.
fn wall(picture: &[[u8; 3]], column: usize) -> i32 {
    let rows = SIDE as usize / 2 - 8..SIDE as usize / 2;
    rows.map(|y| i32::from(picture[y * SIDE as usize + column][1])).min().unwrap()
}

#[test]
fn every_pose_is_lit_as_if_it_were_the_first() {
    let [there, back] = [[0.0, DURATION], [DURATION, 0.0]].map(|times| pictures(&times));
    assert_eq!(there[1], back[0]);
    assert_eq!(there[0], back[1]);
    assert_ne!(there[0], there[1]);
}

#[test]
fn a_renderer_that_draws_the_scene_again_draws_the_same_frames() {
    let scene = sliding(&[0.0, DURATION * 0.3, DURATION]);
    let picture = Picture { width: SIDE, height: SIDE, format: PixelFormat::Rgba8 };
    let mut renderer = Renderer::new(gpu(), &scene, picture, None).unwrap();
    let mut drawn = || {
        let mut kept = Kept::default();
        renderer.render(&scene, &mut kept).unwrap();
        kept.frames.iter().map(whole).collect::<Vec<_>>()
    };
    let (first, second) = (drawn(), drawn());
    assert_eq!(first[0], second[0]);
    assert_eq!(first, second);
}

#[test]
fn light_between_two_poses_is_between_the_light_of_both() {
    // Light is baked for some of these times. For all other times, light is interpolated.
    let steps: Vec<f32> = (0..=10).map(|i| DURATION * i as f32 / 10.0).collect();
    let pictures = pictures(&steps);
    let left: Vec<i32> = pictures.iter().map(|picture| wall(picture, LEFT)).collect();
    let right: Vec<i32> = pictures.iter().map(|picture| wall(picture, RIGHT)).collect();
    let (gone, came) = (left[10] - left[0], right[0] - right[10]);
    assert!(gone > 10 && came > 10, "left {left:?}, right {right:?}");
    let largest = |row: &[i32]| row.windows(2).map(|pair| (pair[1] - pair[0]).abs()).max().unwrap();
    assert!(
        largest(&left) < gone && largest(&right) < came,
        "the light changes abruptly: left {left:?}, right {right:?}"
    );
}

#[test]
fn a_surface_that_is_mirrored_between_two_baked_poses_is_lit_as_in_the_pose_with_its_winding() {
    // Light is baked for the times 0, 1/3, 2/3 and 1 of the clip. The wall is mirrored at half of it.
    let mirroring = |wall: AlphaMode, times: &[f32]| {
        let channel = Channel {
            node: 0,
            property: Property::Scale,
            interpolation: Interpolation::Step,
            times: vec![0.0, 0.5 * DURATION],
            values: vec![1.0, 1.0, 1.0, -1.0, 1.0, 1.0],
        };
        let scene = wall_and_ball(wall, channel, times);
        frames(&scene, SIDE, SIDE, PixelFormat::Rgba8).iter().map(whole).collect::<Vec<_>>()
    };
    let [before, after] = [0.4 * DURATION, 0.6 * DURATION];
    for mode in [AlphaMode::Opaque, AlphaMode::Blend] {
        let all = mirroring(mode, &[0.0, before, after, DURATION]);
        for (found, time) in [(&all[1], before), (&all[2], after)] {
            let alone = mirroring(mode, &[time]).remove(0);
            let pairs = found.as_flattened().iter().zip(alone.as_flattened());
            let difference = pairs.map(|(found, alone)| found.abs_diff(*alone)).max().unwrap();
            assert!(difference < 8, "{mode:?} at {time} s: {difference}");
        }
    }
}

#[test]
fn the_light_of_poses_is_cached_and_does_not_change_pictures() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::open(folder.path().to_owned(), 1 << 30).unwrap();
    let scene = sliding(&[0.0, DURATION, 0.4 * DURATION]);
    let draw = |cache| {
        let mut kept = Kept::default();
        let picture = Picture { width: SIDE, height: SIDE, format: PixelFormat::Rgba8 };
        Renderer::new(gpu(), &scene, picture, cache).unwrap().render(&scene, &mut kept).unwrap();
        kept.frames.into_iter().map(|frame| frame.pixels).collect::<Vec<_>>()
    };
    let bare = draw(None);
    let files = || std::fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(draw(Some(&cache)), bare);
    let written = files();
    // The files contain the light of the environment, the model in its first pose, the pose of the second shot, and the
    // two poses around the time of the third shot.
    assert_eq!(written, 5);
    assert_eq!(draw(Some(&cache)), bare);
    assert_eq!(files(), written);
}
