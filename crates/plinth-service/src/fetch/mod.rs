//! Downloads files from URLs that callers send. URLs that lead into private networks are rejected.

mod content;
mod download;
mod guard;
mod names;

pub(crate) use download::{Download, parse_url};
pub use guard::HostRule;
pub use names::Names;

use std::time::Duration;

use plinth_spec::limits;

/// Options for downloading files from URLs.
#[derive(Clone, Debug)]
pub struct FetchOptions {
    /// Hosts that are allowed although they are not public.
    pub allowed_hosts: Vec<HostRule>,
    /// Source of host addresses.
    pub names: Names,
    /// Timeout for connecting to a server, and for its response to the HEAD request.
    pub answer: Duration,
    /// Timeout for receiving the next bytes of a download.
    pub stall: Duration,
    /// Time limit of a whole download.
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
