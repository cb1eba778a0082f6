//! `plinth admin`: what an operator does, directly on the database; the server may run meanwhile.

mod account;
mod backup;
mod credits;
mod held;
mod key;
mod links;
mod manifest;
mod overlay;
mod restore;
mod run;
mod storage;
mod workspace;

pub(crate) use run::{command, run};
