//! Limits of previews.

/// Time limit for rendering a free preview, in seconds.
pub const PREVIEW_SECS: u64 = 300;
/// Longer side of the smallest preview, in pixels.
pub const PREVIEW_SIDE_MIN: u32 = 64;
/// Longer side of a preview if the request names none, in pixels.
pub const PREVIEW_SIDE_DEFAULT: u32 = 640;
/// Longer side of the largest preview, in pixels.
pub const PREVIEW_SIDE_MAX: u32 = 1280;
/// Maximum number of previews of an account that wait while another preview of the account is drawn. Further requests
/// are rejected.
pub const PREVIEWS_WAITING: usize = 8;
