//! Tests which H.264 encoder works on this machine, by encoding frames with it like a render does.

mod choose;
mod film;
mod run;

pub use choose::{EncoderFound, EncoderTrial, Outcome, choose_encoder, decide_encoder, try_encoders};
