//! Renders.

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::settings::{EchoedRenderSettings, RenderSettings};
use super::timestamp::Timestamp;
use crate::id::{ModelId, RenderId};
use crate::output_file::OutputFile;
use crate::state::{HlsStatus, RenderStatus};

/// A render.
#[derive(Clone, Debug, PartialEq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Render {
    /// Identifier.
    pub id: RenderId,
    /// The model it shows.
    pub model_id: ModelId,
    /// Where it stands. Poll for `done` or `error`.
    pub status: RenderStatus,
    /// What was sent, aliases resolved and server stamps added.
    #[schema(value_type = EchoedRenderSettings)]
    pub render_settings: Value,
    /// Bytes of the video; null until done.
    #[schema(required)]
    pub file_size: Option<u64>,
    /// What went wrong, for people.
    #[schema(required)]
    pub error_message: Option<String>,
    /// What went wrong, for programs; set when the status is `error`.
    #[schema(required)]
    pub failure_code: Option<&'static str>,
    /// Whether there is a web video.
    pub has_web_variant: bool,
    /// Whether there is a thumbnail video.
    pub has_thumb: bool,
    /// Whether the free pool paid; then it is watermarked.
    pub is_preview: bool,
    /// Whether it is the free preview of an upload; then it is watermarked.
    pub is_system_preview: bool,
    /// Always null for renders made over the API.
    #[schema(required)]
    pub unlocked_at: Option<Timestamp>,
    /// Where its HLS packaging stands.
    pub hls_status: HlsStatus,
    /// True exactly when `hlsStatus` is `ready`.
    pub hls_ready: bool,
    /// Bytes of the dataset; null for videos and until done.
    #[schema(required)]
    pub dataset_zip_size: Option<u64>,
    /// What the settings named and the model or workspace lacks.
    pub warnings: Vec<String>,
    /// When it was created.
    pub created_at: Timestamp,
    /// When its state last changed.
    pub updated_at: Timestamp,
}

/// Body that creates a render.
#[derive(Clone, Debug, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreateRender {
    /// The model to show.
    #[schema(required, value_type = String)]
    pub model_id: Option<String>,
    /// How to show it.
    #[schema(value_type = Option<RenderSettings>)]
    pub render_settings: Option<Value>,
}

/// Body that creates several renders, all or none.
#[derive(Clone, Debug, Deserialize, utoipa::ToSchema)]
pub struct CreateBatch {
    /// 1 to 100 renders.
    #[serde(default, deserialize_with = "objects")]
    #[schema(required, value_type = Vec<BatchItem>, min_items = 1, max_items = 100)]
    pub renders: Option<Vec<BatchItem>>,
}

/// Reads a list of objects. Read by position, a list would pass for one of them.
fn objects<'de, D: Deserializer<'de>, T: DeserializeOwned>(from: D) -> Result<Option<Vec<T>>, D::Error> {
    let Some(sent) = Option::<Vec<Map<String, Value>>>::deserialize(from)? else { return Ok(None) };
    let read = |one| T::deserialize(Value::Object(one)).map_err(D::Error::custom);
    sent.into_iter().map(read).collect::<Result<_, _>>().map(Some)
}

/// One render of a batch.
#[derive(Clone, Debug, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BatchItem {
    /// The model to show.
    #[schema(required, value_type = String)]
    pub model_id: Option<String>,
    /// How to show it.
    #[schema(value_type = Option<RenderSettings>)]
    pub render_settings: Option<Value>,
}

/// A created render.
#[derive(Clone, Debug, PartialEq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreatedRender {
    /// Identifier.
    pub id: RenderId,
    /// The model it shows.
    pub model_id: ModelId,
    /// Where it stands.
    pub status: RenderStatus,
    /// Whether the free pool paid.
    pub is_preview: bool,
    /// What was sent, aliases resolved and server stamps added.
    #[schema(value_type = EchoedRenderSettings)]
    pub render_settings: Value,
    /// Present and true when an earlier request made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deduped: Option<bool>,
}

/// A render created by a batch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BatchRender {
    /// Identifier.
    pub id: RenderId,
    /// The model it shows.
    pub model_id: ModelId,
    /// Where it stands.
    pub status: RenderStatus,
    /// Whether the free pool paid.
    pub is_preview: bool,
    /// Present and true when an earlier request made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deduped: Option<bool>,
}

/// A cancelled render.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RenderCancelled {
    /// Identifier.
    pub id: RenderId,
    /// Always true.
    pub cancelled: bool,
    /// Credits that went back.
    pub refunded_credits: u64,
}

/// A dismissed failure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct RenderDismissed {
    /// Identifier.
    pub id: RenderId,
    /// Always true.
    pub dismissed: bool,
}

/// A deleted render.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct RenderDeleted {
    /// Identifier.
    pub id: RenderId,
    /// Always true.
    pub deleted: bool,
}

/// Where a render can be streamed from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct HlsView {
    /// Identifier of the render.
    pub id: RenderId,
    /// Where the packaging stands.
    pub status: HlsStatus,
    /// The master playlist; null until ready.
    #[schema(required)]
    pub master_url: Option<String>,
    /// The thumbnail track; null until ready.
    #[schema(required)]
    pub thumbnails_vtt_url: Option<String>,
}

/// Stands for [`OutputFile`]: a signed URL can lead to each of them.
#[derive(Debug)]
pub struct DownloadAsset {}

impl utoipa::PartialSchema for DownloadAsset {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
        OutputFile::schema()
    }
}

impl utoipa::ToSchema for DownloadAsset {}

/// A link to a file of a render that needs no token until it expires. A secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AssetUrl {
    /// The link.
    pub url: String,
    /// What it leads to.
    #[schema(value_type = DownloadAsset)]
    pub asset: OutputFile,
    /// Its lifetime in seconds.
    pub expires_in: i64,
}
