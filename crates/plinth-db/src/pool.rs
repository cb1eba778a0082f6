//! Opening a database.

use std::path::{Path, PathBuf};
use std::str::FromStr as _;
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{Connection as _, PgConnection, PgPool, SqlitePool};

use crate::Result;
use crate::conn::{Conn, Inner};
use crate::error::DbError;
use crate::migrate::migrator;
use crate::sql::params;

/// How long a caller waits for a connection, and a SQLite writer for the file.
const PATIENCE: Duration = Duration::from_secs(10);
/// PostgreSQL gives up a statement that takes longer, and one that waits longer for a lock: its owner may be a machine that
/// is paused. A transaction that asks for nothing for so long is ended, and with it its locks.
const TIME_LIMITS: [(&str, &str); 6] = [
    ("statement_timeout", "30s"),
    ("lock_timeout", "10s"),
    ("idle_in_transaction_session_timeout", "15s"),
    // The same for a machine that is gone: two tries after half a minute of silence.
    ("tcp_keepalives_idle", "30"),
    ("tcp_keepalives_interval", "10"),
    ("tcp_keepalives_count", "2"),
];
/// An answer of PostgreSQL comes within this time: a little more than a statement may take.
pub(crate) const ANSWER_TIME: Duration = Duration::from_secs(35);
/// Connections that read SQLite at a time.
const SQLITE_READERS: u32 = 4;

/// How a database is opened.
#[derive(Clone, Copy, Debug)]
pub struct DbOptions {
    /// Connections to PostgreSQL.
    pub postgres_connections: u32,
    /// Whether a missing SQLite file is made, and tables are brought up to date.
    pub may_change: bool,
}

impl DbOptions {
    /// Connections to PostgreSQL when nothing is set.
    pub const POSTGRES_CONNECTIONS: u32 = 16;
}

impl Default for DbOptions {
    fn default() -> Self {
        Self { postgres_connections: Self::POSTGRES_CONNECTIONS, may_change: true }
    }
}

/// An open database. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Db(Pools);

#[derive(Clone, Debug)]
enum Pools {
    // One writer: SQLite has one anyway, and waiting in the pool is fair, waiting for the file is not.
    Sqlite { writer: SqlitePool, readers: SqlitePool },
    Postgres(PgPool),
}

impl Db {
    /// Opens `sqlite://FILE` or `postgres://…` and brings its tables up to date, where it may change them.
    /// Errors: a malformed address, a database that cannot be reached, tables of a newer version.
    pub async fn open(address: &str, options: DbOptions) -> Result<Self> {
        let pools = if let Some(path) = address.strip_prefix("sqlite://") {
            open_sqlite(Path::new(path), options).await?
        } else if address.starts_with("postgres://") || address.starts_with("postgresql://") {
            open_postgres(address, options).await?
        } else {
            let scheme = address.split(':').next().unwrap_or_default();
            return Err(DbError::Address { problem: format!("'{scheme}' is not a known kind") });
        };
        Ok(Self(pools))
    }

    /// Whether processes on several machines may use it at a time.
    pub const fn is_shared(&self) -> bool {
        matches!(self.0, Pools::Postgres(_))
    }

    /// A connection that reads.
    pub async fn read(&self) -> Result<Conn> {
        Ok(Conn(match &self.0 {
            Pools::Sqlite { readers, .. } => Inner::Sqlite(readers.acquire().await?),
            Pools::Postgres(pool) => Inner::Postgres(pool.acquire().await?),
        }))
    }

    /// Whether the database answers.
    pub async fn ping(&self) -> Result<()> {
        self.read().await?.fetch_one("SELECT CAST(1 AS BIGINT) AS one", params![]).await?.int("one").map(drop)
    }

    /// Writes a copy of a SQLite database, as it is at one instant, into a new file; others may read and write meanwhile.
    /// Errors: the file exists; PostgreSQL, which has programs of its own for this.
    pub async fn copy_to(&self, file: &Path) -> Result<()> {
        let problem = "only a SQLite database can be copied into a file";
        if self.is_shared() {
            return Err(DbError::Address { problem: problem.to_owned() });
        }
        let file =
            file.to_str().ok_or_else(|| DbError::Address { problem: "the copy's name is no text".to_owned() })?;
        self.connection_to_write().await?.execute("VACUUM INTO $1", params![file]).await.map(drop)
    }

    /// Closes all connections and waits for those in use.
    pub async fn close(&self) {
        match &self.0 {
            Pools::Sqlite { writer, readers } => {
                readers.close().await;
                writer.close().await;
            }
            Pools::Postgres(pool) => pool.close().await,
        }
    }

    pub(crate) async fn connection_to_write(&self) -> Result<Conn> {
        Ok(Conn(match &self.0 {
            Pools::Sqlite { writer, .. } => Inner::Sqlite(writer.acquire().await?),
            Pools::Postgres(pool) => Inner::Postgres(pool.acquire().await?),
        }))
    }
}

async fn open_sqlite(path: &Path, options: DbOptions) -> Result<Pools> {
    if path.as_os_str().is_empty() {
        return Err(DbError::Address { problem: "the file is missing".to_owned() });
    }
    let connect = SqliteConnectOptions::new()
        .filename(PathBuf::from(path))
        .create_if_missing(options.may_change)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .busy_timeout(PATIENCE)
        .foreign_keys(true);
    let writer = SqlitePoolOptions::new().max_connections(1).acquire_timeout(PATIENCE).connect_with(connect.clone());
    let writer = writer.await?;
    if options.may_change {
        migrator().run(&writer).await?;
    }
    let readers = SqlitePoolOptions::new().max_connections(SQLITE_READERS).acquire_timeout(PATIENCE);
    let readers = readers.connect_lazy_with(connect.pragma("query_only", "on"));
    Ok(Pools::Sqlite { writer, readers })
}

async fn open_postgres(address: &str, options: DbOptions) -> Result<Pools> {
    // The address may hold a password: the message says nothing of it.
    let connect = PgConnectOptions::from_str(address)
        .map_err(|_secret| DbError::Address { problem: "it is not a PostgreSQL address".to_owned() })?;
    if options.may_change {
        // Without time limits: a new index over many rows takes its time, and a second process waits for the first.
        let mut conn = PgConnection::connect_with(&connect).await?;
        migrator().run(&mut conn).await?;
        conn.close().await?;
    }
    let connect = connect.options(TIME_LIMITS);
    let pool = PgPoolOptions::new().max_connections(options.postgres_connections).acquire_timeout(PATIENCE);
    Ok(Pools::Postgres(pool.connect_with(connect).await?))
}
