//! JSON bodies for looks.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::change::present;
use super::settings::{EchoedRenderSettings, RenderSettings};
use super::timestamp::Timestamp;

/// Render settings with a name.
#[derive(Clone, Debug, PartialEq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LookRow {
    /// ID.
    pub id: String,
    /// Name.
    pub name: String,
    /// Description in one sentence; empty for a look that was saved.
    pub description: String,
    /// The settings. A render is ordered with them like with any other settings.
    #[schema(value_type = EchoedRenderSettings)]
    pub render_settings: Value,
    /// Whether the look comes with Plinth. Such a look cannot be changed or deleted.
    pub is_built_in: bool,
    /// Whether the form for renders in the web UI starts with this look.
    pub is_start: bool,
    /// Time of the last change; null for a look that comes with Plinth.
    #[schema(required)]
    pub updated_at: Option<Timestamp>,
}

/// Body of a request that saves a look.
#[derive(Clone, Debug, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreateLook {
    /// Name, which no other look of the workspace has.
    #[schema(required, value_type = String, max_length = 100)]
    pub name: Option<String>,
    /// Render settings.
    #[schema(value_type = Option<RenderSettings>)]
    pub render_settings: Option<Value>,
}

/// Body of a request that changes a look. Missing fields keep their values.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpdateLook {
    /// New name.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = String, required = false, max_length = 100)]
    pub name: Option<String>,
    /// Render settings, which replace all settings of the look.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = RenderSettings, required = false)]
    pub render_settings: Option<Value>,
    /// Whether the form for renders in the web UI starts with this look. At most one look of a workspace is the start.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = bool, required = false)]
    pub is_start: Option<bool>,
}

/// A deleted look.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct LookDeleted {
    /// ID.
    pub id: String,
    /// Always true.
    pub deleted: bool,
}
