//! JSON bodies of renders.

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::settings::{EchoedRenderSettings, RenderSettings};
use super::timestamp::Timestamp;
use crate::failure_code::FailureCode;
use crate::id::{ModelId, RenderId};
use crate::output_file::OutputFile;
use crate::state::{HlsStatus, RenderStatus};

/// A render.
#[derive(Clone, Debug, PartialEq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Render {
    /// ID.
    pub id: RenderId,
    /// Rendered model.
    pub model_id: ModelId,
    /// State. Clients may poll until it is `done` or `error`.
    pub status: RenderStatus,
    /// Fraction of the work that is done, from 0 to 1. It never decreases while one worker processes the render. If the
    /// render returns to the queue, it is 0 again. Null for a render that failed.
    #[schema(required, minimum = 0, maximum = 1)]
    pub progress: Option<f64>,
    /// Settings of the request. Aliases are replaced by the names of the settings, and keys that only the server sets
    /// are added.
    #[schema(value_type = EchoedRenderSettings)]
    pub render_settings: Value,
    /// Size of the video in bytes; null until the render is done.
    #[schema(required)]
    pub file_size: Option<u64>,
    /// Human-readable reason of the failure.
    #[schema(required)]
    pub error_message: Option<String>,
    /// Machine-readable reason of the failure. It is set if `status` is `error`.
    #[schema(required)]
    pub failure_code: Option<FailureCode>,
    /// Whether the render has a web video.
    pub has_web_variant: bool,
    /// Whether the render has a thumbnail video.
    pub has_thumb: bool,
    /// Whether the free pool paid for the render. Such a render is watermarked.
    pub is_preview: bool,
    /// Whether the render is the free preview of an upload. Such a render is watermarked.
    pub is_system_preview: bool,
    /// Always null for renders created by the API.
    #[schema(required)]
    pub unlocked_at: Option<Timestamp>,
    /// State of the HLS packaging.
    pub hls_status: HlsStatus,
    /// True exactly when `hlsStatus` is `ready`.
    pub hls_ready: bool,
    /// Size of the dataset in bytes; null for videos, and null until the render is done.
    #[schema(required)]
    pub dataset_zip_size: Option<u64>,
    /// Warnings about names in the settings that neither the model nor the workspace has, and about settings that have no
    /// effect because of other settings.
    pub warnings: Vec<String>,
    /// Creation time.
    pub created_at: Timestamp,
    /// Time of the last change of state.
    pub updated_at: Timestamp,
}

/// Body of a request that creates a render.
#[derive(Clone, Debug, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreateRender {
    /// Model to render.
    #[schema(required, value_type = String)]
    pub model_id: Option<String>,
    /// Render settings. Missing settings have their default values.
    #[schema(value_type = Option<RenderSettings>)]
    pub render_settings: Option<Value>,
}

/// Body of a request that creates several renders. Either all of them are created or none.
#[derive(Clone, Debug, Deserialize, utoipa::ToSchema)]
pub struct CreateBatch {
    /// The renders to create: 1 to 100.
    #[serde(default, deserialize_with = "objects")]
    #[schema(required, value_type = Vec<BatchItem>, min_items = 1, max_items = 100)]
    pub renders: Option<Vec<BatchItem>>,
}

/// Deserializes a list of objects. Each item is deserialized as a map first, because serde would otherwise accept an
/// array in place of an object.
fn objects<'de, D: Deserializer<'de>, T: DeserializeOwned>(from: D) -> Result<Option<Vec<T>>, D::Error> {
    let Some(sent) = Option::<Vec<Map<String, Value>>>::deserialize(from)? else { return Ok(None) };
    let read = |one| T::deserialize(Value::Object(one)).map_err(D::Error::custom);
    sent.into_iter().map(read).collect::<Result<_, _>>().map(Some)
}

/// One render of a batch.
#[derive(Clone, Debug, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BatchItem {
    /// Model to render.
    #[schema(required, value_type = String)]
    pub model_id: Option<String>,
    /// Render settings. Missing settings have their default values.
    #[schema(value_type = Option<RenderSettings>)]
    pub render_settings: Option<Value>,
}

/// A created render.
#[derive(Clone, Debug, PartialEq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreatedRender {
    /// ID.
    pub id: RenderId,
    /// Rendered model.
    pub model_id: ModelId,
    /// State.
    pub status: RenderStatus,
    /// Whether the free pool paid for the render.
    pub is_preview: bool,
    /// Settings of the request. Aliases are replaced by the names of the settings, and keys that only the server sets
    /// are added.
    #[schema(value_type = EchoedRenderSettings)]
    pub render_settings: Value,
    /// True if an earlier request created the render; otherwise absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deduped: Option<bool>,
}

/// A render that was created by a batch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BatchRender {
    /// ID.
    pub id: RenderId,
    /// Rendered model.
    pub model_id: ModelId,
    /// State.
    pub status: RenderStatus,
    /// Whether the free pool paid for the render.
    pub is_preview: bool,
    /// True if an earlier request created the render; otherwise absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deduped: Option<bool>,
}

/// A cancelled render.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RenderCancelled {
    /// ID.
    pub id: RenderId,
    /// Always true.
    pub cancelled: bool,
    /// Number of refunded credits.
    pub refunded_credits: u64,
}

/// A failed render that was dismissed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct RenderDismissed {
    /// ID.
    pub id: RenderId,
    /// Always true.
    pub dismissed: bool,
}

/// A deleted render.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct RenderDeleted {
    /// ID.
    pub id: RenderId,
    /// Always true.
    pub deleted: bool,
}

/// HLS stream of a render.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct HlsView {
    /// ID of the render.
    pub id: RenderId,
    /// State of the HLS packaging.
    pub status: HlsStatus,
    /// URL of the master playlist; null until the stream is ready.
    #[schema(required)]
    pub master_url: Option<String>,
    /// URL of the thumbnail track (WebVTT); null until the stream is ready.
    #[schema(required)]
    pub thumbnails_vtt_url: Option<String>,
}

/// Schema of [`OutputFile`], with the name that this type has in the API.
#[derive(Debug)]
pub struct DownloadAsset {}

impl utoipa::PartialSchema for DownloadAsset {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
        OutputFile::schema()
    }
}

impl utoipa::ToSchema for DownloadAsset {}

/// Signed URL of an output file. It works without a token until it expires, so keep it secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AssetUrl {
    /// URL.
    pub url: String,
    /// Output file.
    #[schema(value_type = DownloadAsset)]
    pub asset: OutputFile,
    /// Lifetime in seconds.
    pub expires_in: i64,
}
