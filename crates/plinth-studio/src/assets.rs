//! Serves the style sheets, the scripts, the pictures of looks and settings, and the icon. Except for the icon, the
//! path of each file contains a hash of all files, so browsers may cache the files for ever.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::Write as _;
use std::sync::LazyLock;

use axum::extract::Path;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use flate2::Compression;
use flate2::write::GzEncoder;
use plinth_api::accepts_gzip;

use crate::error::{PageError, Result};
use crate::{look_pictures, setting_pictures};

/// URL path of the icon, which contains no hash.
pub(crate) const ICON: &str = "/icon.svg";
const ICON_SVG: &str = include_str!("../assets/icon.svg");
const CSS: &str = "text/css; charset=utf-8";
/// The header `Cache-Control` of files whose path changes with their content.
const FOR_EVER: &str = "public, max-age=31536000, immutable";
const JSON: &str = "application/json";
const SCRIPT: &str = "text/javascript; charset=utf-8";

/// File name of the library that plays HLS streams. Pages load the library when a video starts.
const STREAM_PLAYER: &str = "hls.js";

/// Name, media type and content of each text file.
static FILES: LazyLock<[(&str, &str, Cow<'static, str>); 55]> = LazyLock::new(|| {
    [
        ("style.css", CSS, STYLE.into()),
        ("shell.js", SCRIPT, include_str!("../assets/js/shell.js").into()),
        ("times.js", SCRIPT, include_str!("../assets/js/times.js").into()),
        ("clipboard.js", SCRIPT, include_str!("../assets/js/clipboard.js").into()),
        ("session.js", SCRIPT, include_str!("../assets/js/session.js").into()),
        ("dom.js", SCRIPT, include_str!("../assets/js/dom.js").into()),
        ("sign_in.js", SCRIPT, include_str!("../assets/js/sign_in.js").into()),
        ("bulk.js", SCRIPT, include_str!("../assets/js/bulk.js").into()),
        ("library.js", SCRIPT, include_str!("../assets/js/library.js").into()),
        ("upload.js", SCRIPT, include_str!("../assets/js/upload.js").into()),
        ("events.js", SCRIPT, include_str!("../assets/js/events.js").into()),
        ("live.js", SCRIPT, include_str!("../assets/js/live.js").into()),
        ("overview.js", SCRIPT, include_str!("../assets/js/overview.js").into()),
        ("render.js", SCRIPT, include_str!("../assets/js/render.js").into()),
        ("share.js", SCRIPT, include_str!("../assets/js/share.js").into()),
        ("player.js", SCRIPT, include_str!("../assets/js/player.js").into()),
        ("dataset.js", SCRIPT, include_str!("../assets/js/dataset.js").into()),
        ("dataset_files.js", SCRIPT, include_str!("../assets/js/dataset_files.js").into()),
        ("view_stage.js", SCRIPT, include_str!("../assets/js/view_stage.js").into()),
        ("view_grid.js", SCRIPT, include_str!("../assets/js/view_grid.js").into()),
        ("depth.js", SCRIPT, include_str!("../assets/js/depth.js").into()),
        ("points.js", SCRIPT, include_str!("../assets/js/points.js").into()),
        ("cloud.js", SCRIPT, include_str!("../assets/js/cloud.js").into()),
        ("cloud_drawing.js", SCRIPT, include_str!("../assets/js/cloud_drawing.js").into()),
        ("upload_beside.js", SCRIPT, include_str!("../assets/js/upload_beside.js").into()),
        ("environments.js", SCRIPT, include_str!("../assets/js/environments.js").into()),
        (STREAM_PLAYER, SCRIPT, include_str!("../assets/vendor/hls.light.min.mjs").into()),
        ("preview.js", SCRIPT, include_str!("../assets/js/preview.js").into()),
        ("composer.js", SCRIPT, include_str!("../assets/js/composer.js").into()),
        ("control.js", SCRIPT, include_str!("../assets/js/control.js").into()),
        ("values.js", SCRIPT, include_str!("../assets/js/values.js").into()),
        ("look.js", SCRIPT, include_str!("../assets/js/look.js").into()),
        ("gestures.js", SCRIPT, include_str!("../assets/js/gestures.js").into()),
        ("steer.js", SCRIPT, include_str!("../assets/js/steer.js").into()),
        ("crosshair.js", SCRIPT, include_str!("../assets/js/crosshair.js").into()),
        ("surfaces.js", SCRIPT, include_str!("../assets/js/surfaces.js").into()),
        ("surface_actions.js", SCRIPT, include_str!("../assets/js/surface_actions.js").into()),
        ("decal_drag.js", SCRIPT, include_str!("../assets/js/decal_drag.js").into()),
        ("decals.js", SCRIPT, include_str!("../assets/js/decals.js").into()),
        ("free_view.js", SCRIPT, include_str!("../assets/js/free_view.js").into()),
        ("keyframes.js", SCRIPT, include_str!("../assets/js/keyframes.js").into()),
        ("timeline.js", SCRIPT, include_str!("../assets/js/timeline.js").into()),
        ("compare.js", SCRIPT, include_str!("../assets/js/compare.js").into()),
        ("cameras.js", SCRIPT, include_str!("../assets/js/cameras.js").into()),
        ("hidden_meshes.js", SCRIPT, include_str!("../assets/js/hidden_meshes.js").into()),
        ("finder.js", SCRIPT, include_str!("../assets/js/finder.js").into()),
        ("structure.js", SCRIPT, include_str!("../assets/js/structure.js").into()),
        ("looks.js", SCRIPT, include_str!("../assets/js/looks.js").into()),
        ("price.js", SCRIPT, include_str!("../assets/js/price.js").into()),
        ("order.js", SCRIPT, include_str!("../assets/js/order.js").into()),
        ("kept.js", SCRIPT, include_str!("../assets/js/kept.js").into()),
        ("history.js", SCRIPT, include_str!("../assets/js/history.js").into()),
        ("admin.js", SCRIPT, include_str!("../assets/js/admin.js").into()),
        ("copies.js", SCRIPT, include_str!("../assets/js/copies.js").into()),
        ("settings.json", JSON, plinth_spec::settings::schema().to_string().into()),
    ]
});
const STYLE: &str = concat!(
    include_str!("../assets/css/base.css"),
    include_str!("../assets/css/shell.css"),
    include_str!("../assets/css/parts.css"),
    include_str!("../assets/css/library.css"),
    include_str!("../assets/css/composer.css"),
    include_str!("../assets/css/account.css"),
    include_str!("../assets/css/looks.css"),
    include_str!("../assets/css/result.css"),
    include_str!("../assets/css/dataset.css"),
    include_str!("../assets/css/environments.css"),
    include_str!("../assets/css/images.css"),
    include_str!("../assets/css/admin.css"),
);

static FOLDER: LazyLock<String> = LazyLock::new(|| {
    let mut hasher = DefaultHasher::new();
    FILES.as_slice().hash(&mut hasher);
    look_pictures::ALL.hash(&mut hasher);
    setting_pictures::ALL.hash(&mut hasher);
    format!("/assets/{:016x}", hasher.finish())
});
/// Compressed content of each text file, by name.
static COMPRESSED: LazyLock<BTreeMap<&str, Vec<u8>>> = LazyLock::new(|| {
    let compressed = |(name, _type, text): &(&'static str, &str, Cow<'static, str>)| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(text.as_bytes()).ok()?;
        Some((*name, encoder.finish().ok()?))
    };
    FILES.iter().filter_map(compressed).collect()
});

/// Returns the URL path under which all files are served.
pub(crate) fn folder() -> &'static str {
    &FOLDER
}

/// Sends a file.
/// Errors: there is no file with this name, or `version` is not the hash of the current files.
pub(crate) async fn file(Path((version, name)): Path<(String, String)>, request: HeaderMap) -> Result<Response> {
    if !FOLDER.ends_with(&format!("/{version}")) {
        return Err(PageError::not_found());
    }
    let mut pictures = look_pictures::ALL.iter().chain(setting_pictures::ALL);
    if let Some((_, picture)) = pictures.find(|(known, _)| *known == name) {
        let headers = [(header::CONTENT_TYPE, "image/webp"), (header::CACHE_CONTROL, FOR_EVER)];
        return Ok((headers, *picture).into_response());
    }
    let found = FILES.iter().find(|(known, ..)| *known == name);
    let (name, content_type, text) = found.ok_or_else(PageError::not_found)?;
    let mut response = match COMPRESSED.get(name).filter(|_| accepts_gzip(&request)) {
        Some(bytes) => ([(header::CONTENT_ENCODING, "gzip")], bytes.as_slice()).into_response(),
        None => text.as_ref().into_response(),
    };
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(FOR_EVER));
    headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    Ok(response)
}

pub(crate) async fn icon() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "image/svg+xml"), (header::CACHE_CONTROL, "public, max-age=86400")], ICON_SVG)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_a_first_visit_loads_is_small() {
        let loaded_at_once = COMPRESSED.iter().filter(|(name, _bytes)| **name != STREAM_PLAYER);
        let bytes: usize = loaded_at_once.map(|(_name, bytes)| bytes.len()).sum();
        assert_eq!(COMPRESSED.len(), FILES.len());
        assert!(bytes < 100_000, "{bytes} bytes");
    }
}
