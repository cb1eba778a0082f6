//! How much of a request's body is read on after the request was rejected.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use plinth_spec::limits;

/// Maximum number of bytes drained for an unauthenticated client.
const UNAUTHENTICATED_BYTES: u64 = 1 << 20;

/// Maximum number of bytes to drain from a request's body. The connection's middleware puts it into the request; whoever
/// authenticates the client extends it.
#[derive(Clone, Debug)]
pub struct DrainLimit(Arc<AtomicU64>);

impl Default for DrainLimit {
    fn default() -> Self {
        Self(Arc::new(AtomicU64::new(UNAUTHENTICATED_BYTES)))
    }
}

impl DrainLimit {
    /// Raises the limit to the largest model file, for a client that has shown an API key, a session or a signed link.
    pub fn extend(&self) {
        self.0.store(limits::MODEL_FILE_BYTES, Ordering::Relaxed);
    }

    /// Returns the limit in bytes.
    pub fn bytes(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Returns whether the client is authenticated.
    pub fn is_extended(&self) -> bool {
        self.bytes() > UNAUTHENTICATED_BYTES
    }
}
