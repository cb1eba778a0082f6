//! The worker: whole renders, and everything that can happen to them.

mod autoscaler;
mod encoders;
mod failures;
mod fence;
mod house;
mod pools;
mod process;
mod renders;
mod stopping;
