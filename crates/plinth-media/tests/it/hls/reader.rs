//! Parses playlists and thumbnail tracks in the way in which a player does.

use std::collections::BTreeMap;

/// An entry of a media playlist: a segment, or a byte range of a segment.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Part {
    pub(super) secs: f64,
    /// Length and offset of the byte range.
    pub(super) range: Option<(usize, usize)>,
    pub(super) uri: String,
}

pub(super) struct MediaPlaylist {
    /// Tags that apply to the whole playlist, with their values.
    pub(super) tags: BTreeMap<String, String>,
    pub(super) parts: Vec<Part>,
}

impl MediaPlaylist {
    pub(super) fn read(text: &str) -> Self {
        let (mut tags, mut parts) = (BTreeMap::new(), Vec::new());
        let (mut secs, mut range) = (None, None);
        let mut lines = text.lines();
        assert_eq!(lines.next(), Some("#EXTM3U"));
        for line in lines {
            let Some(tag) = line.strip_prefix('#') else {
                parts.push(Part { secs: secs.take().unwrap(), range: range.take(), uri: line.to_owned() });
                continue;
            };
            let (name, value) = tag.split_once(':').unwrap_or((tag, ""));
            match name {
                "EXTINF" => secs = Some(value.strip_suffix(',').unwrap().parse().unwrap()),
                "EXT-X-BYTERANGE" => {
                    let (length, start) = value.split_once('@').unwrap();
                    range = Some((length.parse().unwrap(), start.parse().unwrap()));
                }
                _ => assert_eq!(tags.insert(name.to_owned(), value.to_owned()), None, "{name} is repeated"),
            }
        }
        assert!(secs.is_none() && range.is_none(), "tags without a part");
        Self { tags, parts }
    }

    pub(super) fn secs(&self) -> f64 {
        self.parts.iter().map(|part| part.secs).sum()
    }
}

/// Attributes of one variant in a master playlist. The key `URI` contains the URI of the variant's playlist.
pub(super) type Entry = BTreeMap<String, String>;

/// Returns the variants and the I-frame variants of a master playlist.
pub(super) fn master(text: &str) -> (Vec<Entry>, Vec<Entry>) {
    let (mut variants, mut i_frames) = (Vec::new(), Vec::new());
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(list) = line.strip_prefix("#EXT-X-STREAM-INF:") {
            let mut entry = attributes(list);
            entry.insert("URI".to_owned(), lines.next().unwrap().to_owned());
            variants.push(entry);
        } else if let Some(list) = line.strip_prefix("#EXT-X-I-FRAME-STREAM-INF:") {
            i_frames.push(attributes(list));
        }
    }
    (variants, i_frames)
}

fn attributes(list: &str) -> Entry {
    let mut found = Entry::new();
    let mut rest = list;
    while !rest.is_empty() {
        let (name, after) = rest.split_once('=').unwrap();
        let (value, after) = match after.strip_prefix('"') {
            Some(quoted) => {
                let (value, after) = quoted.split_once('"').unwrap();
                (value, after.strip_prefix(',').unwrap_or(after))
            }
            None => after.split_once(',').unwrap_or((after, "")),
        };
        assert_eq!(found.insert(name.to_owned(), value.to_owned()), None, "{name} is repeated");
        rest = after;
    }
    found
}

/// A cue of a thumbnail track.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Cue {
    pub(super) begin: f64,
    pub(super) end: f64,
    pub(super) sprite: String,
    /// x, y, width and height of the thumbnail on its sprite sheet.
    pub(super) rectangle: [u32; 4],
}

pub(super) fn cues(text: &str) -> Vec<Cue> {
    let mut blocks = text.split("\n\n");
    assert_eq!(blocks.next(), Some("WEBVTT"));
    blocks
        .map(|block| {
            let (times, payload) = block.trim_end().split_once('\n').unwrap();
            let (begin, end) = times.split_once(" --> ").unwrap();
            let (sprite, rectangle) = payload.split_once("#xywh=").unwrap();
            let sides: Vec<u32> = rectangle.split(',').map(|side| side.parse().unwrap()).collect();
            Cue { begin: secs(begin), end: secs(end), sprite: sprite.to_owned(), rectangle: sides.try_into().unwrap() }
        })
        .collect()
}

/// Parses a time in the form `HH:MM:SS.mmm`. Any other form causes a panic.
fn secs(clock: &str) -> f64 {
    assert_eq!(clock.len(), 12, "{clock}");
    clock.split(':').fold(0.0, |sum, part| sum * 60.0 + part.parse::<f64>().unwrap())
}
