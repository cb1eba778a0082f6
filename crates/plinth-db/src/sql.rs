//! SQL statements for both databases, and their bound parameters.

use std::sync::Arc;

use plinth_spec::id;

/// A statement in the dialects of both databases. Most statements differ only in their locking clauses. Parameters are
/// `$1`, `$2`, ….
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sql {
    pub(crate) sqlite: &'static str,
    pub(crate) postgres: &'static str,
}

/// The time of the database's clock, as Unix time in milliseconds, in the dialect of one database.
macro_rules! now_ms {
    (sqlite) => {
        "CAST(unixepoch('subsec') * 1000 AS INTEGER)"
    };
    (postgres) => {
        "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)"
    };
}
pub(crate) use now_ms;

impl From<&'static str> for Sql {
    fn from(text: &'static str) -> Self {
        Self { sqlite: text, postgres: text }
    }
}

/// A value bound to a statement. Each variant holds an `Option`, because PostgreSQL needs the type of a parameter even
/// if its value is NULL.
#[derive(Clone, Debug)]
pub(crate) enum Param {
    Int(Option<i64>),
    Text(Option<String>),
    Flag(bool),
    Real(Option<f64>),
    Bytes(Option<Arc<[u8]>>),
}

impl From<i64> for Param {
    fn from(value: i64) -> Self {
        Self::Int(Some(value))
    }
}

impl From<Option<i64>> for Param {
    fn from(value: Option<i64>) -> Self {
        Self::Int(value)
    }
}

impl From<&str> for Param {
    fn from(value: &str) -> Self {
        Self::Text(Some(value.to_owned()))
    }
}

impl From<Option<&str>> for Param {
    fn from(value: Option<&str>) -> Self {
        Self::Text(value.map(str::to_owned))
    }
}

impl From<bool> for Param {
    fn from(value: bool) -> Self {
        Self::Flag(value)
    }
}

impl From<Option<f64>> for Param {
    fn from(value: Option<f64>) -> Self {
        Self::Real(value)
    }
}

impl From<Option<Arc<[u8]>>> for Param {
    fn from(value: Option<Arc<[u8]>>) -> Self {
        Self::Bytes(value)
    }
}

impl From<f64> for Param {
    fn from(value: f64) -> Self {
        Self::Real(Some(value))
    }
}

macro_rules! from_ids {
    ($($name:ident)*) => {$(
        impl From<&id::$name> for Param {
            fn from(value: &id::$name) -> Self {
                value.as_str().into()
            }
        }

        impl From<Option<&id::$name>> for Param {
            fn from(value: Option<&id::$name>) -> Self {
                value.map(id::$name::as_str).into()
            }
        }
    )*};
}
from_ids!(AccountId WorkspaceId TokenId ModelId RenderId OverlayId TextureId EnvId EntryId StagedId PurchaseId InvitationId LookId LogEntryId);

/// Builds the list of values to bind: the first value is `$1`, the second is `$2`, and so on.
macro_rules! params {
    ($($value:expr),* $(,)?) => { &[$($crate::sql::Param::from($value)),*] };
}
pub(crate) use params;

/// Returns the LIKE pattern that matches texts which contain `search`. The statement must declare `!` as escape
/// character.
pub(crate) fn containing(search: &str) -> String {
    let escaped: String =
        search.chars().flat_map(|c| matches!(c, '!' | '%' | '_').then_some('!').into_iter().chain([c])).collect();
    format!("%{escaped}%")
}

/// Builds the SQL assignment that sets `updated_at` to the current time. The value increases with each change, even if
/// two changes have the same time or the clock was set back.
macro_rules! touched {
    ($now:literal) => {
        concat!("updated_at = CASE WHEN updated_at < ", $now, " THEN ", $now, " ELSE updated_at + 1 END")
    };
}
pub(crate) use touched;

/// The SQL condition for rows whose workspace has the same owner as the workspace `$1`. `$and` is a further condition, in which the
/// workspace of the row is called `theirs`.
macro_rules! of_owner {
    ($and:literal) => {
        concat!(
            "workspace_id IN (SELECT theirs.id FROM workspaces theirs JOIN workspaces this \
             ON this.owner_id = theirs.owner_id WHERE this.id = $1",
            $and,
            ")"
        )
    };
}
pub(crate) use of_owner;
