//! Textures and environments.

use serde::Serialize;

use super::timestamp::Timestamp;

/// A texture or an environment in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AssetRow {
    /// Identifier.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Bytes, all parts together.
    pub file_size: u64,
    /// Columns; null when unknown.
    #[schema(required)]
    pub width: Option<u32>,
    /// Rows; null when unknown.
    #[schema(required)]
    pub height: Option<u32>,
    /// When it was uploaded.
    pub created_at: Timestamp,
}

/// A stored texture or environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct AssetCreated {
    /// Identifier.
    pub id: String,
    /// Present and true when the same bytes were already there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deduped: Option<bool>,
}

/// A deleted overlay, texture or environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct AssetDeleted {
    /// Identifier.
    pub id: String,
    /// Always true.
    pub deleted: bool,
}
