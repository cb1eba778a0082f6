//! Tests of the contents of segments and of the byte ranges in I-frame playlists.

use plinth_testkit::{assert_h264, probe};

use super::reader::MediaPlaylist;
use super::{Packaged, same_time};
use crate::support::packets;

#[test]
fn rule_1_3_every_variant_is_h264_high_up_to_level_4_2_and_bt709() {
    for (size, top) in [((3840, 2160), (1920, 1080)), ((1080, 1920), (1080, 1920)), ((960, 540), (960, 540))] {
        let packaged = Packaged::new(size, 1);
        let variants = packaged.variants();
        for (i, variant) in variants.iter().enumerate() {
            let (stream, _) = probe(&packaged.playable(variant, &packaged.bytes(&format!("{variant}/0.m4s"))));
            assert_h264(&stream);
            assert!(stream["level"].as_u64().unwrap() <= 42, "{stream}");
            if i == 0 {
                assert_eq!((&stream["width"], &stream["height"]), (&top.0.into(), &top.1.into()));
            }
        }
    }
}

pub(super) fn rule_7_every_segment_starts_with_an_idr_frame_at_the_end_of_the_previous_one(packaged: &Packaged) {
    for variant in packaged.variants() {
        let playlist = MediaPlaylist::read(&packaged.text(&format!("{variant}/index.m3u8")));
        let mut begin = 0.0;
        for part in playlist.parts {
            let packets = packets(&packaged.playable(&variant, &packaged.bytes(&format!("{variant}/{}", part.uri))));
            assert!(packets[0].is_key, "7.4");
            assert!(same_time(packets[0].decoded_secs, begin), "7.1: {} instead of {begin}", packets[0].decoded_secs);
            assert_eq!(packets.len(), (part.secs * 30.0).round() as usize);
            for packet in &packets {
                let within = (packet.decoded_secs - begin + 1e-6).fract();
                assert_eq!(packet.is_key, within < 1e-3, "one key frame per second");
            }
            begin += part.secs;
        }
    }
}

pub(super) fn rule_6_each_range_of_an_i_frame_playlist_is_an_index_and_one_key_frame(packaged: &Packaged) {
    for variant in packaged.variants() {
        let playlist = MediaPlaylist::read(&packaged.text(&format!("{variant}/iframes.m3u8")));
        assert!(playlist.tags.contains_key("EXT-X-I-FRAMES-ONLY"));
        assert_eq!(playlist.tags["EXT-X-MAP"], "URI=\"init.mp4\"");
        assert_eq!(playlist.tags["EXT-X-TARGETDURATION"], "2");
        assert_eq!(playlist.parts.len(), packaged.secs().ceil() as usize, "6.2: one a second");
        assert!(same_time(playlist.secs(), packaged.secs()));
        let mut begin = 0.0;
        for part in playlist.parts {
            let segment = packaged.bytes(&format!("{variant}/{}", part.uri));
            let (length, start) = part.range.unwrap();
            let range = &segment[start..start + length];
            assert_eq!(&range[4..8], b"moof", "6.10");
            let index = u32::from_be_bytes(*range.first_chunk().unwrap()) as usize;
            assert_eq!(&range[index + 4..index + 8], b"mdat");
            let file = packaged.playable(&variant, range);
            let packets = packets(&file);
            assert_eq!(packets.len(), 1);
            assert!(packets[0].is_key);
            assert!(same_time(packets[0].decoded_secs, begin));
            assert_eq!(index + 8 + packets[0].bytes, length, "nothing after the frame");
            assert_eq!(probe(&file).0["nb_read_frames"], "1");
            begin += part.secs;
        }
    }
}
