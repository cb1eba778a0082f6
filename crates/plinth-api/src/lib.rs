//! The HTTP API. It parses requests, calls `plinth-service`, and builds responses. It contains no business rules.

mod access;
mod body_timeout;
mod client;
mod connections;
mod error;
mod extract;
mod file;
mod gzip;
mod local_link;
mod open_body;
mod openapi;
mod operation_errors;
mod response_headers;
mod router;
mod serve;
mod state;
mod trace;
mod v1;
mod write_timeout;

pub use client::TrustedProxy;
pub use file::file_response;
pub use gzip::accepts_gzip;
pub use openapi::document;
pub use router::router;
pub use serve::{ServeOptions, serve};
pub use state::Api;
