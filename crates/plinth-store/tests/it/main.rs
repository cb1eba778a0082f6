//! One test suite for local files and S3, and tests of signed links over HTTP.

#![expect(clippy::unwrap_used, reason = "tests")]

mod both;
mod multipart;
mod unfinished;
