//! What handlers share.

use std::sync::Arc;

use plinth_service::Service;

/// What handlers share. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Api {
    pub(crate) service: Service,
    pub(crate) public_url: Arc<str>,
}

impl Api {
    /// The interface of a service that clients reach at `public_url`.
    pub fn new(service: Service, public_url: &str) -> Self {
        Self { service, public_url: public_url.trim_end_matches('/').into() }
    }
}
