//! A result row of a SQLite or PostgreSQL query.

use sqlx::postgres::PgRow;
use sqlx::sqlite::SqliteRow;
use sqlx::{ColumnIndex, Decode, Postgres, Row as _, Sqlite, Type};

use crate::Result;
use crate::error::DbError;

/// A result row of a SQLite or PostgreSQL query.
pub(crate) enum Row {
    Sqlite(SqliteRow),
    Postgres(PgRow),
}

impl Row {
    fn get<'r, T>(&'r self, column: &'static str) -> Result<T>
    where
        T: Decode<'r, Sqlite> + Type<Sqlite> + Decode<'r, Postgres> + Type<Postgres>,
        &'static str: ColumnIndex<SqliteRow> + ColumnIndex<PgRow>,
    {
        Ok(match self {
            Self::Sqlite(row) => row.try_get(column)?,
            Self::Postgres(row) => row.try_get(column)?,
        })
    }

    pub(crate) fn int(&self, column: &'static str) -> Result<i64> {
        self.get(column)
    }

    pub(crate) fn maybe_int(&self, column: &'static str) -> Result<Option<i64>> {
        self.get(column)
    }

    /// Reads a count or size as an unsigned number. Errors: the stored value is negative.
    pub(crate) fn count(&self, column: &'static str) -> Result<u64> {
        let value = self.int(column)?;
        u64::try_from(value).map_err(|_negative| DbError::Corrupt { column, value: value.to_string() })
    }

    /// Reads the width or height of an image, in pixels.
    pub(crate) fn pixels(&self, column: &'static str) -> Result<u32> {
        let value = self.int(column)?;
        u32::try_from(value).map_err(|_range| DbError::Corrupt { column, value: value.to_string() })
    }

    pub(crate) fn maybe_pixels(&self, column: &'static str) -> Result<Option<u32>> {
        self.maybe_int(column)?.map(|_some| self.pixels(column)).transpose()
    }

    pub(crate) fn text(&self, column: &'static str) -> Result<String> {
        self.get(column)
    }

    pub(crate) fn maybe_text(&self, column: &'static str) -> Result<Option<String>> {
        self.get(column)
    }

    pub(crate) fn maybe_bytes(&self, column: &'static str) -> Result<Option<Vec<u8>>> {
        self.get(column)
    }

    pub(crate) fn flag(&self, column: &'static str) -> Result<bool> {
        self.get(column)
    }

    pub(crate) fn real(&self, column: &'static str) -> Result<f64> {
        self.get(column)
    }

    pub(crate) fn maybe_real(&self, column: &'static str) -> Result<Option<f64>> {
        self.get(column)
    }

    /// Reads a text column and parses it, for example as an identifier or a state.
    pub(crate) fn parsed<T>(&self, column: &'static str, parse: impl Fn(&str) -> Option<T>) -> Result<T> {
        let value = self.text(column)?;
        parse(&value).ok_or(DbError::Corrupt { column, value })
    }

    pub(crate) fn maybe_parsed<T>(&self, column: &'static str, parse: impl Fn(&str) -> Option<T>) -> Result<Option<T>> {
        let value = self.maybe_text(column)?;
        value.map(|value| parse(&value).ok_or(DbError::Corrupt { column, value })).transpose()
    }
}
