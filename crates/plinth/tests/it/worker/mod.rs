//! The worker: whole renders, and everything that can happen to them.

mod encoders;
mod failures;
mod house;
mod process;
mod renders;
mod stopping;
