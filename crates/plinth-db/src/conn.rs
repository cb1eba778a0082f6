//! A connection to either database.

use sqlx::pool::PoolConnection;
use sqlx::postgres::PgArguments;
use sqlx::query::Query;
use sqlx::sqlite::SqliteArguments;
use sqlx::{Executor as _, Postgres, Sqlite};
use tokio::time::timeout;

use crate::Result;
use crate::error::DbError;
use crate::pool::ANSWER_TIME;
use crate::row::Row;
use crate::sql::{Param, Sql, params};

/// A connection that reads.
pub struct Conn(pub(crate) Inner);

pub(crate) enum Inner {
    Sqlite(PoolConnection<Sqlite>),
    Postgres(PoolConnection<Postgres>),
}

impl Conn {
    /// Closes the connection instead of handing it back: nobody knows what state it is in.
    pub(crate) fn discard(&mut self) {
        match &mut self.0 {
            Inner::Sqlite(conn) => conn.close_on_drop(),
            Inner::Postgres(conn) => conn.close_on_drop(),
        }
    }

    /// Executes a statement without parameters that is not prepared: `BEGIN` and its like.
    pub(crate) async fn control(&mut self, sqlite: &'static str, postgres: &'static str) -> Result<()> {
        match &mut self.0 {
            Inner::Sqlite(conn) => conn.execute(sqlite).await.map(drop)?,
            Inner::Postgres(conn) => {
                answered(conn.execute(postgres)).await.inspect_err(|error| lost(conn, error)).map(drop)?;
            }
        }
        Ok(())
    }

    pub(crate) async fn fetch_all(&mut self, sql: impl Into<Sql>, params: &[Param]) -> Result<Vec<Row>> {
        let sql = sql.into();
        Ok(match &mut self.0 {
            Inner::Sqlite(conn) => {
                sqlite_query(sql, params).fetch_all(&mut **conn).await?.into_iter().map(Row::Sqlite).collect()
            }
            Inner::Postgres(conn) => {
                let answer = answered(postgres_query(sql, params).fetch_all(&mut **conn)).await;
                answer.inspect_err(|error| lost(conn, error))?.into_iter().map(Row::Postgres).collect()
            }
        })
    }

    pub(crate) async fn fetch_optional(&mut self, sql: impl Into<Sql>, params: &[Param]) -> Result<Option<Row>> {
        let sql = sql.into();
        Ok(match &mut self.0 {
            Inner::Sqlite(conn) => sqlite_query(sql, params).fetch_optional(&mut **conn).await?.map(Row::Sqlite),
            Inner::Postgres(conn) => {
                let answer = answered(postgres_query(sql, params).fetch_optional(&mut **conn)).await;
                answer.inspect_err(|error| lost(conn, error))?.map(Row::Postgres)
            }
        })
    }

    pub(crate) async fn fetch_one(&mut self, sql: impl Into<Sql>, params: &[Param]) -> Result<Row> {
        self.fetch_optional(sql, params).await?.ok_or_else(|| sqlx::Error::RowNotFound.into())
    }

    /// Changes rows and says how many. Only transactions reach this.
    pub(crate) async fn execute(&mut self, sql: impl Into<Sql>, params: &[Param]) -> Result<u64> {
        let sql = sql.into();
        Ok(match &mut self.0 {
            Inner::Sqlite(conn) => sqlite_query(sql, params).execute(&mut **conn).await?.rows_affected(),
            Inner::Postgres(conn) => {
                let answer = answered(postgres_query(sql, params).execute(&mut **conn)).await;
                answer.inspect_err(|error| lost(conn, error))?.rows_affected()
            }
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

/// Waits for an answer of PostgreSQL, but not for ever: the machine may be gone without a word.
async fn answered<T>(answer: impl Future<Output = sqlx::Result<T>>) -> Result<T> {
    Ok(timeout(ANSWER_TIME, answer).await.map_err(|_late| DbError::NoAnswer)??)
}

/// A connection on which no answer came is not used again.
fn lost(conn: &mut PoolConnection<Postgres>, error: &DbError) {
    if matches!(error, DbError::NoAnswer) {
        conn.close_on_drop();
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
