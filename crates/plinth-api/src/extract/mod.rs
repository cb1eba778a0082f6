//! Request extractors. They answer malformed input with an error body of the API.

mod form;
mod idempotency_key;
mod json;
mod path;
mod query;

pub(crate) use form::{Form, content_length, file_sizes};
pub(crate) use idempotency_key::IdempotencyKey;
pub(crate) use json::JsonBody;
pub(crate) use path::Path;
pub(crate) use query::{Query, whole_number};
