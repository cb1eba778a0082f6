//! JSON bodies for overlay images.

use serde::{Deserialize, Serialize};

use super::timestamp::Timestamp;
use crate::id::OverlayId;
use crate::named::named;

named! {
    /// Use of an overlay.
    Layer, default Background {
        /// The image is shown behind the model.
        Background = "background",
        /// The image is shown in front of the model.
        Foreground = "foreground",
        /// The image is projected onto the model.
        Decal = "decal",
        /// The image replaces the base colour texture of a material.
        Texture = "texture",
    }
}

named! {
    /// Horizontal alignment of an overlay. Pictures do not depend on it, but on `bgAlign` of the settings.
    Alignment, default Left {
        /// The left part of the image is visible.
        Left = "left",
        /// The centre of the image is visible.
        Center = "center",
        /// The right part of the image is visible.
        Right = "right",
    }
}

/// An overlay in a list.
#[derive(Clone, Debug, PartialEq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct OverlayRow {
    /// ID.
    pub id: OverlayId,
    /// Use of the overlay.
    pub layer: Layer,
    /// Name.
    pub name: String,
    /// Human-readable description.
    pub description: String,
    /// Horizontal alignment, on which pictures do not depend.
    pub alignment: Alignment,
    /// Opacity from 0 to 1, on which pictures do not depend.
    #[schema(minimum = 0, maximum = 1)]
    pub opacity: f64,
    /// File size in bytes.
    pub file_size: u64,
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// Name of the uploaded file.
    pub filename: String,
    /// Whether all workspaces can use the overlay.
    pub is_system: bool,
    /// Upload time.
    pub created_at: Timestamp,
}

/// A stored overlay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct OverlayCreated {
    /// ID.
    pub id: OverlayId,
    /// Use of the overlay.
    pub layer: Layer,
    /// Horizontal alignment, on which pictures do not depend.
    pub alignment: Alignment,
    /// Name.
    pub name: String,
}

/// Body of a lookup of an overlay by the hash of its file.
#[derive(Clone, Debug, Deserialize, utoipa::ToSchema)]
pub struct ResolveOverlay {
    /// SHA-256 of the image file, in hexadecimal.
    #[schema(required, value_type = String, pattern = "^[0-9a-fA-F]{64}$")]
    pub sha256: Option<String>,
    /// Use of the overlay. The default is `background`.
    #[schema(value_type = Option<Layer>)]
    pub layer: Option<String>,
}

/// Result of a lookup of an overlay by the hash of its file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct OverlayResolved {
    /// ID of the overlay; null if the file is not stored.
    #[schema(required)]
    pub id: Option<String>,
    /// Whether the file is stored.
    pub exists: bool,
}
