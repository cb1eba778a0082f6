//! One statement for two databases, and what is bound to it.

use plinth_spec::id;

/// A statement. Both databases number parameters `$1`, `$2`; only locking differs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sql {
    pub(crate) sqlite: &'static str,
    pub(crate) postgres: &'static str,
}

impl From<&'static str> for Sql {
    fn from(text: &'static str) -> Self {
        Self { sqlite: text, postgres: text }
    }
}

/// A bound value. Absent ones keep their type, which PostgreSQL asks for.
#[derive(Clone, Debug)]
pub(crate) enum Param {
    Int(Option<i64>),
    Text(Option<String>),
    Flag(bool),
    Real(f64),
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

impl From<f64> for Param {
    fn from(value: f64) -> Self {
        Self::Real(value)
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
from_ids!(AccountId WorkspaceId TokenId ModelId RenderId OverlayId TextureId EnvId EntryId StagedId);

/// Lists what is bound, in the order of its numbers.
macro_rules! params {
    ($($value:expr),* $(,)?) => { &[$($crate::sql::Param::from($value)),*] };
}
pub(crate) use params;

/// Sets `updated_at` to now. It grows with each change, even within a millisecond or when the clock goes back.
macro_rules! touched {
    ($now:literal) => {
        concat!("updated_at = CASE WHEN updated_at < ", $now, " THEN ", $now, " ELSE updated_at + 1 END")
    };
}
pub(crate) use touched;

/// Where a row belongs to a workspace of the account that owns the workspace `$1`.
macro_rules! of_owner {
    () => {
        "workspace_id IN (SELECT theirs.id FROM workspaces theirs JOIN workspaces this \
         ON this.owner_id = theirs.owner_id WHERE this.id = $1 AND theirs.deleted_at IS NULL)"
    };
}
pub(crate) use of_owner;
