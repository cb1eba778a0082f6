//! Tests of the worker: complete renders, and failures.

mod encoders;
mod failures;
mod fence;
mod house;
mod process;
mod renders;
mod stopping;
