//! Where the camera is in each frame.

mod orbit;
mod path;

pub(crate) use orbit::{Orbit, orbit};
pub(crate) use path::{PathPose, path};
