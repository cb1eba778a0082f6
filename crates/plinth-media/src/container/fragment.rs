//! Fragments of a fragmented MP4 file: pairs of `moof` and `mdat` boxes (ISO/IEC 14496-12, section 8.8).

use std::fs::File;
use std::io::Result;

use super::boxes::{Part, damaged};

/// The bit `sample_is_non_sync_sample` of the sample flags. It is set for frames that cannot be decoded without other
/// frames.
const NON_SYNC: u32 = 1 << 16;

/// A fragment: an index (`moof`), followed by consecutive frames (`mdat`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fragment {
    /// File offset of the first byte of the fragment.
    pub(crate) start: u64,
    /// File offset after the last byte of the fragment.
    pub(crate) end: u64,
    /// File offset after the first frame.
    pub(crate) first_picture_end: u64,
    /// Decode time of the first frame, in units of the time scale.
    pub(crate) decode_time: u64,
    /// Composition offset of the first frame: presentation time minus decode time.
    pub(crate) first_offset: i64,
    /// Total duration of the frames, in units of the time scale.
    pub(crate) duration: u64,
    /// Number of frames.
    pub(crate) pictures: u32,
    /// Number of sync samples (frames that can be decoded alone).
    pub(crate) sync_pictures: u32,
    /// Whether the first frame is a sync sample.
    pub(crate) starts_with_sync: bool,
}

/// Returns all fragments of a file in order.
/// Errors: if a fragment is damaged, has several tracks or several runs of samples, or is not an index followed by
/// frames.
pub(crate) fn fragments(file: &mut File) -> Result<Vec<Fragment>> {
    let parts = Part::file(file)?.parts(file)?;
    let mut found = Vec::new();
    for (i, index) in parts.iter().enumerate().filter(|(_, part)| part.kind == *b"moof") {
        let Some(data) = parts.get(i + 1).filter(|part| part.kind == *b"mdat") else { return Err(damaged(*b"moof")) };
        found.push(fragment(file, *index, *data)?);
    }
    Ok(found)
}

/// Default duration, size and flags of the samples.
struct Defaults {
    duration: u32,
    size: u32,
    flags: u32,
}

fn fragment(file: &mut File, index: Part, data: Part) -> Result<Fragment> {
    let wrong = || damaged(index.kind);
    let inside = index.parts(file)?;
    let mut tracks = inside.iter().filter(|part| part.kind == *b"traf");
    let (Some(track), None) = (tracks.next(), tracks.next()) else { return Err(wrong()) };
    let inside = track.parts(file)?;
    let one = |kind: &[u8; 4]| {
        let mut those = inside.iter().filter(|part| part.kind == *kind);
        those.next().filter(|_| those.next().is_none()).copied().ok_or_else(wrong)
    };
    let defaults = defaults(file, one(b"tfhd")?)?;
    let mut time = one(b"tfdt")?.fields(file)?;
    let decode_time = if time.version()?.0 == 1 { time.u64()? } else { time.u32()?.into() };

    let mut run = one(b"trun")?.fields(file)?;
    let (version, present) = run.version()?;
    let has = |flag: u32| present & flag != 0;
    let pictures = run.u32()?;
    // Offset of the first frame, relative to the start of the `moof` box.
    let offset = if has(0x1) { u64::from(run.u32()?) } else { return Err(wrong()) };
    let first_flags = if has(0x4) { Some(run.u32()?) } else { None };
    let (mut duration, mut bytes, mut sync_pictures) = (0_u64, 0_u64, 0);
    let (mut first_bytes, mut first_offset, mut starts_with_sync) = (0, 0, false);
    for i in 0..pictures {
        let lasts = if has(0x100) { run.u32()? } else { defaults.duration };
        let size = if has(0x200) { run.u32()? } else { defaults.size };
        let own_flags = if has(0x400) { run.u32()? } else { defaults.flags };
        let shift = if has(0x800) { run.take::<4>()? } else { [0; 4] };
        let flags = first_flags.filter(|_| i == 0).unwrap_or(own_flags);
        let is_sync = flags & NON_SYNC == 0;
        if i == 0 {
            first_bytes = u64::from(size);
            first_offset =
                if version == 0 { u32::from_be_bytes(shift).into() } else { i32::from_be_bytes(shift).into() };
            starts_with_sync = is_sync;
        }
        duration += u64::from(lasts);
        bytes += u64::from(size);
        sync_pictures += u32::from(is_sync);
    }
    // The frames must fill the `mdat` box without gaps.
    if index.start + offset != data.begin || data.begin + bytes != data.end || pictures == 0 {
        return Err(wrong());
    }
    let first_picture_end = data.begin + first_bytes;
    Ok(Fragment {
        start: index.start,
        end: data.end,
        first_picture_end,
        decode_time,
        first_offset,
        duration,
        pictures,
        sync_pictures,
        starts_with_sync,
    })
}

fn defaults(file: &mut File, header: Part) -> Result<Defaults> {
    let mut fields = header.fields(file)?;
    let (_, present) = fields.version()?;
    let has = |flag: u32| present & flag != 0;
    fields.skip(4); // track id
    if has(0x1) {
        return Err(damaged(header.kind)); // base data offsets are not supported
    }
    if has(0x2) {
        fields.skip(4); // sample description index
    }
    let duration = if has(0x8) { fields.u32()? } else { 0 };
    let size = if has(0x10) { fields.u32()? } else { 0 };
    let flags = if has(0x20) { fields.u32()? } else { 0 };
    Ok(Defaults { duration, size, flags })
}
