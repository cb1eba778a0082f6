//! Limits of the number of requests, and of the rows in their responses.

/// Maximum number of requests per token in one minute.
pub const REQUESTS_PER_MINUTE: u32 = 300;
/// Factor by which a request limit per API key is multiplied to get the limit for all keys of an account together.
pub const ACCOUNT_FACTOR: u32 = 10;
/// Maximum number of concurrent requests of an account. Further requests are rejected. It is larger than
/// [`REQUESTS_PER_MINUTE`], so that a key can send all requests of a minute at the same time while some downloads are in progress.
pub const REQUESTS_AT_ONCE: u32 = 320;
/// Maximum number of open pages on which an account watches the progress of renders.
pub const EVENT_STREAMS_AT_ONCE: u64 = 20;
/// Maximum number of concurrent downloads of one file of a local store by signed links. Further downloads are rejected.
pub const DOWNLOADS_PER_FILE: u32 = 64;
/// Default number of rows of a list page.
pub const PAGE_DEFAULT: u32 = 50;
/// Maximum number of rows of a list page.
pub const PAGE_MAX: u32 = 100;
/// Largest accepted offset in a list. In longer lists, clients must use cursors.
pub const OFFSET_MAX: u64 = i64::MAX as u64;
