//! Checks the properties that every H.264 video must have, independently of the encoder that produced it.

use std::path::Path;

use crate::container::{avc_config, movie, order};

/// The `profile_idc` of the High profile (ITU-T H.264, annex A).
const HIGH: u8 = 100;

/// Checks that a complete MP4 has H.264 High profile, a constant frame rate, its index (`moov`) before the media data,
/// no reordered frames, and key frames exactly at the start of each second.
/// Errors: a clause that describes the first violated property.
pub(crate) fn check(file: &Path, fps: u32) -> Result<(), String> {
    let read = |error: std::io::Error| error.to_string();
    let movie = movie(file).map_err(read)?.ok_or("it is not H.264 with a constant frame rate")?;
    let (config, _) = avc_config(file).map_err(read)?.ok_or("it has no H.264 index")?;
    if config.profile != HIGH {
        return Err(format!("its profile is {}, not {HIGH} (High)", config.profile));
    }
    if movie.timescale != movie.picture_units * fps {
        return Err(format!("it does not have {fps} frames per second"));
    }
    let order = order(file).map_err(read)?.ok_or("it has no index")?;
    if !order.index_first {
        return Err("its index comes after its frames".to_owned());
    }
    if order.is_reordered {
        return Err("its frames are presented in another order than they are decoded".to_owned());
    }
    let keys = order.key_pictures.unwrap_or_else(|| (0..movie.pictures).collect());
    if !keys.iter().copied().eq((0..movie.pictures).step_by(fps as usize)) {
        return Err(format!("its key frames are {keys:?}, not one at the start of each second"));
    }
    Ok(())
}
