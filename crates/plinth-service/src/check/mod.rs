//! Checks and converts untrusted files, in a separate process. The number of concurrent checks is limited, and waiting checks are
//! served fairly among accounts.

mod image;
mod model;
mod panorama;
mod process;

pub use image::{ImageReport, check_image};
pub use model::{FileReport, check_file};
pub use panorama::PanoramaReport;
pub(crate) use process::CheckError;
