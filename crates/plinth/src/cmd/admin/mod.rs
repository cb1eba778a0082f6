//! `plinth admin`: operator commands that work directly on the database; the server may run meanwhile.

mod account;
mod backup;
mod credits;
mod hold;
mod key;
mod manifest;
mod overlay;
mod restore;
mod run;
mod storage;
mod workspace;

pub(crate) use run::{command, run};
