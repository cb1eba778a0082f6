//! The HTTP interface: requests in, use cases called, envelopes out. No rule is decided here.

mod access;
mod error;
mod extract;
mod file;
mod local_link;
mod openapi;
mod refusals;
mod request_id;
mod router;
mod state;
mod v1;

pub use openapi::document;
pub use router::router;
pub use state::Api;
