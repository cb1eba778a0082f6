//! `plinth serve`.

mod first_start;
mod open_files;
pub(crate) mod place;
mod run;

pub(crate) use run::{command, run};
