//! Limits of JSON bodies and forms.

use super::models::{TAG_CHARS, TAGS, TITLE_CHARS};

/// Maximum size of a JSON body without render settings, in bytes.
pub const JSON_SMALL_BYTES: usize = 64 << 10;
/// Maximum size of a JSON body or form field with the settings of one render, in bytes. It is enough for all mesh names that the
/// settings may have, with each character escaped as two UTF-16 units (`\ud83d\ude00`).
pub const JSON_RENDER_BYTES: usize = 2 << 20;
/// Maximum size of a JSON body with the settings of many renders, in bytes. It is enough for 100 renders with as many mesh names
/// or material edits as the settings may have, if a name has 80 characters on average.
pub const JSON_BATCH_BYTES: usize = 8 << 20;
/// Maximum number of values in a JSON body. Each number, string, array, object and key counts. Without this limit,
/// parsed JSON could take 100 times as much memory as its text.
pub const JSON_VALUES: usize = 65_536;
/// Maximum number of values in a JSON body with the settings of many renders: about 6000 per render, which is more than
/// those of 64 keyframes and 64 decals, and than those of 240 material edits with nine numbers each.
pub const JSON_BATCH_VALUES: usize = 600_000;
/// Maximum number of fields of a form.
pub const FORM_FIELDS: usize = 256;
/// Maximum size of a form field other than files and `renderSettings`, in bytes.
pub const FORM_FIELD_BYTES: usize = 16 << 10;
/// Maximum total size of all unknown fields of a form, in bytes.
pub const FORM_UNKNOWN_BYTES: usize = 1 << 20;
/// Maximum number of bytes between the contents of two parts of a form, such as boundaries and headers.
pub const FORM_HEAD_BYTES: usize = 64 << 10;
/// Maximum number of files in one form of the web UI.
pub const FORM_FILES: usize = 100;
/// Maximum number of fields of a form of the web UI without files. Settings with lists have a field for each entry.
pub const PAGE_FORM_FIELDS: usize = 2000;
/// Maximum size of a form of the web UI with render settings, in bytes. It is large enough for materials, decals, keyframes and
/// mesh names at their limits.
pub const PAGE_FORM_BYTES: usize = 2 << 20;
/// Maximum size of the forms of the web UI that edit one model or the chosen models of the library, in bytes. The form of one
/// model contains title, SKU and tags twice: as the user edited them, and as the page showed them at first. A character takes up
/// to 4 bytes in UTF-8, and each of these bytes 3 in the encoding of forms. A tag is followed by a comma and a space. 1 KiB is
/// left for the names of the fields and the CSRF token.
pub const MODEL_FORM_BYTES: usize = 2 * (2 * TITLE_CHARS + TAGS * (TAG_CHARS + 2)) * 4 * 3 + (1 << 10);
