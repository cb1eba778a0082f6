//! The error of invalid settings.

/// The API error codes for invalid settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingsErrorKind {
    /// `invalid_settings`, HTTP 400.
    InvalidSettings,
    /// `invalid_length`, HTTP 422.
    InvalidLength,
}

/// The error for an invalid setting. Its message contains the field, the value, and the accepted values.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SettingsError {
    /// API error code.
    pub kind: SettingsErrorKind,
    /// Path of the field, such as `zoom` or `keyframes[2].pose.fov`.
    pub field: String,
    /// Error message.
    pub message: String,
}

impl SettingsError {
    pub(crate) fn invalid(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self { kind: SettingsErrorKind::InvalidSettings, field: field.into(), message: message.into() }
    }
}

/// Formats a value for an error message. Long values are truncated.
pub(crate) fn shown(value: &serde_json::Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= 60 { text } else { text.chars().take(59).chain(['…']).collect() }
}
