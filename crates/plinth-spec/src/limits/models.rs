//! Limits of models and their uploads.

/// Largest model file, in bytes.
pub const MODEL_FILE_BYTES: u64 = 1 << 30;
/// Largest total size of an unpacked ZIP archive, in bytes.
pub const ZIP_UNPACKED_BYTES: u64 = 500 << 20;
/// Maximum length of a title, an SKU or a file name, in characters.
pub const TITLE_CHARS: usize = 500;
/// Maximum number of tags that a model may have.
pub const TAGS: usize = 20;
/// Maximum length of a tag, in characters.
pub const TAG_CHARS: usize = 100;
/// Maximum number of renders in the details of a model. Clients get further renders from the list of renders.
pub const MODEL_RENDERS: u32 = 1000;
/// Maximum total size of the render settings in the details of a model, in characters.
pub const MODEL_RENDERS_CHARACTERS: u64 = 4 << 20;
/// Maximum total size of the stored models of all workspaces of one account, in bytes.
pub const ACCOUNT_STORAGE_BYTES: u64 = 100 << 30;
/// Maximum number of free system previews per account in 24 hours.
pub const FREE_UPLOADS_PER_DAY: u32 = 100;
/// Maximum number of staged uploads per account that are not finalized and whose file has not been deleted.
pub const STAGED_UPLOADS: u64 = 100;
/// Maximum total size in bytes of an account's staged files that are not finalized yet.
pub const STAGED_BYTES: u64 = 20 << 30;
/// Lifetime of a staged file that is not finalized, in seconds after its link has expired.
pub const STAGING_LIFETIME_SECS: i64 = 48 * 3600;
/// Maximum number of model files that an account may upload at the same time. Further uploads wait.
pub const UPLOADS_AT_ONCE: u64 = 16;
