//! Encodes panoramas as gain maps. The API and `plinth render --env` accept this format.

use std::ffi::OsString;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use plinth_media::{MediaError, write_together};
use plinth_scene::{GainMapError, Panorama, SceneError, encode_gain_map, read_panorama};
use serde::{Serialize, Serializer};

/// Maximum size of a file in bytes. It is the size of the largest panorama (8192 × 4096) as uncompressed 32-bit floats
/// with alpha.
const MAX_FILE_BYTES: u64 = 512 << 20;

/// The files that were written, and how exactly they represent the panorama.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EncodedEnvironment {
    /// The SDR image, the gain image and the metadata, in the order of the arguments of `--env`.
    pub files: [EncodedFile; 3],
    /// Columns of the images.
    pub width: u32,
    /// Rows of the images.
    pub height: u32,
    /// Columns of the file that was read.
    pub source_width: u32,
    /// Rows of the file that was read.
    pub source_height: u32,
    /// Largest relative error of a radiance after decoding. The error of a radiance below 0.01 is divided by 0.01,
    /// not by the radiance.
    pub largest_error: f32,
    /// Number of negative values, which became 0.
    pub negative: u64,
    /// Number of values that are not a number (NaN), which became 0.
    pub not_a_number: u64,
    /// Number of infinite values, which became 65504.
    pub infinite: u64,
    /// Number of finite values above 65504, which became 65504.
    pub clamped: u64,
}

/// A file that was written.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EncodedFile {
    #[serde(serialize_with = "as_shown")]
    pub path: PathBuf,
    pub bytes: u64,
}

/// Serializes a path as messages show it. By default, serde rejects paths that are not UTF-8.
fn as_shown<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&path.display())
}

/// Error that occurs when an environment is encoded.
#[derive(Debug, thiserror::Error)]
pub enum EncodeError {
    /// The file cannot be read, or the folder cannot be created.
    #[error("{}", path.display())]
    File {
        /// Path of the file or folder.
        path: PathBuf,
        /// Error of the file system.
        source: std::io::Error,
    },
    #[error("{}: the file is larger than {} MiB", file.display(), MAX_FILE_BYTES >> 20)]
    TooLarge { file: PathBuf },
    /// The file does not contain a valid panorama.
    #[error("{}", file.display())]
    Content {
        file: PathBuf,
        /// Error of the decoder.
        source: SceneError,
    },
    /// The panorama cannot be encoded.
    #[error(transparent)]
    Encoding(#[from] GainMapError),
    /// The results cannot be written.
    #[error(transparent)]
    Write(#[from] MediaError),
}

/// Encodes a panorama (`.hdr` or `.exr`) with at most `max_width` columns. Writes the files `NAME.sdr.webp`,
/// `NAME.gainmap.webp` and `NAME.json` to `folder`, which is created if it does not exist. NAME is the file name of the
/// panorama without its extension.
/// Errors: [`EncodeError`]. In this case no file was written.
pub fn encode_environment(file: &Path, folder: &Path, max_width: u32) -> Result<EncodedEnvironment, EncodeError> {
    let content = |source| EncodeError::Content { file: file.to_owned(), source };
    let Panorama { map, file_size: (source_width, source_height), negative, not_a_number, infinite } =
        read_panorama(&read(file)?, max_width).map_err(content)?;
    let encoded = encode_gain_map(&map)?;
    std::fs::create_dir_all(folder).map_err(|source| EncodeError::File { path: folder.to_owned(), source })?;
    let stem = file.file_stem().unwrap_or_default();
    let path = |suffix: &str| {
        let mut name = OsString::from(stem);
        name.push(suffix);
        folder.join(name)
    };
    let parts: [(PathBuf, &[u8]); 3] = [
        (path(".sdr.webp"), &encoded.sdr),
        (path(".gainmap.webp"), &encoded.gain_map),
        (path(".json"), &encoded.metadata),
    ];
    write_together(&parts)?;
    Ok(EncodedEnvironment {
        files: parts.map(|(path, bytes)| EncodedFile { path, bytes: bytes.len() as u64 }),
        width: map.width,
        height: map.height,
        source_width,
        source_height,
        largest_error: encoded.largest_error,
        negative,
        not_a_number,
        infinite,
        clamped: encoded.clamped,
    })
}

/// Reads a file. Returns an error if it exceeds the size limit.
fn read(file: &Path) -> Result<Vec<u8>, EncodeError> {
    let fault = |source| EncodeError::File { path: file.to_owned(), source };
    let mut bytes = Vec::new();
    let opened = std::fs::File::open(file).map_err(fault)?;
    opened.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(fault)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(EncodeError::TooLarge { file: file.to_owned() });
    }
    Ok(bytes)
}
