//! Limits how much of a request's body is read and discarded after the request was rejected.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use plinth_spec::limits;

/// Maximum number of bytes to read and discard for an unauthenticated client.
const UNAUTHENTICATED_BYTES: u64 = 1 << 20;

/// Maximum number of bytes to read from the body of a rejected request and discard. Middleware adds the limit to each
/// request as an extension. The code that authenticates the client raises the limit.
#[derive(Clone, Debug)]
pub struct DrainLimit(Arc<AtomicU64>);

impl Default for DrainLimit {
    fn default() -> Self {
        Self(Arc::new(AtomicU64::new(UNAUTHENTICATED_BYTES)))
    }
}

impl DrainLimit {
    /// Raises the limit to the maximum size of a model file. Called when the client has sent a valid API key, session
    /// or signed link.
    pub fn extend(&self) {
        self.0.store(limits::MODEL_FILE_BYTES, Ordering::Relaxed);
    }

    /// Returns the limit in bytes.
    pub fn bytes(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Returns whether the limit was raised, which means that the client is authenticated.
    pub fn is_extended(&self) -> bool {
        self.bytes() > UNAUTHENTICATED_BYTES
    }
}
