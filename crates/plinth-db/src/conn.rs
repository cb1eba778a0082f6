//! A connection to a SQLite or PostgreSQL database.

use std::time::SystemTime;

use sqlx::pool::PoolConnection;
use sqlx::postgres::PgArguments;
use sqlx::query::Query;
use sqlx::sqlite::SqliteArguments;
use sqlx::{AssertSqlSafe, Executor as _, Postgres, SqlSafeStr, Sqlite};
use tokio::time::timeout;

use crate::Result;
use crate::error::DbError;
use crate::pool::QUERY_TIMEOUT;
use crate::row::Row;
use crate::sql::{Param, Sql, now_ms, params};
use crate::table::numbered;

/// A database connection for queries. Writing needs a [`Tx`](crate::Tx).
pub struct Conn(pub(crate) Inner);

pub(crate) enum Inner {
    Sqlite(PoolConnection<Sqlite>),
    Postgres(PoolConnection<Postgres>),
}

impl Conn {
    pub(crate) const fn is_postgres(&self) -> bool {
        matches!(self.0, Inner::Postgres(_))
    }

    /// Closes the connection when it is dropped, instead of returning it to the pool. Needed if its transaction may still
    /// be open.
    pub(crate) fn discard(&mut self) {
        match &mut self.0 {
            Inner::Sqlite(conn) => conn.close_on_drop(),
            Inner::Postgres(conn) => conn.close_on_drop(),
        }
    }

    /// Executes an unprepared statement without parameters, such as `BEGIN`.
    pub(crate) async fn control(&mut self, sqlite: &'static str, postgres: &'static str) -> Result<()> {
        match &mut self.0 {
            Inner::Sqlite(conn) => conn.execute(sqlite).await.map(drop)?,
            Inner::Postgres(conn) => {
                with_timeout(conn.execute(postgres))
                    .await
                    .inspect_err(|error| close_after_timeout(conn, error))
                    .map(drop)?;
            }
        }
        Ok(())
    }

    pub(crate) async fn fetch_all(&mut self, sql: impl Into<Sql>, params: &[Param]) -> Result<Vec<Row>> {
        let Sql { sqlite, postgres } = sql.into();
        self.fetch_rows(sqlite, postgres, params).await
    }

    /// Like [`fetch_all`](Self::fetch_all), for a statement that is built at run time. `text` must not contain values;
    /// they are passed as `params`.
    pub(crate) async fn fetch_all_built(&mut self, text: &str, params: &[Param]) -> Result<Vec<Row>> {
        self.fetch_rows(AssertSqlSafe(text), AssertSqlSafe(text), params).await
    }

    async fn fetch_rows(
        &mut self,
        sqlite: impl SqlSafeStr,
        postgres: impl SqlSafeStr,
        params: &[Param],
    ) -> Result<Vec<Row>> {
        Ok(match &mut self.0 {
            Inner::Sqlite(conn) => {
                sqlite_query(sqlite, params).fetch_all(&mut **conn).await?.into_iter().map(Row::Sqlite).collect()
            }
            Inner::Postgres(conn) => {
                let result = with_timeout(postgres_query(postgres, params).fetch_all(&mut **conn)).await;
                result.inspect_err(|error| close_after_timeout(conn, error))?.into_iter().map(Row::Postgres).collect()
            }
        })
    }

    pub(crate) async fn fetch_optional(&mut self, sql: impl Into<Sql>, params: &[Param]) -> Result<Option<Row>> {
        let sql = sql.into();
        Ok(match &mut self.0 {
            Inner::Sqlite(conn) => sqlite_query(sql.sqlite, params).fetch_optional(&mut **conn).await?.map(Row::Sqlite),
            Inner::Postgres(conn) => {
                let result = with_timeout(postgres_query(sql.postgres, params).fetch_optional(&mut **conn)).await;
                result.inspect_err(|error| close_after_timeout(conn, error))?.map(Row::Postgres)
            }
        })
    }

    pub(crate) async fn fetch_one(&mut self, sql: impl Into<Sql>, params: &[Param]) -> Result<Row> {
        self.fetch_optional(sql, params).await?.ok_or_else(|| sqlx::Error::RowNotFound.into())
    }

    /// Executes a statement and returns the number of affected rows. May be called only through a [`Tx`](crate::Tx).
    pub(crate) async fn execute(&mut self, sql: impl Into<Sql>, params: &[Param]) -> Result<u64> {
        let Sql { sqlite, postgres } = sql.into();
        self.execute_text(sqlite, postgres, params).await
    }

    /// Inserts several rows with one statement. `values` contains the values of all rows, each in the order of `columns`.
    pub(crate) async fn insert_rows(&mut self, table: &str, columns: &str, values: &[Param]) -> Result<()> {
        self.insert(table, columns, values, "").await
    }

    /// Inserts rows as [`insert_rows`](Self::insert_rows) does, but skips rows whose unique key exists in the table
    /// already.
    pub(crate) async fn insert_missing_rows(&mut self, table: &str, columns: &str, values: &[Param]) -> Result<()> {
        self.insert(table, columns, values, " ON CONFLICT DO NOTHING").await
    }

    async fn insert(&mut self, table: &str, columns: &str, values: &[Param], conflict: &str) -> Result<()> {
        let width = columns.split(',').count();
        let insert = |row: fn(usize, usize) -> String| {
            let rows: Vec<String> = (0..values.len() / width).map(|number| row(number * width + 1, width)).collect();
            format!("INSERT INTO {table} ({columns}) VALUES {}{conflict}", rows.join(", "))
        };
        // SQLite treats `$1` as a named parameter, and sqlx searches for the name of each parameter, which takes
        // quadratic time. So the parameters are written as `?`.
        let unnamed = |_first, width| format!("({})", vec!["?"; width].join(", "));
        self.execute_text(AssertSqlSafe(insert(unnamed)), AssertSqlSafe(insert(numbered)), values).await.map(drop)
    }

    async fn execute_text(
        &mut self,
        sqlite: impl SqlSafeStr,
        postgres: impl SqlSafeStr,
        params: &[Param],
    ) -> Result<u64> {
        Ok(match &mut self.0 {
            Inner::Sqlite(conn) => sqlite_query(sqlite, params).execute(&mut **conn).await?.rows_affected(),
            Inner::Postgres(conn) => {
                let result = with_timeout(postgres_query(postgres, params).execute(&mut **conn)).await;
                result.inspect_err(|error| close_after_timeout(conn, error))?.rows_affected()
            }
        })
    }

    /// Returns the time of the database server's clock, as Unix time in milliseconds. All machines use this clock, so
    /// their times agree.
    pub async fn now_ms(&mut self) -> Result<i64> {
        if !self.is_postgres() {
            return Ok(system_ms());
        }
        self.fetch_one(concat!("SELECT ", now_ms!(postgres), " AS now"), params![]).await?.int("now")
    }
}

/// Returns the time of this machine's clock, which is also the clock of a SQLite database.
pub(crate) fn system_ms() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// Adds a client-side timeout to a PostgreSQL query, because the query would wait forever for an unreachable server.
async fn with_timeout<T>(query: impl Future<Output = sqlx::Result<T>>) -> Result<T> {
    Ok(timeout(QUERY_TIMEOUT, query).await.map_err(|_late| DbError::QueryTimeout)??)
}

/// Makes the pool close the connection, instead of reusing it, if the error is a timeout.
fn close_after_timeout(conn: &mut PoolConnection<Postgres>, error: &DbError) {
    if matches!(error, DbError::QueryTimeout) {
        conn.close_on_drop();
    }
}

fn sqlite_query(text: impl SqlSafeStr, params: &[Param]) -> Query<'static, Sqlite, SqliteArguments> {
    params.iter().cloned().fold(sqlx::query(text), |query, param| match param {
        Param::Int(value) => query.bind(value),
        Param::Text(value) => query.bind(value),
        Param::Flag(value) => query.bind(value),
        Param::Real(value) => query.bind(value),
        Param::Bytes(value) => query.bind(value),
    })
}

fn postgres_query(text: impl SqlSafeStr, params: &[Param]) -> Query<'static, Postgres, PgArguments> {
    params.iter().cloned().fold(sqlx::query(text), |query, param| match param {
        Param::Int(value) => query.bind(value),
        Param::Text(value) => query.bind(value),
        Param::Flag(value) => query.bind(value),
        Param::Real(value) => query.bind(value),
        Param::Bytes(value) => query.bind(value),
    })
}
