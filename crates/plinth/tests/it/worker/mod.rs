//! Tests of the worker: complete renders, and failures.

mod autoscaler;
mod encoders;
mod failures;
mod fence;
mod house;
mod notified;
mod pools;
mod process;
mod renders;
mod stopping;
