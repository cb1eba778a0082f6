//! `plinth admin`: commands for operators. They use the database directly, and can run while the server runs.

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
