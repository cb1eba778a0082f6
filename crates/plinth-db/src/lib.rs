//! Typed tables on SQLite and PostgreSQL: mechanism, no policy.
//!
//! One SQL text serves both. Reading takes a [`Conn`]; writing takes a [`Tx`], which exists only inside [`Db::write`].
//! Times are milliseconds since 1970 and come from the caller, who takes them from [`Conn::now_ms`].

mod assets;
mod conn;
mod error;
mod migrate;
mod pool;
mod row;
mod sql;
mod states;
mod table;
mod tx;

pub mod accounts;
pub mod envs;
pub mod garbage;
pub mod holds;
pub mod instance;
pub mod leases;
pub mod ledger;
pub mod models;
pub mod naming;
pub mod overlays;
pub mod products;
pub mod queue;
pub mod rate_windows;
pub mod renders;
pub mod sessions;
pub mod staged;
pub mod textures;
pub mod tokens;
pub mod workspaces;

pub use conn::Conn;
pub use error::DbError;
pub use pool::{Db, DbOptions};
pub use tx::Tx;

/// The result of every look into a table.
pub type Result<T> = std::result::Result<T, DbError>;
