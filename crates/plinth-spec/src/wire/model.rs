//! Models.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::change::{Change, present};
use super::settings::{EchoedRenderSettings, RenderSettings};
use super::timestamp::Timestamp;
use crate::id::{ModelId, RenderId};
use crate::limits;
use crate::state::{ModelStatus, RenderStatus};

/// A clip of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Animation {
    /// Its name.
    pub name: String,
    /// Seconds.
    pub duration: f64,
    /// Animated properties.
    pub channels: u64,
}

/// A model in a list.
#[derive(Clone, Debug, PartialEq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelRow {
    /// Identifier.
    pub id: ModelId,
    /// Name of the uploaded file; downloads carry it.
    pub original_name: String,
    /// Display title.
    #[schema(required)]
    pub title: Option<String>,
    /// Product code.
    #[schema(required)]
    pub sku: Option<String>,
    /// Lower-case words.
    #[schema(max_items = 20)]
    pub tags: Vec<String>,
    /// Bytes of the stored GLB.
    pub file_size: u64,
    /// SHA-256 of the stored GLB.
    #[schema(pattern = "^[0-9a-f]{64}$")]
    pub sha256: String,
    /// Number of clips.
    pub animation_count: u64,
    /// Where it stands.
    pub status: ModelStatus,
    /// When it was uploaded.
    pub created_at: Timestamp,
    /// When anything about it last changed.
    pub updated_at: Timestamp,
}

/// A model with everything known of it.
#[derive(Clone, Debug, PartialEq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelDetail {
    /// What a list shows.
    #[serde(flatten)]
    pub row: ModelRow,
    /// Clips.
    pub animations: Vec<Animation>,
    /// Mesh names as `hiddenMeshNames` matches them; null when unknown.
    #[schema(required)]
    pub mesh_names: Option<Vec<String>>,
    /// Material names as `materialEdits` matches them; null when unknown.
    #[schema(required)]
    pub material_names: Option<Vec<String>>,
    /// Its newest renders, newest first: at most 1000, and fewer where their settings are very large. `GET /renders?model=…`
    /// lists all of them.
    pub renders: Vec<RenderSummary>,
}

/// A render of a model, in short.
#[derive(Clone, Debug, PartialEq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RenderSummary {
    /// Identifier.
    pub id: RenderId,
    /// Where it stands.
    pub status: RenderStatus,
    /// What was sent, aliases resolved.
    #[schema(value_type = EchoedRenderSettings)]
    pub render_settings: Value,
    /// When it was created.
    pub created_at: Timestamp,
    /// When its state last changed.
    pub updated_at: Timestamp,
}

/// What an upload made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UploadResult {
    /// The model.
    pub model_id: ModelId,
    /// The billed render, or the free system preview.
    pub render_id: RenderId,
    /// Present and true when the file was already there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duplicate: Option<bool>,
}

/// Body of an ingest.
#[derive(Clone, Debug, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct IngestModel {
    /// Where the GLB is: http or https, on a public host.
    #[schema(required, value_type = String, max_length = 8192)]
    pub url: Option<String>,
    /// What to render; without them a free preview is made.
    #[schema(value_type = Option<RenderSettings>)]
    pub render_settings: Option<Value>,
}

/// Body that asks for a link to put a file.
#[derive(Clone, Debug, Deserialize, utoipa::ToSchema)]
pub struct CreateUploadUrl {
    /// Lifetime of the link in seconds.
    #[schema(schema_with = super::parameter::expires_member_schema)]
    pub expires: Option<i64>,
}

/// Body that finishes a staged upload.
#[derive(Clone, Debug, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FinalizeUpload {
    /// As `create-upload-url` answered it.
    #[schema(required, value_type = String)]
    pub ticket: Option<String>,
    /// Name of the file; ends in `.glb`.
    #[schema(required, value_type = String)]
    pub filename: Option<String>,
    /// What to render; without them a free preview is made.
    #[schema(value_type = Option<RenderSettings>)]
    pub render_settings: Option<Value>,
}

/// Where a file can be put, and what to finish with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct StagedUpload {
    /// PUT the raw GLB here. A secret.
    pub url: String,
    /// For `finalize`.
    pub ticket: String,
    /// Lifetime of the URL in seconds.
    pub expires_in: i64,
    /// Largest file.
    pub max_bytes: u64,
}

/// Body of a look-up by hash.
#[derive(Clone, Debug, Deserialize, utoipa::ToSchema)]
pub struct CheckHash {
    /// Hex SHA-256 of a GLB.
    #[schema(required, value_type = String, pattern = "^[0-9a-fA-F]{64}$")]
    pub sha256: Option<String>,
}

/// Whether a file is already there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct HashMatch {
    /// Whether an active model has this file.
    pub exists: bool,
    /// That model.
    #[schema(required)]
    pub model_id: Option<ModelId>,
}

/// Body of an edit. Absent fields stay; null or an empty text clears.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, utoipa::ToSchema)]
pub struct UpdateModel {
    /// Display title.
    #[serde(default)]
    #[schema(value_type = Option<String>, max_length = 500)]
    pub title: Change,
    /// Product code.
    #[serde(default)]
    #[schema(value_type = Option<String>, max_length = 500)]
    pub sku: Change,
    /// Words to find it by.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Vec<String>, required = false, max_items = 20)]
    pub tags: Option<Vec<String>>,
}

/// Why an edit is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// Nothing to change.
    #[error("give at least one of title, sku and tags")]
    Empty,
    /// Too long.
    #[error("{field} may have at most {} characters", limits::TITLE_CHARS)]
    TooLong {
        /// Which one.
        field: &'static str,
    },
    /// Something that nobody types, such as a line break. PostgreSQL keeps no text with a NUL.
    #[error("{field} may have no control characters")]
    Control {
        /// Which one.
        field: &'static str,
    },
    /// Too many.
    #[error("a model may have at most {} tags of at most {} characters", limits::TAGS, limits::TAG_CHARS)]
    Tags,
}

impl UpdateModel {
    /// The edit in its final form: texts trimmed, empty ones cleared, tags lower-case, trimmed and unique.
    /// Errors: nothing to change, or too much.
    pub fn normalized(self) -> Result<Self, EditError> {
        if self == Self::default() {
            return Err(EditError::Empty);
        }
        let tags = self.tags.map(normalized_tags).transpose()?;
        Ok(Self { title: bounded("title", self.title)?, sku: bounded("sku", self.sku)?, tags })
    }
}

fn bounded(field: &'static str, change: Change) -> Result<Change, EditError> {
    match &change {
        Change::Set(text) if text.chars().count() > limits::TITLE_CHARS => Err(EditError::TooLong { field }),
        Change::Set(text) if text.contains(char::is_control) => Err(EditError::Control { field }),
        _ => Ok(change),
    }
}

/// Tags as they are kept and compared: trimmed, lower-case, each once.
/// Errors: too many, or one that is too long or has control characters.
fn normalized_tags(tags: Vec<String>) -> Result<Vec<String>, EditError> {
    let mut out: Vec<String> = Vec::new();
    for tag in tags {
        let tag = tag.trim().to_lowercase();
        if !tag.is_empty() && !out.contains(&tag) {
            out.push(tag);
        }
        if out.len() > limits::TAGS {
            return Err(EditError::Tags);
        }
    }
    if out.iter().any(|tag| tag.contains(char::is_control)) {
        return Err(EditError::Control { field: "tags" });
    }
    if out.iter().all(|t| t.chars().count() <= limits::TAG_CHARS) { Ok(out) } else { Err(EditError::Tags) }
}

/// What an edit made of a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct ModelEdited {
    /// Identifier.
    pub id: ModelId,
    /// Display title.
    #[schema(required)]
    pub title: Option<String>,
    /// Product code.
    #[schema(required)]
    pub sku: Option<String>,
    /// Words to find it by.
    pub tags: Vec<String>,
}

/// A deleted model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct ModelDeleted {
    /// Identifier.
    pub id: ModelId,
    /// Always true.
    pub deleted: bool,
}

/// A model that was hidden or shown again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct Archived {
    /// Identifier.
    pub id: ModelId,
    /// Whether it is hidden now.
    pub archived: bool,
}

/// A link that needs no token until it expires. A secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SignedUrl {
    /// The link.
    pub url: String,
    /// Its lifetime in seconds.
    pub expires_in: i64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(json: &str) -> Result<UpdateModel, EditError> {
        serde_json::from_str::<UpdateModel>(json).unwrap().normalized()
    }

    #[test]
    fn absent_fields_stay_and_null_or_empty_clears() {
        let edited = edit(r#"{"title": null, "sku": "  "}"#).unwrap();
        assert_eq!((edited.title, edited.sku, edited.tags), (Change::Clear, Change::Clear, None));
        assert_eq!(edit(r#"{"title": " Chair "}"#).unwrap().title, Change::Set("Chair".to_owned()));
        assert_eq!(edit("{}"), Err(EditError::Empty));
        assert_eq!(edit(r#"{"other": 1}"#), Err(EditError::Empty));
    }

    #[test]
    fn tags_that_are_not_an_array_are_refused() {
        for bad in [r#"{"tags": null}"#, r#"{"tags": "a"}"#, r#"{"tags": [1]}"#] {
            assert!(serde_json::from_str::<UpdateModel>(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn tags_are_trimmed_lower_case_and_unique_and_at_most_20() {
        assert_eq!(edit(r#"{"tags": [" Red ", "red", "", "BIG"]}"#).unwrap().tags.unwrap(), ["red", "big"]);
        let tags = |n: usize| serde_json::json!({"tags": (0..n).map(|i| format!("t{i}")).collect::<Vec<_>>()});
        assert!(edit(&tags(20).to_string()).is_ok());
        assert_eq!(edit(&tags(21).to_string()), Err(EditError::Tags));
    }

    #[test]
    fn control_characters_are_refused() {
        assert_eq!(edit(r#"{"title": "a\u0000b"}"#), Err(EditError::Control { field: "title" }));
        assert_eq!(edit(r#"{"tags": ["a\u001fb"]}"#), Err(EditError::Control { field: "tags" }));
    }
}
