//! State machines of models, renders and HLS packagings. Each is one table of transitions.

mod hls;
mod model;
mod render;
mod transitions;

pub use hls::{HlsEvent, HlsStatus};
pub use model::{ModelEvent, ModelStates, ModelStatus};
pub use render::{RenderEvent, RenderStatus};
