//! `plinth serve`.

mod first_start;
pub(crate) mod place;
mod run;

pub(crate) use run::{command, run};
