//! `plinth admin`: what an operator does, directly on the database; the server may run meanwhile.

mod account;
mod credits;
mod key;
mod overlay;
mod run;
mod workspace;

pub(crate) use run::{command, run};
