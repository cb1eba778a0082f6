//! Parses and validates settings.

use serde_json::{Map, Value};

use super::error::{SettingsError, SettingsErrorKind, shown};
use super::groups::{DATASET_EFFECT, Output, RenderSettings, field, fields};
use super::shape::nearest_hint;

type Result<T> = std::result::Result<T, SettingsError>;

/// Options of parsing.
#[derive(Clone, Copy, Debug, Default)]
pub struct ParseOptions {
    /// Whether videos may be longer than the maximum length of their quality. Administrators may create such videos.
    pub uncapped_length: bool,
}

/// Aliases of settings, each with the name of its setting.
pub(super) const ALIASES: &[(&str, &str)] = &[("videoLength", "length")];
/// Keys that only the server sets. Requests with these keys are rejected.
pub(super) const STAMPED: &[&str] = &["preview", "thumbOnly"];

impl RenderSettings {
    /// Parses and validates settings.
    /// Errors: if a setting is unknown or has an invalid value. The error is about the first such setting.
    pub fn from_json(value: &Value, options: ParseOptions) -> Result<Self> {
        let Value::Object(members) = value else {
            return Err(SettingsError::invalid(
                "renderSettings",
                format!("settings must be an object, not {}", shown(value)),
            ));
        };
        let sent = canonical(members)?;
        for (key, value) in &sent {
            if let Some(field) = field(key) {
                field.shape.check(key, field.unit, value)?;
            }
        }
        let settings = Self::from_checked(sent)?;
        check_length(&settings, options)?;
        Ok(settings)
    }

    /// Parses and validates settings in JSON text.
    /// Errors: if the text is not valid JSON, and the errors of [`Self::from_json`].
    pub fn from_text(text: &str, options: ParseOptions) -> Result<Self> {
        let value: Value = serde_json::from_str(text)
            .map_err(|e| SettingsError::invalid("renderSettings", format!("settings are not valid JSON: {e}")))?;
        Self::from_json(&value, options)
    }

    /// Parses settings in a response of the server. They may contain the keys that only the server sets, and the video
    /// may have any length.
    /// Errors: the same as [`Self::from_json`].
    pub fn from_echoed(value: &Value) -> Result<Self> {
        let mut value = value.clone();
        if let Value::Object(members) = &mut value {
            members.retain(|key, _| !STAMPED.contains(&key.as_str()));
        }
        Self::from_json(&value, ParseOptions { uncapped_length: true })
    }

    /// Returns the settings of the request. Aliases are replaced by the names of the settings. Defaults are not added.
    pub fn echoed(&self) -> Value {
        Value::Object(self.sent.clone())
    }

    /// Returns the settings as JSON text with sorted keys. Two requests have the same settings if their texts are
    /// equal.
    pub fn canonical(&self) -> String {
        // `serde_json::Map` sorts its keys.
        self.echoed().to_string()
    }
}

impl Default for RenderSettings {
    #[expect(clippy::expect_used, reason = "the defaults are constants, and a test parses them")]
    fn default() -> Self {
        Self::from_checked(Map::new()).expect("every default is of its setting's type")
    }
}

/// Replaces aliases by the names of the settings. Unknown keys are not changed.
/// Errors: if a setting is given twice, once under an alias.
pub fn replace_aliases(members: &Map<String, Value>) -> Result<Map<String, Value>> {
    let mut out = Map::new();
    for (key, value) in members {
        let name = ALIASES.iter().find(|(alias, _)| alias == key).map_or(key.as_str(), |(_, name)| *name);
        if out.insert(name.to_owned(), value.clone()).is_some() {
            return Err(SettingsError::invalid(name, format!("'{name}' is given twice, once under an alias")));
        }
    }
    Ok(out)
}

/// Replaces aliases by the names of the settings, and rejects unknown keys.
fn canonical(members: &Map<String, Value>) -> Result<Map<String, Value>> {
    let mut out = replace_aliases(members)?;
    for key in out.keys() {
        if STAMPED.contains(&key.as_str()) {
            return Err(SettingsError::invalid(key, format!("'{key}' is set by the server and cannot be sent")));
        }
        if field(key).is_none() {
            let hint = nearest_hint(key, fields());
            return Err(SettingsError::invalid(key, format!("there is no setting '{key}'{hint}")));
        }
    }
    if out.get("effect").and_then(Value::as_str) == Some(DATASET_EFFECT) {
        out.remove("effect");
        if out.get("output").and_then(Value::as_str) == Some(Output::Video.as_str()) {
            let message = "effect 'dataset' means output 'dataset', but output is 'video'; send only one of them";
            return Err(SettingsError::invalid("effect", message));
        }
        out.entry("output").or_insert_with(|| Value::from(Output::Dataset.as_str()));
    }
    for (key, value) in &mut out {
        if let Value::String(name) = value
            && let Some(current) = field(key).and_then(|field| field.shape.current_name(name))
        {
            current.clone_into(name);
        }
    }
    Ok(out)
}

fn check_length(settings: &RenderSettings, options: ParseOptions) -> Result<()> {
    let video = settings.video();
    let max = if options.uncapped_length { f64::MAX } else { video.quality.max_length_secs() };
    if video.length_secs > 0.0 && video.length_secs <= max {
        return Ok(());
    }
    Err(SettingsError {
        kind: SettingsErrorKind::InvalidLength,
        field: "length".to_owned(),
        message: format!(
            "length must be above 0 and at most {} s for quality {}, not {}",
            video.quality.max_length_secs(),
            video.quality.as_str(),
            video.length_secs
        ),
    })
}

#[cfg(test)]
mod tests;
