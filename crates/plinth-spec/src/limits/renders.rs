//! Limits of render settings, quotes and renders.

/// Longest H.264 video, in seconds.
pub const VIDEO_LENGTH_SECS: f64 = 120.0;
/// Longest ProRes video, in seconds.
pub const PRO_LENGTH_SECS: f64 = 60.0;
/// Maximum number of entries in `hiddenMeshNames`.
pub const HIDDEN_MESH_NAMES: usize = 512;
/// Maximum length of one entry of `hiddenMeshNames`, in characters.
pub const HIDDEN_MESH_NAME_CHARS: usize = 256;
/// Maximum number of materials in `materialEdits`.
pub const MATERIAL_EDITS: usize = 256;
/// Maximum size of `materialEdits` as JSON, in bytes.
pub const MATERIAL_EDITS_BYTES: usize = 32 * 1024;
/// Maximum number of colours in a gradient.
pub const GRADIENT_STOPS: usize = 8;
/// Maximum number of decals in a render.
pub const DECALS: usize = 64;
/// Maximum number of keyframes in a render.
pub const KEYFRAMES: usize = 64;
/// Maximum number of views of a dataset whose cameras come from the request.
pub const DATASET_VIEWS: usize = 10_000;
/// Maximum length of an asset ID or animation name in settings, in characters.
pub const NAME_CHARS: usize = 256;
/// Maximum number of renders in one quote request.
pub const QUOTE_ITEMS: usize = 100;
/// Maximum number of renders in one batch.
pub const BATCH_ITEMS: usize = 100;
/// Maximum number of times that a render is requeued because its worker stopped responding. Its packaging has the same
/// limit, and is counted separately.
pub const LOSSES: i64 = 2;
