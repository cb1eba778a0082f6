//! Limits of requests, files and accounts.

/// Largest model file, in bytes.
pub const MODEL_FILE_BYTES: u64 = 1 << 30;
/// Largest total size of an unpacked ZIP archive, in bytes.
pub const ZIP_UNPACKED_BYTES: u64 = 500_000_000;
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
/// Maximum number of renders in one quote request.
pub const QUOTE_ITEMS: usize = 100;
/// Maximum length of an asset ID or animation name in settings, in characters.
pub const NAME_CHARS: usize = 256;

/// Maximum number of renders in one batch.
pub const BATCH_ITEMS: usize = 100;
/// Default number of rows of a list page.
pub const PAGE_DEFAULT: u32 = 50;
/// Maximum number of rows of a list page.
pub const PAGE_MAX: u32 = 100;
/// Maximum number of renders in the details of a model. Clients get further renders from the list of renders.
pub const MODEL_RENDERS: u32 = 1000;
/// Maximum total size of the render settings in the details of a model, in characters.
pub const MODEL_RENDERS_CHARACTERS: u64 = 4 << 20;
/// Largest accepted offset in a list. In longer lists, clients must use cursors.
pub const OFFSET_MAX: u64 = i64::MAX as u64;
/// Maximum number of tags that a model may have.
pub const TAGS: usize = 20;
/// Maximum length of a tag, in characters.
pub const TAG_CHARS: usize = 100;
/// Maximum length of a title, an SKU or a file name, in characters.
pub const TITLE_CHARS: usize = 500;
/// Maximum length of an asset's name, in characters.
pub const ASSET_NAME_CHARS: usize = 100;
/// Maximum length of an overlay's description, in characters.
pub const OVERLAY_DESCRIPTION_CHARS: usize = 500;
/// Maximum size of a JSON body without render settings, in bytes.
pub const JSON_SMALL_BYTES: usize = 64 << 10;
/// Maximum size of a JSON body or form field with the settings of one render, in bytes.
pub const JSON_RENDER_BYTES: usize = 1 << 20;
/// Maximum size of a JSON body with the settings of many renders, in bytes.
pub const JSON_BATCH_BYTES: usize = 4 << 20;
/// Maximum number of values in a JSON body. Each number, string, array, object and key counts. Without this limit,
/// parsed JSON could take 100 times as much memory as its text.
pub const JSON_VALUES: usize = 65_536;
/// Maximum number of values in a JSON body with the settings of many renders: about 4000 per render, which is more than
/// those of 64 keyframes and 64 decals.
pub const JSON_BATCH_VALUES: usize = 400_000;
/// Maximum size of a form field other than files and `renderSettings`, in bytes.
pub const FORM_FIELD_BYTES: usize = 16 << 10;
/// Maximum total size of all unknown fields of a form, in bytes.
pub const FORM_UNKNOWN_BYTES: usize = 1 << 20;
/// Maximum number of fields of a form.
pub const FORM_FIELDS: usize = 256;
/// Maximum number of fields of a form of the web UI without files. Settings with lists have a field for each entry.
pub const PAGE_FORM_FIELDS: usize = 2000;
/// Maximum size of a form of the web UI with render settings, in bytes. It is large enough for materials, decals, keyframes and
/// mesh names at their limits.
pub const PAGE_FORM_BYTES: usize = 512 << 10;
/// Maximum number of files in one form of the web UI.
pub const FORM_FILES: usize = 100;
/// Maximum number of bytes between the contents of two parts of a form, such as boundaries and headers.
pub const FORM_HEAD_BYTES: usize = 64 << 10;

/// Maximum number of requests per token in one minute.
pub const REQUESTS_PER_MINUTE: u32 = 300;
/// Maximum number of ingest requests per token in ten minutes.
pub const INGESTS_PER_10_MINUTES: u32 = 20;
/// Timeout in seconds for connecting to the server of an ingested URL, and for receiving the headers of its response.
pub const INGEST_ANSWER_SECS: u64 = 20;
/// Time in seconds after which an ingest download without new data fails.
pub const INGEST_STALL_SECS: u64 = 45;
/// Timeout of a whole ingest download, in seconds.
pub const INGEST_TOTAL_SECS: u64 = 10 * 60;
/// Maximum number of redirects that an ingest follows.
pub const INGEST_REDIRECTS: usize = 5;
/// Maximum number of times that a render is requeued because its worker stopped responding.
pub const LOSSES: i64 = 2;
/// Time limit for rendering a free preview, in seconds.
pub const PREVIEW_SECS: u64 = 300;
/// Maximum number of free system previews per account in 24 hours.
pub const FREE_UPLOADS_PER_DAY: u32 = 100;
/// Maximum total size of the stored models of all workspaces of one account, in bytes.
pub const ACCOUNT_STORAGE_BYTES: u64 = 100 << 30;
/// Maximum number of passwords that one client may try for one account in ten minutes.
pub const PASSWORDS_PER_CLIENT_AND_ACCOUNT: u32 = 10;
/// Maximum number of passwords that one client may try in ten minutes.
pub const PASSWORDS_PER_CLIENT: u32 = 60;
/// Maximum number of passwords that clients may try in ten minutes through an untrusted reverse proxy, all of them
/// together.
pub const PASSWORDS_PER_UNTRUSTED_PROXY: u32 = 600;
/// Maximum number of passwords that may be tried for one account in ten minutes, by all clients together.
pub const PASSWORDS_PER_ACCOUNT: u32 = 100;
/// Maximum number of active API keys per account. Because the number of keys is limited, each limit per key also limits
/// the account.
pub const KEYS: u64 = 50;
/// Maximum length of an API key's name, in characters.
pub const KEY_NAME_CHARS: usize = 100;
/// Maximum number of purchases that one account may start in ten minutes.
pub const PURCHASES: u32 = 20;
/// Largest event of the payment provider, in bytes.
pub const PAYMENT_EVENT_BYTES: usize = 256 << 10;
/// Maximum age of an event of the payment provider, in seconds.
pub const PAYMENT_EVENT_SECS: i64 = 300;
/// Default balance below which the web UI suggests buying credits.
pub const LOW_BALANCE: u64 = 50;
/// Lifetime of a link that sets a new password, in seconds.
pub const PASSWORD_LINK_SECS: i64 = 3600;
/// Maximum number of links for a new password that are mailed to one address in an hour.
pub const PASSWORD_LINKS_PER_ADDRESS: u32 = 3;
/// Maximum number of links for a new password that one client may request in an hour.
pub const PASSWORD_LINKS_PER_CLIENT: u32 = 20;
/// Lifetime of an invitation to a team, in seconds.
pub const INVITATION_SECS: i64 = 7 * 24 * 3600;
/// Maximum number of teams that an account may own.
pub const TEAMS: u64 = 20;
/// Maximum number of members of a team.
pub const TEAM_MEMBERS: usize = 100;
/// Maximum number of open invitations to a team.
pub const INVITATIONS: usize = 50;
/// Maximum number of invitations that an account may create in an hour.
pub const INVITATIONS_PER_HOUR: u32 = 30;
/// Maximum length of a team's name, in characters.
pub const TEAM_NAME_CHARS: usize = 100;
/// Credits that a new account receives.
pub const SIGNUP_BONUS: u64 = 100;

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
/// Longer side of the smallest preview, in pixels.
pub const PREVIEW_SIDE_MIN: u32 = 64;
/// Longer side of the largest preview, in pixels.
pub const PREVIEW_SIDE_MAX: u32 = 1280;
/// Longer side of a preview if the request names none, in pixels.
pub const PREVIEW_SIDE_DEFAULT: u32 = 640;
/// Maximum number of looks that a workspace can save.
pub const LOOKS: u64 = 100;
/// Maximum total size of the settings of a workspace's looks as JSON, in characters. It is enough for about eight looks with
/// the largest settings.
pub const LOOKS_CHARACTERS: u64 = 4 << 20;
/// Maximum length of a look's name, in characters.
pub const LOOK_NAME_CHARS: usize = 100;
/// Largest panorama from which the web UI creates an environment, in bytes. It is the size of 8192 × 4096 texels with
/// three half floats each, plus a margin.
pub const PANORAMA_BYTES: u64 = 256 << 20;
/// Maximum width of an environment in pixels. The renderer scales wider environments down.
pub const ENV_WIDTH: u32 = 4096;
/// Largest file of an environment, in bytes.
pub const ENV_PART_BYTES: u64 = 48 << 20;
/// Maximum number of views of a dataset whose cameras come from the request.
pub const DATASET_VIEWS: usize = 10_000;

/// Maximum length of an e-mail address, in bytes.
pub const EMAIL_BYTES: usize = 254;
/// Minimum length of a password, in characters.
pub const PASSWORD_MIN_CHARS: usize = 8;
/// Maximum length of the URL from which a model is fetched, in characters.
pub const URL_CHARS: usize = 8192;

/// Default lifetime of a signed URL, in seconds.
pub const EXPIRES_DEFAULT_SECS: i64 = 3600;
/// Shortest lifetime of a signed URL, in seconds.
pub const EXPIRES_MIN_SECS: i64 = 60;
/// Longest lifetime of a signed URL, in seconds.
pub const EXPIRES_MAX_SECS: i64 = 604_800;
/// Default lifetime of a sign-in link, in seconds.
pub const SIGN_IN_LINK_SECS: i64 = 24 * 3600;
/// Longest lifetime of a sign-in link, in seconds.
pub const SIGN_IN_LINK_MAX_SECS: i64 = 30 * 24 * 3600;
/// Longest lifetime of an API key that expires, in seconds.
pub const KEY_MAX_SECS: i64 = 10 * 365 * 24 * 3600;
/// Lifetime of a browser session, in seconds.
pub const SESSION_SECS: i64 = 14 * 24 * 3600;
/// Time in seconds without a request after which a browser session expires.
pub const SESSION_IDLE_SECS: i64 = 3 * 24 * 3600;
/// Maximum number of staged uploads per account that are neither finalized nor expired.
pub const STAGED_UPLOADS: u64 = 100;
/// Maximum total size in bytes of an account's staged files that are not finalized yet.
pub const STAGED_BYTES: u64 = 20 << 30;
/// Maximum number of model files that an account may upload at the same time. Further uploads wait.
pub const UPLOADS_AT_ONCE: u64 = 16;
/// Maximum number of concurrent requests of an account. Further requests are rejected.
pub const REQUESTS_AT_ONCE: u32 = 256;
/// Maximum number of concurrent downloads of one file of a local store by signed links. Further downloads are rejected.
pub const DOWNLOADS_PER_FILE: u32 = 64;
/// Maximum number of previews of an account that wait while another preview of the account is drawn. Further requests
/// are rejected.
pub const PREVIEWS_WAITING: usize = 8;
/// Maximum number of open pages on which an account watches the progress of renders.
pub const EVENT_STREAMS_AT_ONCE: u64 = 20;
/// Factor by which a request limit per API key is multiplied to get the limit for all keys of an account together.
pub const ACCOUNT_FACTOR: u32 = 10;
/// Lifetime of a staged file that is not finalized, in seconds.
pub const STAGING_LIFETIME_SECS: i64 = 48 * 3600;
/// Maximum length of the reason that an administrator gives for an action, in characters.
pub const ADMIN_REASON_CHARS: usize = 500;
/// Maximum number of credits that an administrator can grant or remove at once.
pub const GRANT_CREDITS: u64 = 1_000_000_000;

/// Returns the lifetime of a signed URL in seconds: the requested lifetime, clamped to the allowed range, or the
/// default lifetime if no lifetime is requested.
pub fn clamp_expires_secs(requested: Option<i64>) -> i64 {
    requested.unwrap_or(EXPIRES_DEFAULT_SECS).clamp(EXPIRES_MIN_SECS, EXPIRES_MAX_SECS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lifetimes_out_of_range_are_clamped() {
        let cases = [(None, 3600), (Some(59), 60), (Some(60), 60), (Some(604_801), 604_800), (Some(-5), 60)];
        for (requested, expected) in cases {
            assert_eq!(clamp_expires_secs(requested), expected);
        }
    }
}
