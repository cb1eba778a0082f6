//! Writes HLS playlists (RFC 8216, and Apple's HLS Authoring Specification).

use std::fmt::Write as _;

use super::cut::{INIT, segment_name};
use super::ladder::Rung;
use super::variant::{Segment, Variant};

/// Name of a variant's media playlist in the folder of the variant.
pub(super) const MEDIA: &str = "index.m3u8";
/// Name of a variant's I-frame playlist in the folder of the variant.
pub(super) const I_FRAMES: &str = "iframes.m3u8";

/// HLS protocol version. Version 7 allows fragmented MP4 and byte ranges.
const VERSION: u8 = 7;
/// Maximum bit rate in bit/s of the variant that is listed first in the master playlist. Players start with this
/// variant. 2 Mbit/s is Apple's default for video over wireless networks.
const FIRST_BITS: u64 = 2_000_000;

/// Returns the master playlist. The first variant is the largest variant that does not exceed [`FIRST_BITS`], or the
/// smallest variant if all exceed it. The other variants follow, sorted by size.
pub(super) fn master(variants: &[(Rung, Variant)], frame_rate: f64) -> String {
    let mut text = format!("#EXTM3U\n#EXT-X-VERSION:{VERSION}\n#EXT-X-INDEPENDENT-SEGMENTS\n");
    let first = variants.iter().position(|(_, variant)| variant.rates().peak <= FIRST_BITS);
    let first = first.unwrap_or(variants.len() - 1);
    let mut order: Vec<&(Rung, Variant)> = variants.iter().collect();
    order[..=first].rotate_right(1);
    for (rung, variant) in &order {
        let Rung { width, height } = rung;
        let (rates, codecs, name) = (variant.rates(), variant.codecs(), rung.name());
        let _written = write!(
            text,
            "\n#EXT-X-STREAM-INF:BANDWIDTH={},AVERAGE-BANDWIDTH={},CODECS=\"{codecs}\",RESOLUTION={width}x{height},\
             FRAME-RATE={frame_rate:.3},VIDEO-RANGE=SDR,CLOSED-CAPTIONS=NONE\n{name}/{MEDIA}\n",
            rates.peak, rates.average,
        );
    }
    text.push('\n');
    for (rung, variant) in &order {
        let Rung { width, height } = rung;
        let (rates, codecs, name) = (variant.i_frame_rates(), variant.codecs(), rung.name());
        let _written = writeln!(
            text,
            "#EXT-X-I-FRAME-STREAM-INF:BANDWIDTH={},AVERAGE-BANDWIDTH={},CODECS=\"{codecs}\",RESOLUTION={width}x{height},\
             VIDEO-RANGE=SDR,URI=\"{name}/{I_FRAMES}\"",
            rates.peak, rates.average,
        );
    }
    text
}

/// Returns the media playlist of a variant.
pub(super) fn media(variant: &Variant) -> String {
    let mut text = head("#EXT-X-INDEPENDENT-SEGMENTS");
    for (i, segment) in variant.segments.iter().enumerate() {
        let _written = writeln!(text, "{}\n{}", extinf(segment.duration, variant.timescale), segment_name(i));
    }
    text.push_str("#EXT-X-ENDLIST\n");
    text
}

/// Returns the I-frame playlist of a variant.
pub(super) fn i_frames(variant: &Variant) -> String {
    let mut text = head("#EXT-X-I-FRAMES-ONLY");
    for (i, Segment { i_frames, .. }) in variant.segments.iter().enumerate() {
        for frame in i_frames {
            let (inf, name) = (extinf(frame.duration, variant.timescale), segment_name(i));
            let _written = writeln!(text, "{inf}\n#EXT-X-BYTERANGE:{}@{}\n{name}", frame.bytes, frame.offset);
        }
    }
    text.push_str("#EXT-X-ENDLIST\n");
    text
}

fn head(kind: &str) -> String {
    format!(
        "#EXTM3U\n#EXT-X-VERSION:{VERSION}\n#EXT-X-TARGETDURATION:{}\n#EXT-X-MEDIA-SEQUENCE:0\n\
         #EXT-X-PLAYLIST-TYPE:VOD\n{kind}\n#EXT-X-MAP:URI=\"{INIT}\"\n",
        super::SEGMENT_SECS,
    )
}

/// Formats a duration as seconds with six decimal places.
fn extinf(duration: u64, timescale: u32) -> String {
    format!("#EXTINF:{:.6},", duration as f64 / f64::from(timescale))
}
