//! JSON bodies for textures and environments.

use serde::Serialize;

use super::timestamp::Timestamp;

/// A texture or an environment in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AssetRow {
    /// ID.
    pub id: String,
    /// Name.
    pub name: String,
    /// Total size of all files, in bytes.
    pub file_size: u64,
    /// Width in pixels; null if unknown.
    #[schema(required)]
    pub width: Option<u32>,
    /// Height in pixels; null if unknown.
    #[schema(required)]
    pub height: Option<u32>,
    /// True for an environment that is available to all workspaces; otherwise absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_system: Option<bool>,
    /// Upload time.
    pub created_at: Timestamp,
}

/// A stored texture or environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct AssetCreated {
    /// ID.
    pub id: String,
    /// True if an identical file was already stored; otherwise absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deduped: Option<bool>,
}

/// A deleted overlay, texture or environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct AssetDeleted {
    /// ID.
    pub id: String,
    /// Always true.
    pub deleted: bool,
}
