//! Downloads, signed links, HLS streams, ZIP bundles and single files of datasets.

pub(crate) mod archive;
mod bundle;
mod cover;
mod dataset_file;
mod dataset_summary;
mod disposition;
mod file;
pub(crate) mod hls;
mod link;
mod link_secrets;
mod local;

pub use bundle::Bundle;
pub use cover::Cover;
pub use dataset_file::DatasetFile;
pub use dataset_summary::{DatasetFolder, DatasetSummary};
pub use disposition::attachment;
pub use file::Delivery;
pub use link_secrets::LinkSecretInfo;
pub use local::LocalLink;
