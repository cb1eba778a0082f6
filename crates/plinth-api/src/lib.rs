//! The HTTP interface: requests in, use cases called, envelopes out. No rule is decided here.

mod access;
mod error;
mod extract;
mod file;
mod local_link;
mod openapi;
mod patience;
mod refusals;
mod router;
mod serve;
mod state;
mod steady;
mod trace;
mod v1;

pub use openapi::document;
pub use router::router;
pub use serve::{ServeOptions, serve};
pub use state::Api;
