//! Tests of the OpenAPI document. The endpoints are tested against the real binary, in the crate `plinth`.

#![expect(clippy::unwrap_used, reason = "tests")]

mod openapi;
