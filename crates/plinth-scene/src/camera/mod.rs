//! Where the camera is in each frame.

mod dataset_views;
mod orbit;
mod path;

pub(crate) use dataset_views::dataset_views;
pub(crate) use orbit::orbit;
pub(crate) use path::path;
