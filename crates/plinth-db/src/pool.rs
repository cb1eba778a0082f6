//! Opens a database and manages its connection pools.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::str::FromStr as _;
use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{Connection as _, PgConnection, PgPool, SqliteConnection, SqlitePool};
use tokio::time::timeout;

use crate::Result;
use crate::checkpoint::{Checkpoints, LOG_PAGES};
use crate::conn::{Conn, Inner, system_ms};
use crate::error::DbError;
use crate::migrate::{check_is_supported, migrator};
use crate::migration_lock;
use crate::sql::{Sql, params};
use crate::sqlite_file::SqliteFile;
use crate::system::create_sqlite_file;

/// Timeout for a connection from the pool, and for SQLite's lock of the database file.
const WAIT_TIMEOUT: Duration = Duration::from_secs(10);
/// PostgreSQL's options for TCP keepalive, which closes the connection to an unreachable machine. The server sends a
/// probe after 30 s without data and closes the connection if two probes get no response.
const KEEPALIVE: [(&str, &str); 3] =
    [("tcp_keepalives_idle", "30"), ("tcp_keepalives_interval", "10"), ("tcp_keepalives_count", "2")];
/// Client-side timeout of a PostgreSQL statement. It is longer than PostgreSQL's `statement_timeout`, so that a server
/// that still responds reports the timeout.
pub(crate) const QUERY_TIMEOUT: Duration = Duration::from_secs(35);
/// Time after which an idle PostgreSQL connection is tested before it is used again, because its server may have ended meanwhile.
/// PostgreSQL takes longer to restart, so a connection from before a restart is never used untested after it. A connection that
/// was used just before was tested when it returned to the pool.
const IDLE_UNTESTED: Duration = Duration::from_millis(20);
/// Time limit of the query of a ping. It is short, because the query may use a connection that is reserved for workers.
const PING_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum number of PostgreSQL connections that are reserved for workers. At most a quarter of all connections is
/// reserved.
const MAX_LEASE_CONNECTIONS: u32 = 4;
/// Number of read-only connections to a SQLite database, without the one for pings.
const SQLITE_READERS: u32 = 4;

/// Time limits of transactions, so that a paused or unreachable machine does not hold locks that block other machines.
/// With SQLite, only the field `transaction` has an effect.
#[derive(Clone, Copy, Debug)]
pub struct TimeLimits {
    /// Maximum time of a transaction. Must be longer than the limits of a statement and of waiting for a lock.
    pub transaction: Duration,
    /// Maximum time of a statement.
    pub statement: Duration,
    /// Maximum time of waiting for a lock.
    pub lock: Duration,
    /// Maximum time between two statements of a transaction.
    pub idle_transaction: Duration,
}

impl Default for TimeLimits {
    fn default() -> Self {
        Self {
            transaction: Duration::from_secs(45),
            statement: Duration::from_secs(30),
            lock: Duration::from_secs(10),
            idle_transaction: Duration::from_secs(15),
        }
    }
}

impl TimeLimits {
    /// Returns the options of a PostgreSQL connection for these limits, in milliseconds.
    fn of_connection(&self) -> [(&'static str, String); 3] {
        [
            ("statement_timeout", self.statement),
            ("lock_timeout", self.lock),
            ("idle_in_transaction_session_timeout", self.idle_transaction),
        ]
        .map(|(name, limit)| (name, limit.as_millis().to_string()))
    }
}

/// Options for [`Db::open`].
#[derive(Clone, Copy, Debug)]
pub struct DbOptions {
    /// Maximum number of connections to PostgreSQL.
    pub postgres_connections: u32,
    /// Whether to create a missing SQLite file and to run schema migrations.
    pub may_change: bool,
    /// Time limits of transactions.
    pub time_limits: TimeLimits,
}

impl DbOptions {
    /// Default maximum number of connections to PostgreSQL.
    pub const POSTGRES_CONNECTIONS: u32 = 16;
}

impl Default for DbOptions {
    fn default() -> Self {
        Self { postgres_connections: Self::POSTGRES_CONNECTIONS, may_change: true, time_limits: TimeLimits::default() }
    }
}

/// An open database. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Db {
    pools: Pools,
    pub(crate) transaction_limit: Duration,
    /// The latest timestamp that [`Tx::next_ms`](crate::Tx::next_ms) has returned in this process.
    pub(crate) last_time: Arc<AtomicI64>,
}

#[derive(Clone, Debug)]
enum Pools {
    Sqlite {
        // SQLite allows one writer at a time, but its file lock does not serve waiting writers in order. So all writers
        // share the one connection of this pool, which serves them in order.
        writer: SqlitePool,
        readers: SqlitePool,
        // The one connection of this pool is for pings, because slow queries may use all readers while the database responds.
        pings: SqlitePool,
        checkpoints: Checkpoints,
        file: Arc<SqliteFile>,
    },
    Postgres {
        requests: PgPool,
        // Workers use these connections to renew their leases, which thus succeeds even while requests of clients use all
        // connections in `requests`.
        leases: PgPool,
    },
}

impl Db {
    /// Opens `sqlite://FILE` or `postgres://…` and runs schema migrations if `options.may_change` is set. Waits while another process
    /// runs migrations.
    /// Errors: the URL is malformed, the database cannot be reached, the database has the schema of a newer version, or another
    /// process runs migrations of a SQLite database for too long.
    pub async fn open(address: &str, options: DbOptions) -> Result<Self> {
        let pools = if let Some(path) = address.strip_prefix("sqlite://") {
            open_sqlite(Path::new(path), options).await?
        } else if address.starts_with("postgres://") || address.starts_with("postgresql://") {
            open_postgres(address, options).await?
        } else {
            let scheme = address.split(':').next().unwrap_or_default();
            return Err(DbError::Address { problem: format!("unknown scheme '{scheme}'") });
        };
        let db = Self { pools, transaction_limit: options.time_limits.transaction, last_time: Arc::default() };
        if options.may_change {
            check_is_supported(&mut db.read().await?).await?;
        }
        Ok(db)
    }

    /// Returns whether processes on several machines can share this database. This is true for PostgreSQL.
    pub const fn is_shared(&self) -> bool {
        matches!(self.pools, Pools::Postgres { .. })
    }

    /// Gets a read-only connection from the pool.
    pub async fn read(&self) -> Result<Conn> {
        Ok(Conn(match &self.pools {
            Pools::Sqlite { readers, .. } => Inner::Sqlite(readers.acquire().await?),
            Pools::Postgres { requests, .. } => Inner::Postgres(requests.acquire().await?),
        }))
    }

    /// Returns the time of the database's clock like [`Conn::now_ms`]. On SQLite, this needs no connection.
    pub async fn now_ms(&self) -> Result<i64> {
        if self.is_shared() { self.read().await?.now_ms().await } else { Ok(system_ms()) }
    }

    /// Returns a handle to this database for workers, which claim renders, renew leases and report results. The handle
    /// uses the connections that are reserved for them.
    #[must_use]
    pub fn for_leases(&self) -> Self {
        match &self.pools {
            // SQLite has only one connection for writing, so none can be reserved.
            Pools::Sqlite { .. } => self.clone(),
            Pools::Postgres { leases, .. } => {
                let pools = Pools::Postgres { requests: leases.clone(), leases: leases.clone() };
                Self { pools, ..self.clone() }
            }
        }
    }

    /// Runs a trivial query to check that the database responds, and checks that the file of a SQLite database is still in its place.
    /// The future should not be dropped before it ends: otherwise its connection cannot be used again until the database responds.
    pub async fn ping(&self) -> Result<()> {
        let mut conn = match &self.pools {
            Pools::Sqlite { pings, file, .. } => {
                file.check().await?;
                Conn(Inner::Sqlite(pings.acquire().await?))
            }
            Pools::Postgres { .. } => self.read().await?,
        };
        let sql = "SELECT CAST(1 AS BIGINT) AS one";
        let answered = timeout(PING_TIMEOUT, conn.fetch_one(sql, params![])).await;
        if let Ok(row) = answered {
            return row?.int("one").map(drop);
        }
        conn.discard();
        Err(DbError::QueryTimeout)
    }

    /// Returns the version of the last migration that was run on this database; `None` if the database has no tables.
    pub async fn table_version(&self) -> Result<Option<i64>> {
        let sql = Sql {
            sqlite: "SELECT count(*) AS tables FROM sqlite_master WHERE name = '_sqlx_migrations'",
            postgres: "SELECT count(*) AS tables FROM pg_tables \
                       WHERE tablename = '_sqlx_migrations' AND schemaname = current_schema()",
        };
        let mut conn = self.read().await?;
        if conn.fetch_one(sql, params![]).await?.int("tables")? == 0 {
            return Ok(None);
        }
        let sql = "SELECT max(version) AS version FROM _sqlx_migrations WHERE success";
        conn.fetch_one(sql, params![]).await?.maybe_int("version")
    }

    /// Writes a consistent snapshot of a SQLite database to a new file, which only its owner can read, while other
    /// connections read and write.
    /// Errors: the file exists or cannot be created, or the database is PostgreSQL, which `pg_dump` copies.
    pub async fn copy_to(&self, file: &Path) -> Result<()> {
        let Pools::Sqlite { writer, .. } = &self.pools else {
            return Err(DbError::Copy { problem: "only a SQLite database can be copied to a file" });
        };
        let name = file.to_str().ok_or(DbError::Copy { problem: "the path of the copy is not valid UTF-8" })?;
        create_sqlite_file(file).map_err(|source| DbError::Create { file: file.to_owned(), source })?;
        // A connection of its own, so that other changes do not wait until a large database is copied.
        let mut conn = SqliteConnection::connect_with(&writer.connect_options()).await?;
        sqlx::query("VACUUM INTO $1").bind(name).execute(&mut conn).await?;
        Ok(conn.close().await?)
    }

    /// Closes all connections. Waits until the connections in use are returned to the pool.
    pub async fn close(&self) {
        match &self.pools {
            Pools::Sqlite { writer, readers, pings, checkpoints, .. } => {
                readers.close().await;
                pings.close().await;
                checkpoints.close().await;
                writer.close().await;
            }
            Pools::Postgres { requests, leases } => {
                requests.close().await;
                leases.close().await;
            }
        }
    }

    /// Returns the options for a connection to PostgreSQL; `None` on SQLite.
    pub(crate) fn postgres_options(&self) -> Option<PgConnectOptions> {
        match &self.pools {
            Pools::Sqlite { .. } => None,
            Pools::Postgres { requests, .. } => Some((*requests.connect_options()).clone()),
        }
    }

    /// Counts a commit, because SQLite's log is copied into the database file after a number of commits.
    pub(crate) fn count_commit(&self) {
        if let Pools::Sqlite { checkpoints, .. } = &self.pools {
            checkpoints.count_commit();
        }
    }

    pub(crate) async fn connection_to_write(&self) -> Result<Conn> {
        Ok(Conn(match &self.pools {
            Pools::Sqlite { writer, .. } => Inner::Sqlite(writer.acquire().await?),
            Pools::Postgres { requests, .. } => Inner::Postgres(requests.acquire().await?),
        }))
    }
}

async fn open_sqlite(path: &Path, options: DbOptions) -> Result<Pools> {
    if path.as_os_str().is_empty() {
        return Err(DbError::Address { problem: "the file name is missing".to_owned() });
    }
    // A file that exists is not opened: closing it would release the locks that SQLite holds on it in this process.
    if options.may_change
        && let Err(source) = create_sqlite_file(path)
        && source.kind() != ErrorKind::AlreadyExists
    {
        return Err(DbError::Create { file: path.to_owned(), source });
    }
    let _lock =
        if options.may_change { Some(migration_lock::acquire(path, migration_lock::WAIT_LIMIT).await?) } else { None };
    let connect = SqliteConnectOptions::new()
        .filename(PathBuf::from(path))
        .create_if_missing(options.may_change)
        .synchronous(SqliteSynchronous::Full)
        .pragma("wal_autocheckpoint", LOG_PAGES.to_string())
        .busy_timeout(WAIT_TIMEOUT)
        .foreign_keys(true);
    // The mode is stored in the file. Without the lock, a switch to this mode would disturb a process that has the lock.
    let connect = if options.may_change { connect.journal_mode(SqliteJournalMode::Wal) } else { connect };
    let pool = |connections| {
        // A connection to a file cannot fail while it is idle, so it is not tested.
        let pool = SqlitePoolOptions::new().test_before_acquire(false);
        pool.max_connections(connections).acquire_timeout(WAIT_TIMEOUT)
    };
    let writer = pool(1).connect_with(connect.clone()).await?;
    if options.may_change {
        migrator(false).run(&writer).await?;
    }
    let file = Arc::new(SqliteFile::opened_at(path)?);
    // If the file is deleted later, new connections must not create an empty one in its place.
    let connect = connect.create_if_missing(false);
    writer.set_connect_options(connect.clone());
    let checkpoints = Checkpoints::new(pool(1).connect_lazy_with(connect.clone()));
    let connect = connect.pragma("query_only", "on");
    let readers = pool(SQLITE_READERS).connect_lazy_with(connect.clone());
    let pings = pool(1).connect_lazy_with(connect);
    Ok(Pools::Sqlite { writer, readers, pings, checkpoints, file })
}

async fn open_postgres(address: &str, options: DbOptions) -> Result<Pools> {
    // The URL may contain a password, so the error message must not quote it.
    let connect = PgConnectOptions::from_str(address)
        .map_err(|_secret| DbError::Address { problem: "it is not a valid PostgreSQL URL".to_owned() })?;
    if options.may_change {
        // Migrations run without time limits, because creating an index on a large table is slow. Other processes wait
        // until the migrations are done.
        let mut conn = PgConnection::connect_with(&connect).await?;
        migrator(true).run(&mut conn).await?;
        conn.close().await?;
    }
    let connect = connect.options(KEEPALIVE).options(options.time_limits.of_connection());
    let pool = |connections| {
        let pool = PgPoolOptions::new().test_before_acquire(false).before_acquire(|conn, state| {
            Box::pin(async move {
                if state.idle_for > IDLE_UNTESTED {
                    conn.ping().await?;
                }
                Ok(true)
            })
        });
        pool.max_connections(connections).acquire_timeout(WAIT_TIMEOUT)
    };
    let reserved = (options.postgres_connections / 4).clamp(1, MAX_LEASE_CONNECTIONS);
    let Some(others) = options.postgres_connections.checked_sub(reserved).filter(|others| *others > 0) else {
        let only = pool(1).connect_with(connect).await?;
        return Ok(Pools::Postgres { requests: only.clone(), leases: only });
    };
    let requests = pool(others).connect_with(connect.clone()).await?;
    Ok(Pools::Postgres { requests, leases: pool(reserved).connect_lazy_with(connect) })
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt as _;

    use plinth_testkit::TestDatabase;

    use super::*;

    fn mode(file: &Path) -> u32 {
        std::fs::metadata(file).unwrap().permissions().mode() & 0o777
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn only_its_owner_can_read_a_new_sqlite_database_or_a_copy() {
        let database = TestDatabase::sqlite();
        let file = Path::new(database.address().strip_prefix("sqlite://").unwrap());
        let (log, copy) = (file.with_file_name("plinth.db-wal"), file.with_file_name("copy.db"));
        let db = Db::open(database.address(), DbOptions::default()).await.unwrap();
        db.copy_to(&copy).await.unwrap();
        assert_eq!([file, log.as_path(), copy.as_path()].map(mode), [0o600; 3]);
        let error = db.copy_to(&copy).await.unwrap_err();
        assert!(matches!(error, DbError::Create { .. }), "{error}");
        db.close().await;
        let copied = Db::open(&format!("sqlite://{}", copy.display()), DbOptions::default()).await.unwrap();
        assert!(copied.table_version().await.unwrap().is_some());
        copied.close().await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_sqlite_database_that_exists_keeps_its_permissions() {
        let database = TestDatabase::sqlite();
        let file = Path::new(database.address().strip_prefix("sqlite://").unwrap());
        std::fs::write(file, "").unwrap();
        std::fs::set_permissions(file, Permissions::from_mode(0o640)).unwrap();
        Db::open(database.address(), DbOptions::default()).await.unwrap().close().await;
        assert_eq!(mode(file), 0o640);
    }

    #[tokio::test]
    async fn a_sqlite_database_whose_file_was_moved_or_replaced_does_not_respond() {
        let database = TestDatabase::sqlite();
        let file = Path::new(database.address().strip_prefix("sqlite://").unwrap());
        let db = Db::open(database.address(), DbOptions::default()).await.unwrap();
        db.ping().await.unwrap();
        let elsewhere = file.with_file_name("elsewhere.db");
        std::fs::rename(file, &elsewhere).unwrap();
        let error = db.ping().await.unwrap_err();
        assert!(matches!(error, DbError::FileReplaced { .. }), "{error}");
        std::fs::write(file, "").unwrap();
        let error = db.ping().await.unwrap_err();
        assert!(matches!(error, DbError::FileReplaced { .. }), "{error}");
        std::fs::rename(&elsewhere, file).unwrap();
        db.ping().await.unwrap();
    }

    #[tokio::test]
    async fn connections_do_not_replace_a_deleted_sqlite_database_by_an_empty_one() {
        let database = TestDatabase::sqlite();
        let file = Path::new(database.address().strip_prefix("sqlite://").unwrap());
        let db = Db::open(database.address(), DbOptions::default()).await.unwrap();
        std::fs::remove_file(file).unwrap();
        // Opening the database has left an idle connection, so that only a further one is made.
        let mut connections = Vec::new();
        while connections.len() < SQLITE_READERS as usize
            && let Ok(connection) = db.read().await
        {
            connections.push(connection);
        }
        assert!(connections.len() < SQLITE_READERS as usize && !file.exists());
    }

    #[tokio::test]
    async fn a_sqlite_database_responds_while_queries_use_all_readers() {
        let database = TestDatabase::sqlite();
        let db = Db::open(database.address(), DbOptions::default()).await.unwrap();
        let mut used = Vec::new();
        for _reader in 0..SQLITE_READERS {
            used.push(db.read().await.unwrap());
        }
        assert!(timeout(Duration::from_millis(100), db.read()).await.is_err(), "no reader is left");
        db.ping().await.unwrap();
    }

    /// Reads the time limits and keepalives of a connection to PostgreSQL.
    async fn limits_of(conn: &mut Conn) -> Result<Vec<String>> {
        // PostgreSQL reports the keepalives of a connection through a Unix socket as 0. `reset_val` is the value that the
        // client has set.
        let sql = "SELECT name || '=' || CASE WHEN name LIKE 'tcp%' THEN reset_val ELSE setting END AS line \
                   FROM pg_settings WHERE source = 'client' AND (name LIKE 'tcp%' OR name LIKE '%timeout') ORDER BY name";
        conn.fetch_all(sql, params![]).await?.iter().map(|row| row.text("line")).collect()
    }

    #[tokio::test]
    async fn all_connections_to_postgres_have_time_limits_and_keepalives() {
        let database = TestDatabase::postgres();
        for postgres_connections in [1, DbOptions::POSTGRES_CONNECTIONS] {
            let options = DbOptions { postgres_connections, ..DbOptions::default() };
            let db = Db::open(database.address(), options).await.unwrap();
            for handle in [&db, &db.for_leases()] {
                let of_reader = limits_of(&mut handle.read().await.unwrap()).await.unwrap();
                let of_writer = handle.write(|tx| Box::pin(async move { limits_of(tx).await })).await.unwrap();
                for limits in [of_reader, of_writer] {
                    assert_eq!(
                        limits,
                        [
                            "idle_in_transaction_session_timeout=15000",
                            "lock_timeout=10000",
                            "statement_timeout=30000",
                            "tcp_keepalives_count=2",
                            "tcp_keepalives_idle=30",
                            "tcp_keepalives_interval=10",
                        ]
                    );
                }
            }
            db.close().await;
        }
    }

    #[tokio::test]
    async fn postgres_cancels_statements_that_take_too_long() {
        let database = TestDatabase::postgres();
        let time_limits = TimeLimits { statement: Duration::from_secs(1), ..TimeLimits::default() };
        let db = Db::open(database.address(), DbOptions { time_limits, ..DbOptions::default() }).await.unwrap();
        let sql = "SELECT 1 AS one FROM pg_sleep(20)";
        let mut conn = db.read().await.unwrap();
        let read = conn.fetch_one(sql, params![]).await.map(drop);
        let written = db.write(move |tx| Box::pin(async move { tx.execute(sql, params![]).await.map(drop) })).await;
        for ended in [read, written] {
            let error = format!("{:?}", ended.unwrap_err());
            assert!(error.contains("statement timeout"), "{error}");
        }
        conn.now_ms().await.unwrap();
    }

    #[test]
    fn a_transaction_may_take_longer_than_a_statement_and_less_than_a_minute() {
        let limits = TimeLimits::default();
        assert_eq!(
            limits.of_connection(),
            [
                ("statement_timeout", "30000".to_owned()),
                ("lock_timeout", "10000".to_owned()),
                ("idle_in_transaction_session_timeout", "15000".to_owned()),
            ]
        );
        assert!(limits.lock < limits.statement && limits.statement < QUERY_TIMEOUT);
        assert!(QUERY_TIMEOUT < limits.transaction && limits.transaction == Duration::from_secs(45));
        assert_eq!(DbOptions::default().time_limits.transaction, limits.transaction);
    }
}
