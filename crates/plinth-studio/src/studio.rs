//! What handlers share.

use std::sync::Arc;

use plinth_service::Service;
use url::Url;

/// What handlers share. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Studio {
    pub(crate) service: Service,
    pub(crate) site: Arc<Site>,
}

/// Where browsers reach the pages.
#[derive(Debug)]
pub(crate) struct Site {
    /// The whole address, without a slash at its end.
    pub(crate) url: String,
    /// Scheme, host and port of it.
    pub(crate) origin: String,
    /// What stands before each path: nothing, or the folder that a proxy gives.
    pub(crate) path: String,
    /// Whether it is reached by HTTPS.
    pub(crate) is_secure: bool,
}

impl Studio {
    /// The pages of a service that browsers reach at `public_url`.
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

/// The address of a sign-in link with this secret.
pub fn sign_in_url(public_url: &Url, secret: &str) -> String {
    format!("{}/sign-in/{secret}", public_url.as_str().trim_end_matches('/'))
}
