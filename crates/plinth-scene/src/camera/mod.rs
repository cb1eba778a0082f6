//! Camera positions: effects, custom paths, sway and dataset views.

mod dataset_views;
mod orbit;
mod path;
mod sway;

pub(crate) use dataset_views::dataset_views;
pub(crate) use orbit::{framing_radius, orbit};
pub(crate) use path::{PARALLEL, path};
pub(crate) use sway::sway;
