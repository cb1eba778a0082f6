//! Cuts a variant's file, which ffmpeg wrote, into an initialization section and segments.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use super::variant::{IFrame, Segment, Variant};
use crate::MediaError;
use crate::container::{AvcConfig, Fragment, avc_config, fragments};

/// Number of groups of pictures (GOPs) in a segment. Each GOP lasts one second. While a user seeks, players can show
/// the first frame of each GOP.
const GROUPS_IN_SEGMENT: usize = super::SEGMENT_SECS as usize;
/// The first bytes of every segment: a `styp` box with the brand `msdh` (ISO/IEC 14496-12, section 8.16.2).
const SEGMENT_TYPE: [u8; 20] = *b"\0\0\0\x14stypmsdh\0\0\0\0msdh";
/// The highest H.264 level that all players support: level 4.2, as `level_idc`.
const HIGHEST_LEVEL: u8 = 42;
/// The `profile_idc` of High, the highest H.264 profile that all players support.
const HIGHEST_PROFILE: u8 = 100;

/// File name of the initialization section.
pub(super) const INIT: &str = "init.mp4";

pub(super) fn segment_name(index: usize) -> String {
    format!("{index}.m4s")
}

/// The required number of frames in a variant, and in each of its GOPs except the last GOP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pictures {
    pub(super) all: u32,
    pub(super) in_group: u32,
}

/// Cuts `file` into segments, and writes them to `folder`, which must exist.
pub(super) fn cut(file: &Path, folder: &Path, pictures: Pictures) -> Result<Variant, MediaError> {
    let broken = |problem: String| MediaError::Incomplete { file: folder.to_owned(), problem };
    let fault = |error: std::io::Error| broken(error.to_string());
    let (config, timescale) =
        avc_config(file).map_err(fault)?.ok_or_else(|| broken("it has no H.264 index".to_owned()))?;
    let mut source = File::open(file).map_err(fault)?;
    let groups = fragments(&mut source).map_err(fault)?;
    check(&groups, config, pictures).map_err(broken)?;

    let write = |name: &str, head: &[u8], source: &mut File, from: u64, to: u64| {
        let path = folder.join(name);
        let mut copied = || {
            let mut out = File::create(&path)?;
            out.write_all(head)?;
            source.seek(SeekFrom::Start(from))?;
            std::io::copy(&mut source.take(to - from), &mut out)
        };
        copied().map_err(|source| MediaError::File { file: path.clone(), source })
    };
    write(INIT, &[], &mut source, 0, groups[0].start)?;
    let mut segments = Vec::new();
    for (i, groups) in groups.chunks(GROUPS_IN_SEGMENT).enumerate() {
        let (from, to) = (groups[0].start, groups[groups.len() - 1].end);
        write(&segment_name(i), &SEGMENT_TYPE, &mut source, from, to)?;
        let at = |byte: u64| byte - from + SEGMENT_TYPE.len() as u64;
        segments.push(Segment {
            bytes: at(to),
            duration: groups.iter().map(|group| group.duration).sum(),
            i_frames: groups
                .iter()
                .map(|group| IFrame {
                    offset: at(group.start),
                    bytes: group.first_picture_end - group.start,
                    duration: group.duration,
                })
                .collect(),
        });
    }
    Ok(Variant { config, timescale, segments })
}

/// Checks that the variant has no properties that some players reject.
fn check(groups: &[Fragment], config: AvcConfig, pictures: Pictures) -> Result<(), String> {
    if config.profile > HIGHEST_PROFILE || config.level > HIGHEST_LEVEL {
        return Err(format!("profile {} or level {} is too high for players", config.profile, config.level));
    }
    let found: u32 = groups.iter().map(|group| group.pictures).sum();
    if found != pictures.all {
        return Err(format!("it has {found} of {} frames", pictures.all));
    }
    let mut time = 0;
    for (i, group) in groups.iter().enumerate() {
        let starts_well = group.starts_with_sync && group.sync_pictures == 1 && group.first_offset == 0;
        if !starts_well || group.decode_time != time {
            return Err(format!("group of pictures {i} is not closed"));
        }
        if group.pictures != pictures.in_group && i + 1 < groups.len() {
            return Err(format!("group of pictures {i} has {} frames, not {}", group.pictures, pictures.in_group));
        }
        time += group.duration;
    }
    Ok(())
}
