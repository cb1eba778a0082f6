//! A row and its columns, listed once.

use plinth_spec::FailureCode;
use plinth_spec::funding::Pool;
use plinth_spec::id;
use plinth_spec::state::{HlsStatus, ModelStatus, RenderStatus};
use plinth_spec::wire::{Alignment, Layer};

use crate::Result;
use crate::row::Row;
use crate::sql::Param;
use crate::states::Made;

/// A type that is one column.
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
    bool: flag, value => *value;
    String: text, value => value.as_str();
    Option<String>: maybe_text, value => value.as_deref();
}

// Texts with a meaning, and the way back from the text.
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
    Alignment: from_name;
    FailureCode: from_name;
    HlsStatus: from_name;
    Layer: from_name;
    ModelStatus: from_name;
    Pool: from_name;
    RenderStatus: from_name;
}

/// The statement that adds a row with these columns.
pub(crate) fn inserting(table: &str, columns: &str) -> Made {
    let values: Vec<String> = (1..=columns.split(',').count()).map(|number| format!("${number}")).collect();
    Made::same(format!("INSERT INTO {table} ({columns}) VALUES ({})", values.join(", ")))
}

/// Lists the columns of a row, each named as its field: `table!(Env in "envs", columns: id, name)`. It makes `columns!()`, the
/// list for statements; `Env::of`, which reads a row; and `Env::add`, which writes one. A field that is no column follows
/// after a semicolon, with what reads it.
macro_rules! table {
    ($type:ident in $table:literal, $columns:ident: $first:ident $(, $rest:ident)* $(; $other:ident = $read:path)?) => {
        macro_rules! $columns {
            () => {
                concat!(stringify!($first) $(, ", ", stringify!($rest))*)
            };
        }

        impl $type {
            pub(crate) fn of(row: &$crate::row::Row) -> $crate::Result<Self> {
                use $crate::table::Column;
                Ok(Self {
                    $first: Column::read(row, stringify!($first))?,
                    $($rest: Column::read(row, stringify!($rest))?,)*
                    $($other: $read(row)?,)?
                })
            }

            async fn add(&self, tx: &mut $crate::Tx) -> $crate::Result<()> {
                use $crate::table::Column;
                static SQL: std::sync::LazyLock<$crate::states::Made> =
                    std::sync::LazyLock::new(|| $crate::table::inserting($table, $columns!()));
                let params = [Column::param(&self.$first) $(, Column::param(&self.$rest))*];
                tx.execute(&SQL, &params).await.map(drop)
            }
        }
    };
}
pub(crate) use table;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::Sql;

    #[test]
    fn each_column_has_its_number() {
        static SQL: std::sync::LazyLock<Made> = std::sync::LazyLock::new(|| inserting("envs", "id, name, width"));
        assert_eq!(Sql::from(&SQL).sqlite, "INSERT INTO envs (id, name, width) VALUES ($1, $2, $3)");
    }
}
