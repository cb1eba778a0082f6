//! Reads the index of a video file, which is the `moov` box.

use std::fs::File;
use std::io::Result;
use std::path::Path;

use super::boxes::{Part, damaged};

const TRACK: [&[u8; 4]; 2] = [b"moov", b"trak"];
const SAMPLE_TABLE: [&[u8; 4]; 5] = [b"moov", b"trak", b"mdia", b"minf", b"stbl"];
/// Number of bytes between the start of a visual sample entry's fields and its child boxes (ISO/IEC 14496-12, section
/// 12.1.3).
const VISUAL_ENTRY_BYTES: u64 = 78;

/// A video with one track and a constant frame rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Movie {
    pub(crate) width: u32,
    pub(crate) height: u32,
    /// Number of units of the time scale per second.
    pub(crate) timescale: u32,
    /// Duration of a frame in units of the time scale.
    pub(crate) picture_units: u32,
    /// Number of frames.
    pub(crate) pictures: u32,
}

/// Decoder configuration of H.264 (ISO/IEC 14496-15, section 5.3.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AvcConfig {
    pub(crate) profile: u8,
    pub(crate) compatibility: u8,
    pub(crate) level: u8,
}

/// Returns the number of frames that the index lists. Returns `None` if the file is truncated or has no index.
pub(crate) fn pictures(path: &Path) -> Result<Option<u32>> {
    let mut file = File::open(path)?;
    let Some(table) = Part::file(&file)?.find(&mut file, &SAMPLE_TABLE)? else { return Ok(None) };
    let Some(sizes) = table.find(&mut file, &[b"stsz"])? else { return Ok(None) };
    let mut fields = sizes.fields(&mut file)?;
    // Skips the version, the flags and the common sample size, which precede the sample count.
    fields.skip(8);
    fields.u32().map(Some)
}

/// Returns the size, the frame rate and the number of frames of a video. Returns `None` if the file is not a complete
/// H.264 video with a constant frame rate.
pub(crate) fn movie(path: &Path) -> Result<Option<Movie>> {
    let mut file = File::open(path)?;
    let whole = Part::file(&file)?;
    let Some(track) = whole.find(&mut file, &TRACK)? else { return Ok(None) };
    let media = track.find(&mut file, &[b"mdia", b"mdhd"])?;
    let times = track.find(&mut file, &[b"mdia", b"minf", b"stbl", b"stts"])?;
    let entry = sample_entry(&mut file, whole)?;
    let (Some(media), Some(times), Some(entry)) = (media, times, entry) else { return Ok(None) };
    let timescale = timescale(&mut file, media)?;
    let mut fields = times.fields(&mut file)?;
    fields.skip(4);
    let entries = fields.u32()?;
    let (pictures, picture_units) = (fields.u32()?, fields.u32()?);
    if entries != 1 || pictures == 0 || picture_units == 0 || timescale == 0 {
        return Ok(None);
    }
    let mut fields = entry.fields(&mut file)?;
    fields.skip(24);
    let (width, height) = (fields.u16()?.into(), fields.u16()?.into());
    Ok(Some(Movie { width, height, timescale, picture_units, pictures }))
}

/// Returns the decoder configuration and the time scale of an H.264 video. Returns `None` if the file is not an H.264
/// video.
pub(crate) fn avc_config(path: &Path) -> Result<Option<(AvcConfig, u32)>> {
    let mut file = File::open(path)?;
    let whole = Part::file(&file)?;
    let Some(media) = whole.find(&mut file, &[b"moov", b"trak", b"mdia", b"mdhd"])? else { return Ok(None) };
    let timescale = timescale(&mut file, media)?;
    let Some(entry) = sample_entry(&mut file, whole)? else { return Ok(None) };
    let inside = entry.parts_after(&mut file, VISUAL_ENTRY_BYTES)?;
    let Some(config) = inside.iter().find(|part| part.kind == *b"avcC") else { return Ok(None) };
    let [version, profile, compatibility, level] = config.fields(&mut file)?.take()?;
    if version != 1 {
        return Err(damaged(config.kind));
    }
    Ok(Some((AvcConfig { profile, compatibility, level }, timescale)))
}

/// The order in which a file stores its index and its frames, and the order in which the frames are presented.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Order {
    /// Whether the index precedes the frames. If it does, a player can start before it has received the whole file.
    pub(crate) index_first: bool,
    /// Indices of the key frames (frames that can be decoded alone), from 0. `None` if every frame is a key frame.
    pub(crate) key_pictures: Option<Vec<u32>>,
    /// Whether the frames are presented in another order than they are decoded.
    pub(crate) is_reordered: bool,
}

/// Returns the order of a file's index and frames. Returns `None` if the file is truncated or has no index.
pub(crate) fn order(path: &Path) -> Result<Option<Order>> {
    let mut file = File::open(path)?;
    let whole = Part::file(&file)?;
    let kinds: Vec<_> = whole.parts(&mut file)?.into_iter().map(|part| part.kind).collect();
    let at = |kind: &[u8; 4]| kinds.iter().position(|found| found == kind);
    let Some(table) = whole.find(&mut file, &SAMPLE_TABLE)? else { return Ok(None) };
    let mut key_pictures = None;
    if let Some(keys) = table.find(&mut file, &[b"stss"])? {
        let mut fields = keys.fields(&mut file)?;
        fields.skip(4);
        let count = fields.u32()?;
        let numbers = (0..count).map(|_| Ok(fields.u32()?.saturating_sub(1)));
        key_pictures = Some(numbers.collect::<Result<_>>()?);
    }
    let is_reordered = table.find(&mut file, &[b"ctts"])?.is_some();
    Ok(Some(Order { index_first: at(b"moov") < at(b"mdat"), key_pictures, is_reordered }))
}

/// Returns the sample entry of the video. Returns `None` if there is not exactly one sample entry, or if it is not
/// H.264.
fn sample_entry(file: &mut File, whole: Part) -> Result<Option<Part>> {
    let Some(table) = whole.find(file, &SAMPLE_TABLE)? else { return Ok(None) };
    let Some(descriptions) = table.find(file, &[b"stsd"])? else { return Ok(None) };
    // Skips version, flags and the number of entries.
    let entries = descriptions.parts_after(file, 8)?;
    Ok(entries.first().copied().filter(|entry| entries.len() == 1 && entry.kind == *b"avc1"))
}

fn timescale(file: &mut File, media: Part) -> Result<u32> {
    let mut fields = media.fields(file)?;
    let (version, _) = fields.version()?;
    // Skips the creation time and the modification time.
    fields.skip(if version == 1 { 16 } else { 8 });
    fields.u32()
}
