//! Models: arriving, being looked at, changing.

mod arrive;
mod check;
mod edit;
mod file_report;
mod incoming;
mod ingest;
mod list;
mod staged;
mod upload;

pub use file_report::{FileReport, check_file};
pub use incoming::Incoming;
pub use list::ModelQuery;
pub use upload::{Upload, Uploaded};
