//! `plinth admin`: commands for operators. They access the database directly, and work with and without a running
//! server.

mod account;
mod backup;
mod credits;
mod hold;
mod key;
mod links;
mod manifest;
mod overlay;
mod restore;
mod run;
mod status;
mod storage;
mod workspace;

pub(crate) use run::{GROUPS, command, run};
