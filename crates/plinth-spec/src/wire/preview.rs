//! JSON bodies for previews.

use serde::Deserialize;
use serde_json::Value;

use super::settings::RenderSettings;

/// Body of a request that draws one frame of a video.
#[derive(Clone, Debug, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DrawPreview {
    /// Render settings. Missing settings have their default values.
    #[schema(value_type = Option<RenderSettings>)]
    pub render_settings: Option<Value>,
    /// Longer side of the picture, in pixels.
    #[schema(schema_with = super::parameter::preview_side_schema)]
    pub longest: Option<u32>,
    /// Whether to draw a draft, which takes less time and may have less accurate light. The default is false.
    pub draft: Option<bool>,
    /// Time of the frame as a fraction of the video. The default is the time of the poster.
    #[schema(minimum = 0, maximum = 1)]
    pub position: Option<f64>,
}

/// Body of a request for the surfaces that are visible at a point of a frame.
#[derive(Clone, Debug, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FindSurfaces {
    /// Render settings. Missing settings have their default values.
    #[schema(value_type = Option<RenderSettings>)]
    pub render_settings: Option<Value>,
    /// Time of the frame as a fraction of the video. The default is the time of the poster.
    #[schema(minimum = 0, maximum = 1)]
    pub position: Option<f64>,
    /// Horizontal position of the point: 0 is the left edge of the frame, 1 the right edge.
    #[schema(required, value_type = f64, minimum = 0, maximum = 1)]
    pub x: Option<f64>,
    /// Vertical position of the point: 0 is the top edge, 1 the bottom edge.
    #[schema(required, value_type = f64, minimum = 0, maximum = 1)]
    pub y: Option<f64>,
}

/// Body of a request for the cameras of a dataset.
#[derive(Clone, Debug, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FindCameras {
    /// Render settings of a dataset.
    #[schema(required, value_type = RenderSettings)]
    pub render_settings: Option<Value>,
}
