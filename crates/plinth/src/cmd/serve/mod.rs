//! `plinth serve`.

mod first_start;
mod open_files;
mod run;
pub(crate) mod server_lock;

pub(crate) use run::{command, run};
