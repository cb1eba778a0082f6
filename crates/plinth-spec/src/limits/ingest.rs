//! Limits of downloads of models from a URL.

/// Maximum length of the URL from which a model is fetched, in characters.
pub const URL_CHARS: usize = 8192;
/// Maximum number of ingest requests per token in ten minutes.
pub const INGESTS_PER_10_MINUTES: u32 = 20;
/// Timeout in seconds for connecting to the server of an ingested URL, and for receiving the headers of its response.
pub const INGEST_ANSWER_SECS: u64 = 20;
/// Time in seconds after which a host name that no name server has resolved counts as unknown. This is enough for one
/// silent name server before one that answers, and less than [`INGEST_ANSWER_SECS`], so the client learns the cause.
pub const INGEST_NAME_SECS: u64 = 8;
/// Time in seconds after which an ingest download without new data fails.
pub const INGEST_STALL_SECS: u64 = 45;
/// Timeout of a whole ingest download, in seconds.
pub const INGEST_TOTAL_SECS: u64 = 10 * 60;
/// Maximum number of redirects that an ingest follows.
pub const INGEST_REDIRECTS: usize = 5;
