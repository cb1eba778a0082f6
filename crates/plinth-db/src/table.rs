//! Macros that map structs to table rows, so that the code names each column only once.

use plinth_spec::funding::Pool;
use plinth_spec::id;
use plinth_spec::state::{HlsStatus, ModelStatus, RenderStatus};
use plinth_spec::wire::{Alignment, Layer, LedgerType, Timestamp};
use plinth_spec::{AdminAction, FailureCode, PurchaseStatus, WorkClass, WorkerState};

use crate::Result;
use crate::row::Row;
use crate::sql::Param;
use crate::states::BuiltSql;

/// A type stored in a single column.
pub(crate) trait Column: Sized {
    fn read(row: &Row, column: &'static str) -> Result<Self>;
    fn param(&self) -> Param;
}

macro_rules! plain {
    ($($type:ty: $read:ident, $value:ident => $param:expr;)*) => {$(
        impl Column for $type {
            fn read(row: &Row, column: &'static str) -> Result<Self> {
                row.$read(column)
            }

            fn param(&self) -> Param {
                let $value = self;
                Param::from($param)
            }
        }
    )*};
}
plain! {
    i64: int, value => *value;
    Option<i64>: maybe_int, value => *value;
    u64: count, value => value.cast_signed();
    u32: pixels, value => i64::from(*value);
    Option<u32>: maybe_pixels, value => value.map(i64::from);
    f64: real, value => *value;
    Option<f64>: maybe_real, value => *value;
    bool: flag, value => *value;
    String: text, value => value.as_str();
    Option<String>: maybe_text, value => value.as_deref();
}

impl Column for Timestamp {
    fn read(row: &Row, column: &'static str) -> Result<Self> {
        row.int(column).map(Self)
    }

    fn param(&self) -> Param {
        Param::from(self.0)
    }
}

// Implements `Column` for types that are stored as text: the method `as_str` returns the text, and the given function
// parses it.
macro_rules! parsed {
    ($($type:ty: $parse:ident;)*) => {$(
        impl Column for $type {
            fn read(row: &Row, column: &'static str) -> Result<Self> {
                row.parsed(column, <$type>::$parse)
            }

            fn param(&self) -> Param {
                Param::from(self.as_str())
            }
        }

        impl Column for Option<$type> {
            fn read(row: &Row, column: &'static str) -> Result<Self> {
                row.maybe_parsed(column, <$type>::$parse)
            }

            fn param(&self) -> Param {
                Param::from(self.as_ref().map(|value| value.as_str()))
            }
        }
    )*};
}
parsed! {
    id::AccountId: parse;
    id::WorkspaceId: parse;
    id::ModelId: parse;
    id::RenderId: parse;
    id::OverlayId: parse;
    id::TextureId: parse;
    id::EnvId: parse;
    id::LookId: parse;
    id::EntryId: parse;
    id::TokenId: parse;
    id::PurchaseId: parse;
    id::InvitationId: parse;
    id::LogEntryId: parse;
    AdminAction: from_name;
    Alignment: from_name;
    FailureCode: from_name;
    HlsStatus: from_name;
    Layer: from_name;
    LedgerType: from_name;
    ModelStatus: from_name;
    Pool: from_name;
    PurchaseStatus: from_name;
    RenderStatus: from_name;
    WorkClass: from_name;
    WorkerState: from_name;
}

/// Builds the statement that inserts one row with these columns.
pub(crate) fn insert_statement(table: &str, columns: &str) -> BuiltSql {
    BuiltSql::same(format!("INSERT INTO {table} ({columns}) VALUES {}", numbered(1, columns.split(',').count())))
}

/// Builds a list of `count` parameters in parentheses that begins with the number `first`, such as `($3, $4, $5)`.
pub(crate) fn numbered(first: usize, count: usize) -> String {
    let numbers: Vec<String> = (first..first + count).map(|number| format!("${number}")).collect();
    format!("({})", numbers.join(", "))
}

/// Maps a struct to a table whose columns have the names of its fields: `table!(Env in "envs", columns: id, name)`.
/// Generates `columns!()`, the column list for statements; `Env::of`, which reads a row; and `Env::add`, which inserts
/// a row. With `table!(Env in "envs", columns, select: id, name)`, also `select!("WHERE id = $1")`, the statement that reads rows. A
/// field that is not stored in a single column is listed after a semicolon, with the function that reads it.
macro_rules! table {
    ($type:ident in $table:literal, $columns:ident $(, $select:ident)?: $first:ident $(, $rest:ident)* $(; $other:ident = $read:path)?) => {
        macro_rules! $columns {
            () => {
                concat!(stringify!($first) $(, ", ", stringify!($rest))*)
            };
        }
        $($crate::table::select!(($) $select, $columns, $table);)?

        impl $type {
            pub(crate) fn of(row: &$crate::row::Row) -> $crate::Result<Self> {
                use $crate::table::Column;
                Ok(Self {
                    $first: Column::read(row, stringify!($first))?,
                    $($rest: Column::read(row, stringify!($rest))?,)*
                    $($other: $read(row)?,)?
                })
            }

            /// Returns the values in the order of the columns.
            fn values(&self) -> Vec<$crate::sql::Param> {
                use $crate::table::Column;
                vec![Column::param(&self.$first) $(, Column::param(&self.$rest))*]
            }

            async fn add(&self, tx: &mut $crate::Tx) -> $crate::Result<()> {
                static SQL: std::sync::LazyLock<$crate::states::BuiltSql> =
                    std::sync::LazyLock::new(|| $crate::table::insert_statement($table, $columns!()));
                tx.execute(&SQL, &self.values()).await.map(drop)
            }
        }
    };
}
pub(crate) use table;

/// Defines the `select!` of [`table!`]. The first argument is the dollar sign, which a macro cannot write in the macro that it
/// defines.
#[rustfmt::skip] // It would indent the inner macro once more with each run.
macro_rules! select {
    (($dollar:tt) $name:ident, $columns:ident, $table:literal) => {
        macro_rules! $name {
            ($dollar rest:literal) => {
                concat!("SELECT ", $columns!(), " FROM ", $table, " ", $dollar rest)
            };
        }
    };
}
pub(crate) use select;

/// Inserts a row. Each value is written beside the name of its column:
/// `insert!(tx, "members", account_id: account, role: role.as_str(); "ON CONFLICT (account_id) DO NOTHING")`. The
/// clause after the semicolon is optional.
macro_rules! insert {
    ($tx:expr, $table:literal, $first:ident: $value:expr $(, $rest:ident: $other:expr)* $(,)? $(; $clause:expr)?) => {{
        static SQL: std::sync::LazyLock<$crate::states::BuiltSql> = std::sync::LazyLock::new(|| {
            let columns = concat!(stringify!($first) $(, ", ", stringify!($rest))*);
            $crate::table::insert_statement($table, columns)$(.followed_by($clause))?
        });
        $tx.execute(&SQL, $crate::sql::params![$value $(, $other)*]).await.map(drop)
    }};
}
pub(crate) use insert;

/// Maps a struct to the columns from which its fields are read:
/// `row!(columns, product -> Product { id: "id", price: "price_cents" })`. Generates `columns!()`, the column list for
/// statements, and `product`, which reads a row. A field that is read from several columns is listed after a semicolon,
/// with the function that reads it.
macro_rules! row {
    ($columns:ident, $read:ident -> $type:ident {
        $first:ident: $first_column:literal $(, $field:ident: $column:literal)* $(; $other:ident = $other_read:path)?
    }) => {
        macro_rules! $columns {
            () => {
                concat!($first_column $(, ", ", $column)*)
            };
        }

        fn $read(row: &$crate::row::Row) -> $crate::Result<$type> {
            use $crate::table::Column;
            Ok($type {
                $first: Column::read(row, $first_column)?,
                $($field: Column::read(row, $column)?,)*
                $($other: $other_read(row)?,)?
            })
        }
    };
}
pub(crate) use row;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::Sql;

    #[test]
    fn insert_statement_numbers_its_columns() {
        static SQL: std::sync::LazyLock<BuiltSql> =
            std::sync::LazyLock::new(|| insert_statement("envs", "id, name, width"));
        assert_eq!(Sql::from(&SQL).sqlite, "INSERT INTO envs (id, name, width) VALUES ($1, $2, $3)");
    }

    #[test]
    fn a_clause_follows_the_values() {
        static SQL: std::sync::LazyLock<BuiltSql> =
            std::sync::LazyLock::new(|| insert_statement("envs", "id").followed_by("ON CONFLICT (id) DO NOTHING"));
        assert_eq!(Sql::from(&SQL).postgres, "INSERT INTO envs (id) VALUES ($1) ON CONFLICT (id) DO NOTHING");
    }
}
