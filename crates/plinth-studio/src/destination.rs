//! The page that a browser gets after its user has signed in.

use axum::http::Uri;
use axum::http::uri::PathAndQuery;
use axum::response::Redirect;
use url::form_urlencoded::Serializer;

use crate::studio::Studio;

/// The library, which is the destination unless another page was requested.
const HOME: &str = "/";
/// Maximum length of the path, in bytes. It is far below the size limits of forms and of request lines.
const MAX_BYTES: usize = 2048;

/// Path and query string of the page that a browser gets after the sign-in. Does not contain the path prefix of the site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Destination(String);

impl Destination {
    pub(crate) fn home() -> Self {
        Self(HOME.to_owned())
    }

    /// Returns the page of a request.
    pub(crate) fn of(uri: &Uri) -> Self {
        Self::parse(uri.path_and_query().map_or(HOME, PathAndQuery::as_str))
    }

    /// Returns the page with this path and query string, or for a file the page that has links to it. Returns the library if the text
    /// is too long, or if a browser could take it for the address of another site.
    pub(crate) fn parse(text: &str) -> Self {
        if !is_own_path(text) {
            return Self::home();
        }
        Self(page_of_file(text).unwrap_or_else(|| text.to_owned()))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Redirects to the page.
    pub(crate) fn redirect(&self, studio: &Studio) -> Redirect {
        Redirect::to(&format!("{}{}", studio.site.path, self.0))
    }

    /// Redirects to the sign-in page, from which the page is reached.
    pub(crate) fn redirect_to_sign_in(&self, studio: &Studio) -> Redirect {
        // The address of the library shows the sign-in page to a visitor who is not signed in.
        if self.0 == HOME {
            return self.redirect(studio);
        }
        let query = Serializer::new(String::new()).append_pair("to", &self.0).finish();
        Redirect::to(&format!("{}/sign-in?{query}", studio.site.path))
    }
}

/// Returns whether a text is a path of this site. Browsers take `//host` and `/\host` for the address of another host, and ignore tabs
/// and line breaks in an address.
fn is_own_path(text: &str) -> bool {
    text.starts_with('/')
        && !text.starts_with("//")
        && text.len() <= MAX_BYTES
        && text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\')
}

/// Returns the page that has links to a file; `None` if the path is that of a page. A sign-in must not lead to a file: the browser
/// would save it and keep showing the sign-in page, and the content security policy forbids a form to lead to a store elsewhere.
fn page_of_file(text: &str) -> Option<String> {
    let path = text.split('?').next().unwrap_or_default();
    let parts: Vec<&str> = path.split('/').skip(1).collect();
    match *parts.as_slice() {
        ["renders", "events"] => Some("/renders".to_owned()),
        ["renders", id, "files" | "bundle" | "hls" | "dataset" | "events", ..] => Some(format!("/renders/{id}")),
        ["models", id, "file"] => Some(format!("/models/{id}")),
        ["credits", "statement.csv"] => Some("/credits".to_owned()),
        [list @ ("environments" | "images"), .., "picture"] => Some(format!("/{list}")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_leads_to_its_page() {
        for (file, page) in [
            ("/renders/k3Jd92LmQx7a/files/web", "/renders/k3Jd92LmQx7a"),
            ("/renders/k3Jd92LmQx7a/bundle?a=1", "/renders/k3Jd92LmQx7a"),
            ("/renders/k3Jd92LmQx7a/hls/a/b.m4s", "/renders/k3Jd92LmQx7a"),
            ("/renders/events?ids=a", "/renders"),
            ("/models/k3Jd92LmQx7a/file", "/models/k3Jd92LmQx7a"),
            ("/credits/statement.csv", "/credits"),
            ("/images/overlays/k3Jd92LmQx7a/picture", "/images"),
            ("/environments/k3Jd92LmQx7a/picture", "/environments"),
        ] {
            assert_eq!(Destination::parse(file).as_str(), page);
        }
        for page in ["/renders/k3Jd92LmQx7a", "/models/k3Jd92LmQx7a/compose?look=a", "/credits?bought=a", "/images"] {
            assert_eq!(Destination::parse(page).as_str(), page);
        }
    }

    #[test]
    fn only_paths_of_this_site_are_destinations() {
        for own in ["/", "/keys", "/renders/k3Jd92LmQx7a?a=1&b=%2F", "/?search=oak+chair", "/%2f%2fevil.example"] {
            assert_eq!(Destination::parse(own).as_str(), own);
        }
        let long = format!("/{}", "x".repeat(MAX_BYTES));
        for other in [
            "",
            "keys",
            "//evil.example",
            "///evil.example",
            "/\\evil.example",
            "/a\\b",
            "\\\\evil.example",
            "/\t/evil.example",
            "/\n/evil.example",
            " //evil.example",
            "/a b",
            "/\u{fc}",
            "/\u{7f}",
            "https://evil.example",
            "javascript:alert(1)",
            "%2f%2fevil.example",
            &long,
        ] {
            assert_eq!(Destination::parse(other), Destination::home(), "{other:?}");
        }
    }
}
