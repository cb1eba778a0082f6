//! State shared by all handlers.

use std::sync::Arc;

use plinth_service::Service;

/// State shared by all handlers. Cloning it is cheap.
#[derive(Clone, Debug)]
pub struct Api {
    pub(crate) service: Service,
    pub(crate) public_url: Arc<str>,
}

impl Api {
    /// Creates the API of `service`, which clients reach at `public_url`.
    pub fn new(service: Service, public_url: &str) -> Self {
        Self { service, public_url: public_url.trim_end_matches('/').into() }
    }
}
