//! What can go wrong with a database.

/// What went wrong with a database.
#[derive(Debug, thiserror::Error)]
pub enum DbError {
    /// The address is neither of SQLite nor of PostgreSQL, or malformed.
    #[error("the database address is not usable; give sqlite://FILE or postgres://HOST/NAME: {problem}")]
    Address {
        /// What is wrong with it.
        problem: String,
    },
    /// PostgreSQL did not answer in time. Whether it did what it was asked for is not known.
    #[error("the database did not answer in time")]
    NoAnswer,
    /// A transaction took too long and was rolled back.
    #[error("a transaction took too long")]
    TooLong,
    /// The tables could not be brought up to date.
    #[error("the database could not be brought up to date")]
    Migrate(#[from] sqlx::migrate::MigrateError),
    /// A statement failed.
    #[error("the database refused a statement")]
    Sql(#[from] sqlx::Error),
    /// A row holds what this program does not understand.
    #[error("column {column} holds '{value}', which this version does not know")]
    Corrupt {
        /// Which column.
        column: &'static str,
        /// What it holds.
        value: String,
    },
    /// The program is ending.
    #[error("the write was given up because the program is ending")]
    Ending,
}

impl DbError {
    /// Whether a row with this key exists already.
    pub fn is_duplicate(&self) -> bool {
        matches!(self, Self::Sql(sqlx::Error::Database(error)) if error.is_unique_violation())
    }

    /// Whether the database could not be reached at all.
    pub fn is_unreachable(&self) -> bool {
        matches!(self, Self::Sql(sqlx::Error::Io(_) | sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed))
    }
}
