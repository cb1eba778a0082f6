//! Models: uploads, ingest, lists and edits.

mod arrive;
mod check;
mod edit;
mod incoming;
mod ingest;
mod list;
mod staged;
mod upload;

pub use incoming::Incoming;
pub(crate) use incoming::{Arrived, remove_orphans};
pub use list::ModelQuery;
pub use upload::{Upload, Uploaded};
