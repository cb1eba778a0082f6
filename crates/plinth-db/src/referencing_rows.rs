//! Lists the rows that reference objects in the store, one table and one page at a time.

use plinth_spec::id::{EnvId, ModelId, OverlayId, StagedId, TextureId};

use crate::renders::{Render, columns};
use crate::row::Row;
use crate::sql::params;
use crate::{Conn, Result};

/// A table whose rows reference objects in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Models whose file is not deleted.
    Model,
    /// Staged uploads, which are in the store but not yet finalized by their clients.
    Staged,
    Overlay,
    Texture,
    Env,
    /// Renders that are not deleted.
    Render,
}

/// A row that references objects in the store.
#[derive(Clone, Debug)]
pub enum ReferencingRow {
    Model(ModelId),
    /// A staged upload, which is in the store but not yet finalized by its client.
    Staged(StagedId),
    Overlay(OverlayId),
    Texture(TextureId),
    /// An environment, and whether it has a thumbnail.
    Env(EnvId, bool),
    Render(Box<Render>),
}

/// Returns whether the store should have a file of a model or of a render.
pub async fn have_files(conn: &mut Conn) -> Result<bool> {
    let sql = "SELECT id FROM models WHERE file_deleted_at IS NULL \
               UNION ALL SELECT id FROM renders WHERE files IS NOT NULL AND deleted_at IS NULL LIMIT 1";
    Ok(conn.fetch_optional(sql, params![]).await?.is_some())
}

impl Kind {
    pub const ALL: [Self; 6] = [Self::Model, Self::Staged, Self::Overlay, Self::Texture, Self::Env, Self::Render];
}

impl ReferencingRow {
    /// Returns the row's identifier.
    pub fn id(&self) -> &str {
        match self {
            Self::Model(id) => id.as_str(),
            Self::Staged(id) => id.as_str(),
            Self::Overlay(id) => id.as_str(),
            Self::Texture(id) => id.as_str(),
            Self::Env(id, _) => id.as_str(),
            Self::Render(render) => render.id.as_str(),
        }
    }

    fn of(kind: Kind, row: &Row) -> Result<Self> {
        Ok(match kind {
            Kind::Model => Self::Model(row.parsed("id", ModelId::parse)?),
            Kind::Staged => Self::Staged(row.parsed("id", StagedId::parse)?),
            Kind::Overlay => Self::Overlay(row.parsed("id", OverlayId::parse)?),
            Kind::Texture => Self::Texture(row.parsed("id", TextureId::parse)?),
            Kind::Env => Self::Env(row.parsed("id", EnvId::parse)?, row.flag("has_thumb")?),
            Kind::Render => Self::Render(Box::new(Render::of(row)?)),
        })
    }
}

// Builds the statement that selects the rows of a table that satisfy a condition.
macro_rules! over {
    ($kind:expr, $which:literal) => {
        match $kind {
            Kind::Model => concat!("SELECT id FROM models WHERE file_deleted_at IS NULL AND ", $which),
            Kind::Staged => concat!("SELECT id FROM staged_uploads WHERE finalized_at IS NULL AND ", $which),
            Kind::Overlay => concat!("SELECT id FROM overlays WHERE ", $which),
            Kind::Texture => concat!("SELECT id FROM textures WHERE ", $which),
            Kind::Env => concat!("SELECT id, has_thumb FROM envs WHERE ", $which),
            Kind::Render => concat!("SELECT ", columns!(), " FROM renders WHERE deleted_at IS NULL AND ", $which),
        }
    };
}

/// Lists at most `limit` rows in ascending order of their identifiers. Starts after the identifier `after`, or at the
/// first row if `after` is empty.
pub async fn page(conn: &mut Conn, kind: Kind, after: &str, limit: u32) -> Result<Vec<ReferencingRow>> {
    let sql = over!(kind, "id > $1 ORDER BY id LIMIT $2");
    let rows = conn.fetch_all(sql, params![after, i64::from(limit)]).await?;
    rows.iter().map(|row| ReferencingRow::of(kind, row)).collect()
}

/// Finds a row by its identifier.
pub async fn find(conn: &mut Conn, kind: Kind, id: &str) -> Result<Option<ReferencingRow>> {
    let row = conn.fetch_optional(over!(kind, "id = $1"), params![id]).await?;
    row.as_ref().map(|row| ReferencingRow::of(kind, row)).transpose()
}
