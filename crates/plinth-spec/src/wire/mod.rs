//! JSON bodies of requests and responses, in one file per resource. In JSON, field names are camelCase.

mod account;
mod asset;
mod change;
mod envelope;
mod health;
mod json_limit;
mod look;
mod model;
mod overlay;
pub mod parameter;
mod preview;
mod render;
mod settings;
mod timestamp;

pub use account::*;
pub use asset::*;
pub use change::Change;
pub use envelope::{Data, ErrorBody, ErrorFacts, Page};
pub use health::*;
pub use json_limit::{JsonRequest, count_json_values, json_request_limits};
pub use look::*;
pub use model::*;
pub use overlay::*;
pub use preview::*;
pub use render::*;
pub use settings::{EchoedRenderSettings, RenderSettings};
pub use timestamp::{Timestamp, TimestampError};
