//! Tests which H.264 encoder works on this machine. A test encodes frames with the same options as a render.

mod choose;
mod film;
mod run;

pub use choose::{EncoderFound, EncoderTrial, Outcome, choose_encoder, decide_encoder, try_encoders};
