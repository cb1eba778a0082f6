//! Configuration: one table of values, each with a flag, an environment variable and a key of `plinth.toml`.

mod cache;
mod file;
mod lookup;
mod open;
mod settings;
mod table;
mod value;
mod worker;

pub(crate) use cache::cache;
pub(crate) use open::{RESTORING, open_database, open_service, open_store};
pub(crate) use settings::{Config, Machine};
pub(crate) use table::{Group, args, config_arg, markdown_table};
pub(crate) use worker::worker_options;
