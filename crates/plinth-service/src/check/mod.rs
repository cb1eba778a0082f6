//! Checking files of strangers: in a process of its own, few at a time, shared fairly among accounts.

mod image;
mod model;
mod process;

pub use image::{ImageReport, check_image};
pub use model::{FileReport, check_file};
pub(crate) use process::CheckError;
