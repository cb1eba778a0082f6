//! A connection to either database.

use sqlx::pool::PoolConnection;
use sqlx::postgres::PgArguments;
use sqlx::query::Query;
use sqlx::sqlite::SqliteArguments;
use sqlx::{PgConnection, Postgres, Sqlite, SqliteConnection, Transaction};

use crate::Result;
use crate::row::Row;
use crate::sql::{Param, Sql, params};

/// A connection that reads.
pub struct Conn(pub(crate) Inner);

pub(crate) enum Inner {
    SqliteReader(PoolConnection<Sqlite>),
    SqliteWriter(Transaction<'static, Sqlite>),
    PostgresReader(PoolConnection<Postgres>),
    PostgresWriter(Transaction<'static, Postgres>),
}

/// What both databases are behind.
enum Backend<'c> {
    Sqlite(&'c mut SqliteConnection),
    Postgres(&'c mut PgConnection),
}

impl Conn {
    fn backend(&mut self) -> Backend<'_> {
        match &mut self.0 {
            Inner::SqliteReader(conn) => Backend::Sqlite(conn),
            Inner::SqliteWriter(conn) => Backend::Sqlite(conn),
            Inner::PostgresReader(conn) => Backend::Postgres(conn),
            Inner::PostgresWriter(conn) => Backend::Postgres(conn),
        }
    }

    pub(crate) async fn fetch_all(&mut self, sql: impl Into<Sql>, params: &[Param]) -> Result<Vec<Row>> {
        let sql = sql.into();
        Ok(match self.backend() {
            Backend::Sqlite(conn) => {
                sqlite_query(sql, params).fetch_all(conn).await?.into_iter().map(Row::Sqlite).collect()
            }
            Backend::Postgres(conn) => {
                postgres_query(sql, params).fetch_all(conn).await?.into_iter().map(Row::Postgres).collect()
            }
        })
    }

    pub(crate) async fn fetch_optional(&mut self, sql: impl Into<Sql>, params: &[Param]) -> Result<Option<Row>> {
        let sql = sql.into();
        Ok(match self.backend() {
            Backend::Sqlite(conn) => sqlite_query(sql, params).fetch_optional(conn).await?.map(Row::Sqlite),
            Backend::Postgres(conn) => postgres_query(sql, params).fetch_optional(conn).await?.map(Row::Postgres),
        })
    }

    pub(crate) async fn fetch_one(&mut self, sql: impl Into<Sql>, params: &[Param]) -> Result<Row> {
        self.fetch_optional(sql, params).await?.ok_or_else(|| sqlx::Error::RowNotFound.into())
    }

    /// Changes rows and says how many. Only transactions reach this.
    pub(crate) async fn execute(&mut self, sql: impl Into<Sql>, params: &[Param]) -> Result<u64> {
        let sql = sql.into();
        Ok(match self.backend() {
            Backend::Sqlite(conn) => sqlite_query(sql, params).execute(conn).await?.rows_affected(),
            Backend::Postgres(conn) => postgres_query(sql, params).execute(conn).await?.rows_affected(),
        })
    }

    /// The database's own time: one clock for all machines.
    pub async fn now_ms(&mut self) -> Result<i64> {
        let sql = Sql {
            sqlite: "SELECT CAST(unixepoch('subsec') * 1000 AS INTEGER) AS now",
            postgres: "SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT) AS now",
        };
        self.fetch_one(sql, params![]).await?.int("now")
    }
}

fn sqlite_query(sql: Sql, params: &[Param]) -> Query<'static, Sqlite, SqliteArguments> {
    params.iter().cloned().fold(sqlx::query(sql.sqlite), |query, param| match param {
        Param::Int(value) => query.bind(value),
        Param::Text(value) => query.bind(value),
        Param::Flag(value) => query.bind(value),
        Param::Real(value) => query.bind(value),
    })
}

fn postgres_query(sql: Sql, params: &[Param]) -> Query<'static, Postgres, PgArguments> {
    params.iter().cloned().fold(sqlx::query(sql.postgres), |query, param| match param {
        Param::Int(value) => query.bind(value),
        Param::Text(value) => query.bind(value),
        Param::Flag(value) => query.bind(value),
        Param::Real(value) => query.bind(value),
    })
}
