//! Where the camera is in each frame.

mod orbit;
mod path;

pub(crate) use orbit::orbit;
pub(crate) use path::path;
