//! Overlay images.

use serde::{Deserialize, Serialize};

use super::timestamp::Timestamp;
use crate::id::OverlayId;
use crate::named::named;

named! {
    /// What an overlay is for.
    Layer, default Background {
        /// Behind the model.
        Background = "background",
        /// In front of it.
        Foreground = "foreground",
        /// Stuck onto it.
        Decal = "decal",
        /// In place of a material's colours.
        Texture = "texture",
    }
}

named! {
    /// Which part of a wide image stays.
    Alignment, default Left {
        /// The left part.
        Left = "left",
        /// The middle.
        Center = "center",
        /// The right part.
        Right = "right",
    }
}

/// An overlay in a list.
#[derive(Clone, Debug, PartialEq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct OverlayRow {
    /// Identifier.
    pub id: OverlayId,
    /// What it is for.
    pub layer: Layer,
    /// Its name.
    pub name: String,
    /// What it shows.
    pub description: String,
    /// Which part of it stays.
    pub alignment: Alignment,
    /// 0 is invisible, 1 opaque.
    #[schema(minimum = 0, maximum = 1)]
    pub opacity: f64,
    /// Bytes.
    pub file_size: u64,
    /// Columns.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Name of the uploaded file.
    pub filename: String,
    /// Whether everybody sees it.
    pub is_system: bool,
    /// When it was uploaded.
    pub created_at: Timestamp,
}

/// A stored overlay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct OverlayCreated {
    /// Identifier.
    pub id: OverlayId,
    /// What it is for.
    pub layer: Layer,
    /// Which part of it stays.
    pub alignment: Alignment,
    /// Its name.
    pub name: String,
}

/// Body of a look-up by content.
#[derive(Clone, Debug, Deserialize, utoipa::ToSchema)]
pub struct ResolveOverlay {
    /// Hex SHA-256 of the image file.
    #[schema(required, value_type = String, pattern = "^[0-9a-fA-F]{64}$")]
    pub sha256: Option<String>,
    /// What it is for; `background` when absent.
    #[schema(value_type = Option<Layer>)]
    pub layer: Option<String>,
}

/// Whether an image is already there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct OverlayResolved {
    /// The asset; null when there is none.
    #[schema(required)]
    pub id: Option<String>,
    /// Whether it exists.
    pub exists: bool,
}
