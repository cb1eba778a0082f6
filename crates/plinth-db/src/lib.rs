//! Typed access to the tables of a SQLite or PostgreSQL database. Business rules live in `plinth-service`.
//!
//! Both databases run the same SQL, except for locks and a few functions. Queries need a [`Conn`]; writes need a
//! [`Tx`], which only [`Db::write`] provides. All times are Unix times in milliseconds. The caller passes the current
//! time, which it usually reads with [`Conn::now_ms`].

mod assets;
mod checkpoint;
mod conn;
mod error;
mod listen;
mod migrate;
mod migration_lock;
mod pool;
#[cfg(test)]
mod query_plan;
mod real_path;
mod render_hours;
mod row;
mod sql;
mod sqlite_file;
mod states;
mod system;
mod table;
#[cfg(test)]
mod test_rows;
mod tx;

pub mod accounts;
pub mod admin_log;
pub mod clock_step;
pub mod envs;
pub mod holds;
pub mod instance;
pub mod invitations;
pub mod leases;
pub mod ledger;
pub mod link_secrets;
pub mod looks;
pub mod mails;
pub mod model_contents;
pub mod model_files;
pub mod models;
pub mod outcomes;
pub mod overlays;
pub mod previews;
pub mod products;
pub mod progress;
pub mod purchases;
pub mod queue;
pub mod rate_windows;
pub mod referencing_rows;
pub mod render_counts;
pub mod renders;
pub mod sessions;
pub mod share_time;
pub mod staged;
pub mod storage;
pub mod textures;
pub mod tokens;
pub mod unreferenced_objects;
pub mod workers;
pub mod workload;
pub mod workspaces;

pub use conn::Conn;
pub use error::DbError;
pub use listen::{Heard, PictureListener, QueueListener, Queued, is_preview_worker_listening};
pub use migrate::newest_version;
pub use pool::{Db, DbOptions, TimeLimits};
pub use real_path::real_path;
pub use system::create_sqlite_file;
pub use tx::Tx;

/// The result of a database operation.
pub type Result<T> = std::result::Result<T, DbError>;
