//! `plinth serve`.

mod first_start;
mod place;
mod run;

pub(crate) use run::{command, run};
