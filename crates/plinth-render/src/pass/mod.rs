//! The passes of a frame; `frame_plan.rs` says in which order they run.

pub(crate) mod behind;
pub(crate) mod composite;
pub(crate) mod floor;
pub(crate) mod shadow_map;
