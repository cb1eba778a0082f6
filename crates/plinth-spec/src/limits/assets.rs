//! Limits of overlays, textures, environments and looks.

/// Maximum length of an asset's name, in characters.
pub const ASSET_NAME_CHARS: usize = 100;
/// Maximum length of an overlay's description, in characters.
pub const OVERLAY_DESCRIPTION_CHARS: usize = 500;
/// Largest overlay or texture image, in bytes.
pub const IMAGE_BYTES: u64 = 25 << 20;
/// Maximum number of overlays per account.
pub const OVERLAYS: u64 = 100;
/// Maximum number of textures per account.
pub const TEXTURES: u64 = 100;
/// Maximum total size of an account's textures, in bytes.
pub const TEXTURES_BYTES: u64 = 500 << 20;
/// Maximum number of environments per account.
pub const ENVS: u64 = 20;
/// Maximum total size of an account's environments, in bytes.
pub const ENVS_BYTES: u64 = 200 << 20;
/// Largest file of an environment, in bytes.
pub const ENV_PART_BYTES: u64 = 48 << 20;
/// Maximum width of an environment in pixels. The renderer scales wider environments down.
pub const ENV_WIDTH: u32 = 4096;
/// Largest panorama from which the web UI creates an environment, in bytes. It is the size of 8192 × 4096 texels with
/// three half floats each, plus a margin.
pub const PANORAMA_BYTES: u64 = 256 << 20;
/// Maximum number of looks that a workspace can save.
pub const LOOKS: u64 = 100;
/// Maximum total size of the settings of a workspace's looks as JSON, in characters. It is enough for about eight looks with
/// the largest settings.
pub const LOOKS_CHARACTERS: u64 = 4 << 20;
/// Maximum length of a look's name, in characters.
pub const LOOK_NAME_CHARS: usize = 100;
