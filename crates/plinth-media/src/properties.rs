//! What every H.264 video has, whatever encoded it.

use std::path::Path;

use crate::container::{avc_config, movie, order};

/// `profile_idc` of High (ITU-T H.264, annex A).
const HIGH: u8 = 100;

/// Refuses a complete MP4 that is not H.264 High at a constant rate, with its index in front, pictures in the order in which
/// they are decoded, and one that needs no other at the begin of each second and nowhere else.
/// Errors: what is wrong, in words.
pub(crate) fn check(file: &Path, fps: u32) -> Result<(), String> {
    let read = |error: std::io::Error| error.to_string();
    let movie = movie(file).map_err(read)?.ok_or("it is no H.264 at a constant frame rate")?;
    let (config, _) = avc_config(file).map_err(read)?.ok_or("it has no H.264 index")?;
    if config.profile != HIGH {
        return Err(format!("its profile is {}, not {HIGH} (High)", config.profile));
    }
    if movie.timescale != movie.picture_units * fps {
        return Err(format!("it has not {fps} frames a second"));
    }
    let order = order(file).map_err(read)?.ok_or("it has no index")?;
    if !order.index_first {
        return Err("its index is behind its pictures".to_owned());
    }
    if order.is_reordered {
        return Err("its pictures are shown in another order than they are decoded".to_owned());
    }
    let keys = order.key_pictures.unwrap_or_else(|| (0..movie.pictures).collect());
    if !keys.iter().copied().eq((0..movie.pictures).step_by(fps as usize)) {
        return Err(format!("the pictures that need no other are {keys:?}, not one at the begin of each second"));
    }
    Ok(())
}
