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
/// Most colours of a gradient.
pub const GRADIENT_STOPS: usize = 8;
/// Most decals.
pub const DECALS: usize = 64;
/// Most keyframes.
pub const KEYFRAMES: usize = 64;
/// Items of one quote.
pub const QUOTE_ITEMS: usize = 100;
/// Most characters of an asset id or clip name in settings.
pub const NAME_CHARS: usize = 256;

/// Renders of one batch.
pub const BATCH_ITEMS: usize = 100;
/// Rows of a page when the call does not say.
pub const PAGE_DEFAULT: u32 = 50;
/// Most rows of a page.
pub const PAGE_MAX: u32 = 100;
/// Largest offset that is read; a longer list is read by cursor.
pub const OFFSET_MAX: u64 = i64::MAX as u64;
/// Tags of one model.
pub const TAGS: usize = 20;
/// Most characters of one tag.
pub const TAG_CHARS: usize = 100;
/// Most characters of a title, a product code or a file name.
pub const TITLE_CHARS: usize = 500;
/// Most characters of an asset's name.
pub const ASSET_NAME_CHARS: usize = 100;
/// Most characters of an overlay's description.
pub const OVERLAY_DESCRIPTION_CHARS: usize = 500;
/// Most bytes of a JSON body that names one thing: a file, a lifetime, a title.
pub const JSON_SMALL_BYTES: usize = 64 << 10;
/// Most bytes of a JSON body, or of a form field, with the settings of one render.
pub const JSON_RENDER_BYTES: usize = 1 << 20;
/// Most bytes of a JSON body with the settings of many renders.
pub const JSON_BATCH_BYTES: usize = 4 << 20;
/// Most values (numbers, texts, lists, objects, names of members) of a JSON body: a parsed one takes up to 100 times the
/// memory of its text.
pub const JSON_VALUES: usize = 65_536;
/// Most bytes of a form field that is neither a file nor `renderSettings`.
pub const FORM_FIELD_BYTES: usize = 16 << 10;

/// Requests per token and minute.
pub const REQUESTS_PER_MINUTE: u32 = 300;
/// Ingest requests per token and ten minutes.
pub const INGESTS_PER_10_MINUTES: u32 = 20;
/// A server that is ingested from accepts a connection, and says whether there is something, within this time, in seconds.
pub const INGEST_ANSWER_SECS: u64 = 20;
/// An ingest ends after this long without progress, in seconds.
pub const INGEST_STALL_SECS: u64 = 45;
/// An ingest ends after this long, in seconds.
pub const INGEST_TOTAL_SECS: u64 = 10 * 60;
/// Redirects that an ingest follows.
pub const INGEST_REDIRECTS: usize = 5;
/// Times that a render whose worker was lost goes back into the queue.
pub const LOSSES: i64 = 2;
/// Longest time that a free preview is rendered, in seconds.
pub const PREVIEW_SECS: u64 = 300;
/// Free system previews per account in 24 hours.
pub const FREE_UPLOADS_PER_DAY: u32 = 100;
/// Passwords that may be tried for one address in ten minutes.
pub const PASSWORDS_PER_ADDRESS: u32 = 10;
/// Passwords that may be tried in all in ten minutes.
pub const PASSWORDS_IN_ALL: u32 = 600;
/// API keys of an account that are in force: limits that hold per key hold per account, too.
pub const KEYS: u64 = 50;
/// Most characters of an API key's name.
pub const KEY_NAME_CHARS: usize = 100;
/// Credits of a new account.
pub const SIGNUP_BONUS: u64 = 100;

/// Largest overlay or texture image, in bytes.
pub const IMAGE_BYTES: u64 = 25 << 20;
/// Overlays of an account.
pub const OVERLAYS: u64 = 100;
/// Textures of an account.
pub const TEXTURES: u64 = 100;
/// Bytes of all textures of an account.
pub const TEXTURES_BYTES: u64 = 500 << 20;
/// Environments of an account.
pub const ENVS: u64 = 20;
/// Bytes of all environments of an account.
pub const ENVS_BYTES: u64 = 200 << 20;
/// Largest part of an environment, in bytes.
pub const ENV_PART_BYTES: u64 = 48 << 20;
/// Views of a dataset with cameras of the user's own.
pub const DATASET_VIEWS: usize = 10_000;

/// Lifetime of a signed URL when the call does not say, in seconds.
pub const EXPIRES_DEFAULT_SECS: i64 = 3600;
/// Shortest lifetime of a signed URL, in seconds.
pub const EXPIRES_MIN_SECS: i64 = 60;
/// Longest lifetime of a signed URL, in seconds.
pub const EXPIRES_MAX_SECS: i64 = 604_800;
/// A sign-in link works for this long when nobody says otherwise, in seconds.
pub const SIGN_IN_LINK_SECS: i64 = 24 * 3600;
/// A browser is signed out after this long, in seconds.
pub const SESSION_SECS: i64 = 14 * 24 * 3600;
/// A browser that asks for nothing for this long is signed out, in seconds.
pub const SESSION_IDLE_SECS: i64 = 3 * 24 * 3600;
/// Links to put a file that an account may ask for within the lifetime of a staged file, without finalizing them.
pub const STAGED_UPLOADS: u64 = 100;
/// A staged file that is not finalized is removed after this long, in seconds.
pub const STAGING_LIFETIME_SECS: i64 = 48 * 3600;

/// Lifetime of a signed URL: what is wanted, within bounds.
pub fn clamp_expires_secs(wanted: Option<i64>) -> i64 {
    wanted.unwrap_or(EXPIRES_DEFAULT_SECS).clamp(EXPIRES_MIN_SECS, EXPIRES_MAX_SECS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lifetimes_are_clamped_not_refused() {
        let cases = [(None, 3600), (Some(59), 60), (Some(60), 60), (Some(604_801), 604_800), (Some(-5), 60)];
        for (wanted, expected) in cases {
            assert_eq!(clamp_expires_secs(wanted), expected);
        }
    }
}
