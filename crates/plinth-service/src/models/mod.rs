//! Models: uploads, ingest, lists and edits.

mod check;
mod contents;
mod create_from_file;
mod disk_reserve;
mod edit;
mod incoming;
mod ingest;
mod list;
mod staged;
mod storage_limit;
mod unneeded_files;
mod upload;

pub use contents::{ModelContents, ModelTexture, texture_map_names};
pub use incoming::Incoming;
pub(crate) use incoming::{ReceivedFile, new_file, remove_orphans};
pub use list::ModelQuery;
pub(crate) use staged::too_many_bytes;
pub(crate) use storage_limit::check_model_storage;
pub use upload::{Room, Upload, Uploaded};
