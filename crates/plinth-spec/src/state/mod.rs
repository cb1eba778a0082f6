//! States of models, renders and their HLS packaging: each with one transition table.

mod hls;
mod model;
mod render;

pub use hls::{HlsEvent, HlsStatus};
pub use model::{ModelEvent, ModelStatus};
pub use render::{RenderEvent, RenderStatus};
