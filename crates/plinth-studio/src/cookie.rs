//! The session cookie.

use axum::http::{HeaderMap, HeaderValue, header};
use cookie::time::Duration;
use cookie::{Cookie, SameSite};
use plinth_spec::limits;

use crate::studio::Site;

/// Returns the name of the cookie. The prefix `__Host-` makes browsers accept the cookie only over HTTPS, and only from
/// the host itself.
const fn name(site: &Site) -> &'static str {
    if site.is_secure { "__Host-plinth_session" } else { "plinth_session" }
}

/// Returns the secret of the session from the cookies of a request.
pub(crate) fn read(site: &Site, headers: &HeaderMap) -> Option<String> {
    let texts = headers.get_all(header::COOKIE).into_iter().filter_map(|value| value.to_str().ok());
    let mut cookies = texts.flat_map(Cookie::split_parse).flatten();
    cookies.find(|cookie| cookie.name() == name(site)).map(|cookie| cookie.value().to_owned())
}

/// Returns the `Set-Cookie` value that stores the secret of the session.
pub(crate) fn set(site: &Site, secret: String) -> HeaderValue {
    header_value(site, secret, Duration::seconds(limits::SESSION_SECS))
}

/// Returns the `Set-Cookie` value that deletes the session cookie.
pub(crate) fn clear(site: &Site) -> HeaderValue {
    header_value(site, String::new(), Duration::ZERO)
}

fn header_value(site: &Site, secret: String, max_age: Duration) -> HeaderValue {
    // With `Lax`, browsers send the cookie if a user follows a link from another site, so the user is still signed in.
    // The module `csrf` rejects forms that other sites submit.
    let cookie = Cookie::build((name(site), secret))
        .path("/")
        .http_only(true)
        .same_site(SameSite::Lax)
        .secure(site.is_secure)
        .max_age(max_age);
    #[expect(clippy::expect_used, reason = "secrets are letters and digits")]
    HeaderValue::from_str(&cookie.to_string()).expect("letters and digits")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(is_secure: bool) -> Site {
        Site { url: String::new(), origin: String::new(), path: String::new(), is_secure }
    }

    #[test]
    fn over_https_the_cookie_has_the_host_prefix() {
        assert_eq!(
            set(&site(true), "s".to_owned()),
            "__Host-plinth_session=s; HttpOnly; SameSite=Lax; Secure; Path=/; Max-Age=1209600"
        );
        assert_eq!(clear(&site(false)), "plinth_session=; HttpOnly; SameSite=Lax; Path=/; Max-Age=0");
    }

    #[test]
    fn the_session_cookie_is_read_among_other_cookies() {
        let mut headers = HeaderMap::new();
        headers.append(header::COOKIE, HeaderValue::from_static("a=b; plinth_session=s; c"));
        assert_eq!(read(&site(false), &headers).as_deref(), Some("s"));
        assert_eq!(
            read(&site(true), &headers),
            None,
            "without HTTPS, anybody in the network could have set the cookie"
        );
    }
}
