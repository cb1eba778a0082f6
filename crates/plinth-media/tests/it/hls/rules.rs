//! Tests that package videos of several shapes and lengths. Encoding and packaging take most of the time, so each test
//! checks all rules on the same video.

use super::{Packaged, playback, playlists, segments, thumbnails};

/// Packages a video and checks all rules on its files.
fn follows_all_rules(size: (u32, u32), frames: u32) {
    let packaged = Packaged::new(size, frames);
    segments::rule_6_each_range_of_an_i_frame_playlist_is_an_index_and_one_key_frame(&packaged);
    segments::rule_7_every_segment_starts_with_an_idr_frame_at_the_end_of_the_previous_one(&packaged);
    playlists::rule_8_media_playlists_are_complete_and_alike_in_all_variants(&packaged);
    playlists::rule_9_the_master_playlist_matches_the_files(&packaged);
    playlists::the_list_of_files_matches_the_folder_and_the_names_that_the_service_serves(&packaged);
    playback::every_variant_plays_to_the_end_and_shows_the_frames_of_the_source(&packaged, 32.0);
    thumbnails::cues_cover_the_video_and_their_tiles_lie_inside_of_the_sheets(&packaged);
    thumbnails::a_tile_shows_the_frame_at_the_middle_of_its_cue(&packaged);
}

#[test]
fn a_wide_video_follows_all_rules() {
    // The length of the video is not a multiple of the segment length.
    follows_all_rules((640, 360), 75);
}

#[test]
fn a_tall_video_follows_all_rules() {
    // The last segment has only one frame.
    follows_all_rules((360, 640), 61);
}

#[test]
fn a_square_video_of_one_segment_follows_all_rules() {
    follows_all_rules((540, 540), 60);
}

#[test]
fn a_video_of_one_frame_follows_all_rules() {
    follows_all_rules((320, 180), 1);
}

#[test]
fn a_minute_plays_to_the_end() {
    let packaged = Packaged::new((64, 36), 1800);
    assert_eq!(packaged.named("m4s").len(), 2 * 30);
    assert_eq!(packaged.named("jpg").len(), 2);
    playback::every_variant_plays_to_the_end_and_shows_the_frames_of_the_source(&packaged, 25.0);
    thumbnails::cues_cover_the_video_and_their_tiles_lie_inside_of_the_sheets(&packaged);
}

#[test]
fn the_same_video_gives_the_same_files() {
    let [first, second] = [(); 2].map(|()| Packaged::new((320, 180), 31));
    assert_eq!(first.files, second.files);
    for name in &first.files {
        assert!(first.bytes(name) == second.bytes(name), "{name}");
    }
}
