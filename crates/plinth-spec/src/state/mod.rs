//! State machines of models, renders and HLS packagings. Each is one table of events and their transitions.

mod events;
mod hls;
mod model;
mod render;

pub use hls::{HlsEvent, HlsStatus};
pub use model::{ModelEvent, ModelStates, ModelStatus};
pub use render::{RenderEvent, RenderStatus};
