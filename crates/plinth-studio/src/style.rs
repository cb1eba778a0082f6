//! The style sheet and the icon.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::LazyLock;

use axum::http::header;
use axum::response::IntoResponse;

/// URL path of the icon.
pub(crate) const ICON: &str = "/icon.svg";

const SHEET: &str = include_str!("../assets/style.css");
const ICON_SVG: &str = include_str!("../assets/icon.svg");
/// The path contains a hash of the content, so browsers may cache the style sheet without expiry.
static PATH: LazyLock<String> = LazyLock::new(|| {
    let mut hasher = DefaultHasher::new();
    SHEET.hash(&mut hasher);
    format!("/style-{:016x}.css", hasher.finish())
});

/// Returns the URL path of the style sheet.
pub(crate) fn path() -> &'static str {
    &PATH
}

pub(crate) async fn sheet() -> impl IntoResponse {
    let cache_control = "public, max-age=31536000, immutable";
    ([(header::CONTENT_TYPE, "text/css; charset=utf-8"), (header::CACHE_CONTROL, cache_control)], SHEET)
}

pub(crate) async fn icon() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "image/svg+xml"), (header::CACHE_CONTROL, "public, max-age=86400")], ICON_SVG)
}
