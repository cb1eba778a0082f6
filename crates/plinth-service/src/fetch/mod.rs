//! Fetching what a caller's URL leads to, and nothing inside the house.

mod download;
mod guard;
mod names;

pub(crate) use download::{download, parse_url};
pub use guard::HostRule;
pub use names::Names;

use std::time::Duration;

use plinth_spec::limits;

/// How URLs are fetched.
#[derive(Clone, Debug)]
pub struct FetchOptions {
    /// Hosts that may be fetched from although they are not public.
    pub allowed_hosts: Vec<HostRule>,
    /// What names mean.
    pub names: Names,
    /// A server accepts a connection, and answers the question whether there is something, within this time.
    pub answer: Duration,
    /// A download ends after this long without progress.
    pub stall: Duration,
    /// A download ends after this long.
    pub total: Duration,
}

impl Default for FetchOptions {
    fn default() -> Self {
        Self {
            allowed_hosts: Vec::new(),
            names: Names::System,
            answer: Duration::from_secs(limits::INGEST_ANSWER_SECS),
            stall: Duration::from_secs(limits::INGEST_STALL_SECS),
            total: Duration::from_secs(limits::INGEST_TOTAL_SECS),
        }
    }
}
