//! `plinth serve`.

mod first_start;
mod run;
pub(crate) mod server_lock;

pub(crate) use run::{command, run};
