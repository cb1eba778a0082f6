//! Tests of the contents of playlists.

use std::path::Path;

use plinth_testkit::probe;

use super::reader::{MediaPlaylist, master};
use super::{Packaged, same_time};

/// Returns the value of `CODECS` that the profile, compatibility and level bytes of the decoder configuration
/// determine.
fn codecs(init: &[u8]) -> String {
    let at = init.windows(4).position(|word| word == b"avcC").unwrap() + 4;
    assert_eq!(init[at], 1, "version");
    init[at + 1..at + 4].iter().fold("avc1.".to_owned(), |text, byte| format!("{text}{byte:02X}"))
}

/// Returns the peak and the average bit rate of parts, given the bytes and the seconds of each part. As in RFC 8216,
/// the peak is the highest bit rate of any run of parts that lasts between 0.5 and 1.5 times the target duration.
fn rates(parts: &[(usize, f64)]) -> (u64, u64) {
    let rate = |run: &[(usize, f64)]| {
        let (bytes, secs) = run.iter().fold((0, 0.0), |sum, part| (sum.0 + part.0, sum.1 + part.1));
        (bytes as f64 * 8.0 / secs, secs)
    };
    let mut peak = rate(parts).0;
    for from in 0..parts.len() {
        for to in from + 1..=parts.len() {
            let (bits, secs) = rate(&parts[from..to]);
            if (1.0 - 1e-6..=3.0 + 1e-6).contains(&secs) {
                peak = peak.max(bits);
            }
        }
    }
    (peak.ceil() as u64, rate(parts).0.ceil() as u64)
}

pub(super) fn rule_9_the_master_playlist_matches_the_files(packaged: &Packaged) {
    let text = packaged.text("master.m3u8");
    assert!(text.starts_with("#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-INDEPENDENT-SEGMENTS\n"), "{text}");
    let (variants, i_frames) = master(&text);
    assert!(variants.len() >= 2, "9.9: {text}");
    assert_eq!(variants.len(), i_frames.len(), "6.1: {text}");
    for (entries, is_i_frames) in [(&variants, false), (&i_frames, true)] {
        for entry in entries {
            let playlist = MediaPlaylist::read(&packaged.text(&entry["URI"]));
            let folder = entry["URI"].split_once('/').unwrap().0;
            let init = packaged.bytes(&format!("{folder}/init.mp4"));
            assert_eq!(entry["CODECS"], codecs(&init), "9.1, 9.3");
            let first = packaged.playable(folder, &packaged.bytes(&format!("{folder}/0.m4s")));
            let (stream, _) = probe(&first);
            assert_eq!(entry["RESOLUTION"], format!("{}x{}", stream["width"], stream["height"]), "9.2, 9.4");
            assert_eq!(entry["VIDEO-RANGE"], "SDR");
            let parts = playlist.parts.iter().map(|part| {
                let whole = || packaged.bytes(&format!("{folder}/{}", part.uri)).len();
                (part.range.map_or_else(whole, |(length, _)| length), part.secs)
            });
            let (peak, average) = rates(&parts.collect::<Vec<_>>());
            let says = |name: &str| entry[name].parse::<u64>().unwrap();
            assert!(says("BANDWIDTH").abs_diff(peak) <= peak / 1000 + 1, "9.13: {entry:?}, but {peak}");
            assert!(says("AVERAGE-BANDWIDTH").abs_diff(average) <= average / 1000 + 1, "9.14: {entry:?}, {average}");
            if !is_i_frames {
                assert_eq!(entry["FRAME-RATE"], "30.000", "9.15");
                assert_eq!(entry["CLOSED-CAPTIONS"], "NONE");
            }
        }
    }
}

pub(super) fn rule_8_media_playlists_are_complete_and_alike_in_all_variants(packaged: &Packaged) {
    let mut boundaries = Vec::new();
    for variant in packaged.variants() {
        let playlist = MediaPlaylist::read(&packaged.text(&format!("{variant}/index.m3u8")));
        for (tag, value, rule) in [
            ("EXT-X-VERSION", "7", "RFC 8216, section 7"),
            ("EXT-X-PLAYLIST-TYPE", "VOD", "8.6"),
            ("EXT-X-MAP", "URI=\"init.mp4\"", "8.20"),
            ("EXT-X-INDEPENDENT-SEGMENTS", "", "9.12"),
            ("EXT-X-TARGETDURATION", "2", "8.2"),
            ("EXT-X-ENDLIST", "", "8.6"),
        ] {
            assert_eq!(playlist.tags.get(tag).map(String::as_str), Some(value), "{rule}");
        }
        assert!(same_time(playlist.secs(), packaged.secs()), "8.1: {} s", playlist.secs());
        assert!(playlist.parts.iter().all(|part| part.secs <= 2.5), "7.7");
        assert!(playlist.parts.iter().rev().skip(1).all(|part| same_time(part.secs, 2.0)));
        boundaries.push(playlist.parts);
    }
    assert!(boundaries.iter().all(|parts| *parts == boundaries[0]), "8.3, 8.22");
}

#[test]
fn the_first_variant_suits_common_networks() {
    let packaged = Packaged::new((1280, 720), 31);
    let (variants, _) = master(&packaged.text("master.m3u8"));
    let rates: Vec<u64> = variants.iter().map(|entry| entry["BANDWIDTH"].parse().unwrap()).collect();
    let best = rates.iter().filter(|rate| **rate <= 2_000_000).max().or(rates.iter().min()).unwrap();
    assert_eq!(rates[0], *best, "{rates:?}");
}

pub(super) fn the_list_of_files_matches_the_folder_and_the_names_that_the_service_serves(packaged: &Packaged) {
    let mut found = Vec::new();
    let mut folders = vec![packaged.path("")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { found.push(path) }
        }
    }
    let mut listed: Vec<_> = packaged.files.iter().map(|name| packaged.path(name)).collect();
    listed.sort();
    found.sort();
    assert_eq!(listed, found);
    assert_eq!(packaged.files.last().unwrap(), "master.m3u8");
    for name in &packaged.files {
        let extension = Path::new(name).extension().unwrap().to_str().unwrap();
        assert!(["m3u8", "mp4", "m4s", "vtt", "jpg"].contains(&extension), "{name}");
        assert!(name.split('/').count() <= 2, "{name}");
    }
}
