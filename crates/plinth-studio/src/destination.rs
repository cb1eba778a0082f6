//! The page to which a sign-in, a form or the page of an error leads.

use axum::http::uri::PathAndQuery;
use axum::http::{HeaderMap, Uri, header};
use axum::response::Redirect;
use url::form_urlencoded::Serializer;
use url::{Position, Url};

use crate::csrf::is_own_origin;
use crate::studio::Studio;

/// The library, which is the destination unless another page was requested.
const HOME: &str = "/";
/// Maximum length of the path, in bytes. It is far below the size limits of forms and of request lines.
const MAX_BYTES: usize = 2048;

/// Path and query string of a page. Does not contain the path prefix of the site.
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

    /// Returns the page with the form that a browser has sent, which the header `Referer` names. Returns the library if the header is
    /// missing or names a page of another site.
    pub(crate) fn of_form(studio: &Studio, headers: &HeaderMap) -> Self {
        let page = headers.get(header::REFERER).and_then(|value| Url::parse(value.to_str().ok()?).ok());
        let own = page.filter(|page| is_own_origin(&page.origin().ascii_serialization(), headers, &studio.site.origin));
        let prefix = studio.site.path.as_str();
        let path = own.as_ref().and_then(|page| page[Position::BeforePath..Position::AfterQuery].strip_prefix(prefix));
        path.map_or_else(Self::home, Self::parse)
    }

    /// Returns the page with this path and query string, or another page for an address that has none: for a file the page that has
    /// links to it, and for an address that only receives forms the page that leads to them. Returns the library if the text is too
    /// long, or if a browser could take it for the address of another site.
    pub(crate) fn parse(text: &str) -> Self {
        if !is_own_path(text) {
            return Self::home();
        }
        Self(page_instead(text).unwrap_or_else(|| text.to_owned()))
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

/// Returns the page that has links to a file, or that leads to the forms which an address receives; `None` if the path is that of a
/// page. A sign-in must not lead to a file: the browser would save it and keep showing the sign-in page, and the content security policy
/// forbids a form to lead to a store elsewhere.
fn page_instead(text: &str) -> Option<String> {
    let path = text.split('?').next().unwrap_or_default();
    let parts: Vec<&str> = path.split('/').skip(1).collect();
    match *parts.as_slice() {
        ["models", "bulk"] | ["looks", "order"] => Some(HOME.to_owned()),
        ["renders", "events" | "delete"] => Some("/renders".to_owned()),
        ["renders", id, "files" | "bundle" | "hls" | "dataset" | "events" | "links", ..] => {
            Some(format!("/renders/{id}"))
        }
        ["teams", id, "invite" | "hand-over"] => Some(format!("/teams/{id}")),
        ["join", link, "sign-in" | "sign-up"] => Some(format!("/join/{link}")),
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
    fn an_address_without_a_page_leads_to_one() {
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
        for (form, page) in [
            ("/models/bulk", "/"),
            ("/looks/order", "/"),
            ("/renders/delete", "/renders"),
            ("/renders/k3Jd92LmQx7a/links", "/renders/k3Jd92LmQx7a"),
            ("/teams/k3Jd92LmQx7a/invite", "/teams/k3Jd92LmQx7a"),
            ("/join/k3Jd92LmQx7a/sign-up", "/join/k3Jd92LmQx7a"),
        ] {
            assert_eq!(Destination::parse(form).as_str(), page);
        }
        for page in [
            "/renders/k3Jd92LmQx7a",
            "/renders/k3Jd92LmQx7a/delete",
            "/models/k3Jd92LmQx7a/compose?look=a",
            "/credits?bought=a",
            "/images",
        ] {
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
