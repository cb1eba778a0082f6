//! Writes datasets: the images of each view, the cameras in the formats of several training programs, surface points,
//! and descriptions.

mod about;
mod archive;
mod cameras;
mod colmap;
mod depth;
mod file;
mod layout;
mod normals;
mod overview;
mod overview_layout;
mod points;
mod readme;
mod transforms;
mod view;
mod work;
mod writer;

pub use about::DatasetAbout;
pub use cameras::DatasetCameras;
pub use writer::{DatasetPlan, DatasetWriter, check_dataset_target};
