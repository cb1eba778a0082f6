//! Where the camera is in each frame.

mod orbit;
mod path;
mod sway;

pub(crate) use orbit::orbit;
pub(crate) use path::path;
pub(crate) use sway::sway;
