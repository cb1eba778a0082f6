//! Tests that packaged videos follow RFC 8216 and Apple's HLS Authoring Specification. The names of functions contain
//! the numbers of Apple's MUST rules. The files are read with ffmpeg and ffprobe.

mod failure;
mod playback;
mod playlists;
mod reader;
mod rules;
mod segments;
mod thumbnails;

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use plinth_media::hls::{HlsPackage, HlsPlan, package};
use plinth_media::{H264Encoder, MediaError};
use plinth_spec::OutputFile;
use plinth_spec::quality::Codec;

use crate::support::{ball, plan, write};

/// A video that was packaged as HLS, in a temporary folder.
struct Packaged {
    // The folder is deleted when this field is dropped.
    folder: tempfile::TempDir,
    size: (u32, u32),
    frames: u32,
    files: Vec<String>,
}

impl Packaged {
    /// Encodes a video of this size and number of frames, and packages it as HLS.
    fn new(size: (u32, u32), frames: u32) -> Self {
        let folder = tempfile::tempdir().unwrap();
        video(folder.path(), size, frames);
        let files = package_in(folder.path()).unwrap().files;
        Self { folder, size, frames, files }
    }

    fn source(&self) -> PathBuf {
        self.folder.path().join("out.mp4")
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("hls").join(name)
    }

    fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// Returns the names of all files with this extension.
    fn named(&self, extension: &str) -> Vec<&String> {
        let is_of_kind = |name: &&String| Path::new(name).extension().is_some_and(|e| e == extension);
        self.files.iter().filter(is_of_kind).collect()
    }

    fn bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    /// Returns the folder names of the variants, largest first.
    fn variants(&self) -> Vec<String> {
        self.files.iter().filter_map(|name| name.strip_suffix("/init.mp4")).map(str::to_owned).collect()
    }

    /// Returns the length of the video in seconds.
    fn secs(&self) -> f64 {
        f64::from(self.frames) / 30.0
    }

    /// Writes a playable file that consists of a variant's initialization section and the given media data.
    fn playable(&self, variant: &str, media: &[u8]) -> PathBuf {
        let path = self.folder.path().join("playable.mp4");
        let whole = [self.bytes(&format!("{variant}/init.mp4")).as_slice(), media].concat();
        std::fs::write(&path, whole).unwrap();
        path
    }
}

/// Writes the video `out.mp4` to a folder. It is encoded in the same way as a render.
fn video(folder: &Path, size: (u32, u32), frames: u32) {
    let mut plan = plan(folder, size, Codec::H264, frames);
    plan.media.files.retain(|file, _path| *file == OutputFile::Video);
    write(plan, |i| ball(size, i, [240, 200, 60])).unwrap();
}

/// Packages the video `out.mp4` in a folder to the subfolder `hls`.
fn package_in(folder: &Path) -> Result<HlsPackage, MediaError> {
    let plan = HlsPlan {
        ffmpeg: plinth_testkit::ffmpeg().to_owned(),
        encoder: H264Encoder::Libx264,
        source: folder.join("out.mp4"),
        out_dir: folder.join("hls"),
    };
    package(&plan, &AtomicBool::new(false))
}

/// Returns whether two times are equal, apart from rounding errors.
fn same_time(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-3
}
