//! One suite for both stores, and links followed over HTTP.

#![expect(clippy::unwrap_used, reason = "tests")]

mod both;
mod unfinished;
