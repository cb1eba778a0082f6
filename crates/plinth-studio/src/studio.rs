//! State shared by all handlers.

use std::sync::Arc;

use plinth_service::Service;
use url::Url;

/// State shared by all handlers. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Studio {
    pub(crate) service: Service,
    pub(crate) site: Arc<Site>,
}

/// The public URL of the web UI, as a whole and split into its parts.
#[derive(Debug)]
pub(crate) struct Site {
    /// The whole URL, without a trailing slash.
    pub(crate) url: String,
    /// Origin of the URL: scheme, host and port.
    pub(crate) origin: String,
    /// Path prefix of every page: empty, or the path under which a reverse proxy serves the UI.
    pub(crate) path: String,
    /// Whether the URL's scheme is HTTPS.
    pub(crate) is_secure: bool,
}

impl Studio {
    /// Creates the web UI of `service`, which browsers reach at `public_url`.
    pub fn new(service: Service, public_url: &Url) -> Self {
        let site = Site {
            url: public_url.as_str().trim_end_matches('/').to_owned(),
            origin: public_url.origin().ascii_serialization(),
            path: public_url.path().trim_end_matches('/').to_owned(),
            is_secure: public_url.scheme() == "https",
        };
        Self { service, site: Arc::new(site) }
    }
}

/// Returns the URL of the sign-in link with this secret.
pub fn sign_in_url(public_url: &Url, secret: &str) -> String {
    format!("{}/sign-in/{secret}", public_url.as_str().trim_end_matches('/'))
}
