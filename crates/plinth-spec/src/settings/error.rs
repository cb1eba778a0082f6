//! Why settings are refused.

/// Which of the API's codes an error has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingsErrorKind {
    /// `invalid_settings`, HTTP 400.
    InvalidSettings,
    /// `invalid_length`, HTTP 422.
    InvalidLength,
}

/// Why settings are refused: names the field, what was sent and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SettingsError {
    /// The API's code.
    pub kind: SettingsErrorKind,
    /// The field, such as `zoom` or `keyframes[2].pose.fov`.
    pub field: String,
    /// The whole sentence.
    pub message: String,
}

impl SettingsError {
    pub(crate) fn invalid(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self { kind: SettingsErrorKind::InvalidSettings, field: field.into(), message: message.into() }
    }
}

/// A value as it was sent, cut short for messages.
pub(crate) fn shown(value: &serde_json::Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= 60 { text } else { text.chars().take(59).chain(['…']).collect() }
}
