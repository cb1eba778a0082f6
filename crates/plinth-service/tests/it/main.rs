//! The rules of the house on both databases.

#![expect(clippy::unwrap_used, reason = "tests")]

mod access;
mod assets;
mod delivery;
mod fetch;
mod house;
mod jobs;
mod models;
mod money;
mod queue;
mod renders;
mod storage;
