//! The configuration. A table lists all values; each has a flag, an environment variable and a key in `plinth.toml`.

mod cache;
mod file;
mod hint;
mod lookup;
mod open;
mod payments;
mod settings;
mod table;
mod value;
mod worker;

pub(crate) use cache::cache;
pub(crate) use hint::flags_of;
pub(crate) use lookup::variable;
pub(crate) use open::{
    RESTORING, check_installation, check_not_restoring, check_store, check_writable, is_missing, make_database_folder,
    make_incoming_folder, open_database, open_service, open_store, sqlite_file, table_version,
};
pub(crate) use settings::{Config, Machine};
pub(crate) use table::{Group, WORKER_CONNECTIONS, args, config_arg, markdown_table};
