//! Database errors.

use std::path::PathBuf;

/// An error of the database or of its configuration.
#[derive(Debug, thiserror::Error)]
pub enum DbError {
    /// The database URL is malformed or names neither SQLite nor PostgreSQL.
    #[error("the database address is not usable; give sqlite://FILE or postgres://HOST/NAME: {problem}")]
    Address {
        /// The reason, for the error message.
        problem: String,
    },
    /// A file for a SQLite database cannot be created.
    #[error("{} cannot be created", file.display())]
    Create {
        file: PathBuf,
        /// Error of the file system.
        source: std::io::Error,
    },
    /// The file of an open SQLite database was moved, deleted or replaced.
    #[error(
        "{} is no longer the database that was opened; changes since then are in the old file. Stop the program, put the \
         file back, and start the program again",
        file.display()
    )]
    FileReplaced { file: PathBuf },
    /// The database cannot be copied to a file.
    #[error("{problem}")]
    Copy {
        /// The reason, for the error message.
        problem: &'static str,
    },
    /// PostgreSQL did not respond in time. The statement may or may not have been executed.
    #[error("the database did not respond in time")]
    QueryTimeout,
    /// A transaction exceeded its time limit and was rolled back.
    #[error("a transaction took too long")]
    TransactionTimeout,
    /// A schema migration failed.
    #[error("the database schema could not be migrated")]
    Migrate(#[from] sqlx::migrate::MigrateError),
    /// The lock file for the migrations of a SQLite database cannot be opened or locked.
    #[error("{} cannot be locked", file.display())]
    MigrationLock {
        file: PathBuf,
        /// Error of the file system.
        source: std::io::Error,
    },
    /// Another process holds the lock for the migrations of a SQLite database for too long.
    #[error(
        "another process, which holds the lock {}, still creates or migrates the database; try again when it is done",
        file.display()
    )]
    MigrationRuns { file: PathBuf },
    /// A newer version of the program has changed the tables, and this version cannot use the new tables.
    #[error(
        "the tables need a program that knows version {needed} of them; this one knows {known}: install a newer one"
    )]
    NewerTables {
        /// Version of the tables that a program must know.
        needed: i64,
        /// Version that this program knows.
        known: i64,
    },
    /// A statement failed.
    #[error("a database statement failed")]
    Sql(#[from] sqlx::Error),
    /// A column contains a value that this version of the program cannot parse.
    #[error("column {column} contains '{value}', which this version does not know")]
    Corrupt { column: &'static str, value: String },
    #[error("the write was cancelled because the program is shutting down")]
    ShuttingDown,
}

impl DbError {
    /// Returns whether the error is a violation of a unique constraint: a row with the same key exists already.
    pub fn is_duplicate(&self) -> bool {
        matches!(self, Self::Sql(sqlx::Error::Database(error)) if error.is_unique_violation())
    }

    /// Returns whether the error is a failure to connect to the database or to get a connection from the pool.
    pub fn is_unreachable(&self) -> bool {
        matches!(self, Self::Sql(sqlx::Error::Io(_) | sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed))
    }
}
