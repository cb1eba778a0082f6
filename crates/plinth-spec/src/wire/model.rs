//! JSON bodies of models.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Number, Value};

use super::change::{Change, present};
use super::settings::{EchoedRenderSettings, RenderSettings};
use super::timestamp::Timestamp;
use crate::id::{ModelId, RenderId};
use crate::limits;
use crate::state::{ModelStatus, RenderStatus};

/// An animation clip of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Animation {
    /// Name of the clip.
    pub name: String,
    /// Duration in seconds.
    pub duration: f64,
    /// Number of animation channels. Each channel animates one property of a node.
    pub channels: u64,
}

/// A model in a list of models.
#[derive(Clone, Debug, PartialEq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelRow {
    /// Identifier.
    pub id: ModelId,
    /// Name of the uploaded file; `.glb` replaces the extension of a ZIP. Downloads have the same name.
    pub original_name: String,
    /// Display title.
    #[schema(required)]
    pub title: Option<String>,
    /// Product code.
    #[schema(required)]
    pub sku: Option<String>,
    /// Tags, in lower case.
    #[schema(max_items = 20)]
    pub tags: Vec<String>,
    /// Size of the stored GLB, in bytes.
    pub file_size: u64,
    /// SHA-256 of the stored GLB, in hexadecimal.
    #[schema(pattern = "^[0-9a-f]{64}$")]
    pub sha256: String,
    /// Number of animation clips.
    pub animation_count: u64,
    /// Current state.
    pub status: ModelStatus,
    /// Time of the upload.
    pub created_at: Timestamp,
    /// Time of the last change of the model.
    pub updated_at: Timestamp,
}

/// A model with all its details.
#[derive(Clone, Debug, PartialEq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelDetail {
    /// The fields that a model in a list has, too.
    #[serde(flatten)]
    pub row: ModelRow,
    /// Animation clips.
    pub animations: Vec<Animation>,
    /// Mesh names, which the setting `hiddenMeshNames` refers to. Null if the names are unknown.
    #[schema(required)]
    pub mesh_names: Option<Vec<String>>,
    /// Material names, which the setting `materialEdits` refers to. Null if the names are unknown.
    #[schema(required)]
    pub material_names: Option<Vec<String>>,
    /// The newest renders of the model, newest first. There are at most 1000, or fewer if their settings are very
    /// large. `GET /renders?model=…` lists all renders.
    pub renders: Vec<RenderSummary>,
}

/// A summary of a render, in the details of its model.
#[derive(Clone, Debug, PartialEq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RenderSummary {
    /// Identifier.
    pub id: RenderId,
    /// Current state.
    pub status: RenderStatus,
    /// Settings of the request. Aliases are replaced by the names of the settings.
    #[schema(value_type = EchoedRenderSettings)]
    pub render_settings: Value,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time of the last change of state.
    pub updated_at: Timestamp,
}

/// Result of an upload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UploadResult {
    /// Model that contains the uploaded file.
    pub model_id: ModelId,
    /// The render of the upload: a paid render or, for an upload without settings, a free system preview.
    pub render_id: RenderId,
    /// True if an active model already had this file; otherwise absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duplicate: Option<bool>,
}

/// Body of a request that creates a model from a URL.
#[derive(Clone, Debug, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct IngestModel {
    /// URL of the GLB. It must be an http or https URL of a public host.
    #[schema(required, value_type = String, max_length = 8192)]
    pub url: Option<String>,
    /// Render settings. Without settings, a free preview is created.
    #[schema(value_type = Option<RenderSettings>)]
    pub render_settings: Option<Value>,
}

/// Body of a request for an upload URL.
#[derive(Clone, Debug, Deserialize, utoipa::ToSchema)]
pub struct CreateUploadUrl {
    /// Lifetime of the upload URL in seconds.
    #[serde(default, deserialize_with = "clamped_integer")]
    #[schema(schema_with = super::parameter::expires_member_schema)]
    pub expires: Option<i64>,
}

/// Deserializes a whole number; null becomes `None`. A number outside the range of `i64` is clamped to this range.
fn clamped_integer<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<i64>, D::Error> {
    let Some(number) = Option::<Number>::deserialize(deserializer)? else { return Ok(None) };
    if let Some(whole) = number.as_i64() {
        return Ok(Some(whole));
    }
    let number = number.as_f64().filter(|number| number.fract() == 0.0);
    let number = number.ok_or_else(|| D::Error::custom("expected a whole number"))?;
    #[expect(clippy::cast_possible_truncation, reason = "the cast clamps numbers outside the range")]
    let clamped = number as i64;
    Ok(Some(clamped))
}

/// Body of a request that finalizes a staged upload.
#[derive(Clone, Debug, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FinalizeUpload {
    /// The ticket from the response of `create-upload-url`.
    #[schema(required, value_type = String)]
    pub ticket: Option<String>,
    /// Name of the file. It must end in `.glb`.
    #[schema(required, value_type = String)]
    pub filename: Option<String>,
    /// Render settings. Without settings, a free preview is created.
    #[schema(value_type = Option<RenderSettings>)]
    pub render_settings: Option<Value>,
}

/// An upload URL, and the ticket with which the upload is finalized.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct StagedUpload {
    /// Secret URL to which the client sends the GLB with PUT.
    pub url: String,
    /// Ticket for the request that finalizes the upload.
    pub ticket: String,
    /// Lifetime of the URL in seconds.
    pub expires_in: i64,
    /// Maximum size of the file, in bytes.
    pub max_bytes: u64,
}

/// Body of a lookup by file hash.
#[derive(Clone, Debug, Deserialize, utoipa::ToSchema)]
pub struct CheckHash {
    /// SHA-256 of a GLB, in hexadecimal.
    #[schema(required, value_type = String, pattern = "^[0-9a-fA-F]{64}$")]
    pub sha256: Option<String>,
}

/// Result of a lookup by file hash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct HashMatch {
    /// Whether an active model of the workspace has this file.
    pub exists: bool,
    /// The model that has this file; null if there is none.
    #[schema(required)]
    pub model_id: Option<ModelId>,
}

/// Body of a request that edits a model. Missing fields keep their values. Null or an empty string removes a value.
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
    /// Tags. They replace all existing tags of the model.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Vec<String>, required = false, max_items = 20)]
    pub tags: Option<Vec<String>>,
}

/// The reason why an edit is rejected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// The edit contains no fields.
    #[error("send at least one of title, sku and tags")]
    Empty,
    /// A text is too long.
    #[error("{field} may have at most {} characters", limits::TITLE_CHARS)]
    TooLong {
        /// Name of the field.
        field: &'static str,
    },
    /// A text contains a control character, such as a line break. For example, PostgreSQL cannot store a NUL character.
    #[error("{field} must not contain control characters")]
    Control {
        /// Name of the field.
        field: &'static str,
    },
    /// There are too many tags, or a tag is too long.
    #[error("a model may have at most {} tags of at most {} characters", limits::TAGS, limits::TAG_CHARS)]
    Tags,
}

impl UpdateModel {
    /// Returns the edit in normalized form. Texts are trimmed, and empty texts become removals. Tags are trimmed,
    /// converted to lower case and deduplicated.
    /// Errors: if the edit contains no fields, or a text or the list of tags exceeds its limits.
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

/// Returns tags in the form in which they are stored and compared: trimmed, in lower case and without duplicates.
/// Errors: if there are too many tags, or a tag is too long or contains control characters.
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

/// A model after an edit.
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
    /// Tags of the model.
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

/// A model after it was archived or made active again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct Archived {
    /// Identifier.
    pub id: ModelId,
    /// Whether the model is archived after this request.
    pub archived: bool,
}

/// A signed URL. It works without a token until it expires, so keep it secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SignedUrl {
    /// The signed URL.
    pub url: String,
    /// Lifetime of the URL in seconds.
    pub expires_in: i64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(json: &str) -> Result<UpdateModel, EditError> {
        serde_json::from_str::<UpdateModel>(json).unwrap().normalized()
    }

    #[test]
    fn a_lifetime_is_a_whole_number_of_any_size() {
        let expires = |text: &str| {
            let body = serde_json::from_str::<CreateUploadUrl>(&format!("{{\"expires\": {text}}}"));
            body.ok().map(|body| body.expires)
        };
        for (text, lifetime) in [
            ("-5", -5),
            ("3600.0", 3600),
            ("36e2", 3600),
            ("9223372036854775808", i64::MAX),
            ("99999999999999999999", i64::MAX),
            ("-99999999999999999999", i64::MIN),
        ] {
            assert_eq!(expires(text), Some(Some(lifetime)), "{text}");
        }
        assert_eq!(expires("null"), Some(None));
        assert_eq!(serde_json::from_str::<CreateUploadUrl>("{}").unwrap().expires, None);
        for bad in ["1.5", "\"60\"", "true", "[60]"] {
            assert_eq!(expires(bad), None, "{bad}");
        }
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
    fn tags_that_are_not_an_array_are_rejected() {
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
    fn control_characters_are_rejected() {
        assert_eq!(edit(r#"{"title": "a\u0000b"}"#), Err(EditError::Control { field: "title" }));
        assert_eq!(edit(r#"{"tags": ["a\u001fb"]}"#), Err(EditError::Control { field: "tags" }));
    }
}
