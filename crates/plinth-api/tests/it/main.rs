//! The interface over HTTP, on both databases.

#![expect(clippy::unwrap_used, reason = "tests")]

mod files;
mod form;
mod models;
mod openapi;
mod renders;
mod server;
mod shape;
