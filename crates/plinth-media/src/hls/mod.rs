//! A finished video becomes streamable (HLS, RFC 8216; Apple's HLS Authoring Specification).

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use crate::MediaError;

/// What is to be packaged.
#[derive(Clone, Debug)]
pub struct HlsPlan {
    /// The ffmpeg to call.
    pub ffmpeg: PathBuf,
    /// A finished H.264 MP4.
    pub source: PathBuf,
    /// Folder for the files; made where it is missing.
    pub out_dir: PathBuf,
}

/// What was packaged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HlsPackage {
    /// Names of all files, relative to the folder, in order: `master.m3u8`, `540p/index.m3u8` and so on.
    pub files: Vec<String>,
}

/// Packages a video. Setting `cancel` ends it with [`MediaError::Stopped`]. Files appear only when all are complete.
/// Errors: ffmpeg is missing or fails, the source is no H.264 MP4, or a file cannot be written.
pub fn package(plan: &HlsPlan, _cancel: &AtomicBool) -> Result<HlsPackage, MediaError> {
    Err(MediaError::Incomplete { file: plan.source.clone(), problem: "packaging is not written yet".to_owned() })
}
