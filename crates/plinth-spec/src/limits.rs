//! Numbers that bound requests and files.

/// Largest model file, in bytes.
pub const MODEL_FILE_BYTES: u64 = 1 << 30;
/// Most bytes that a ZIP archive may unpack to.
pub const ZIP_UNPACKED_BYTES: u64 = 500_000_000;
/// Longest video in seconds.
pub const VIDEO_LENGTH_SECS: f64 = 120.0;
/// Longest ProRes video in seconds.
pub const PRO_LENGTH_SECS: f64 = 60.0;
/// Most entries of `hiddenMeshNames`.
pub const HIDDEN_MESH_NAMES: usize = 512;
/// Most characters of one hidden mesh name.
pub const HIDDEN_MESH_NAME_CHARS: usize = 256;
/// Most keys of `materialEdits`.
pub const MATERIAL_EDITS: usize = 256;
/// Most bytes of `materialEdits`, serialized.
pub const MATERIAL_EDITS_BYTES: usize = 32 * 1024;
/// Most decals.
pub const DECALS: usize = 64;
/// Most keyframes.
pub const KEYFRAMES: usize = 64;
/// Items of one quote.
pub const QUOTE_ITEMS: usize = 100;
/// Most characters of an asset id or clip name in settings.
pub const NAME_CHARS: usize = 256;
