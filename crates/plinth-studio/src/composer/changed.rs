//! The settings of a render that differ from their defaults.

use plinth_spec::settings::{Literal, fields};
use serde_json::Value;

use super::label::label;
use super::read::is_same;

/// A setting that differs from its default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ChangedSetting {
    pub(crate) key: &'static str,
    pub(crate) label: String,
    /// The value as text, with its unit.
    pub(crate) value: String,
}

/// Returns the settings that differ from their defaults, in the order in which the composer shows them.
pub(crate) fn changed_settings(settings: &Value) -> Vec<ChangedSetting> {
    let changed = fields().filter_map(|field| {
        let value = settings.get(field.key)?;
        if field.default.map(Literal::json).is_some_and(|default| is_same(&default, value)) {
            return None;
        }
        let text = match value {
            Value::Bool(is_on) => (if *is_on { "on" } else { "off" }).to_owned(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let unit = if value.is_number() && !field.unit.is_empty() { format!(" {}", field.unit) } else { String::new() };
        Some(ChangedSetting { key: field.key, label: label(field.key), value: text + &unit })
    });
    changed.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn defaults_and_what_the_server_added_are_left_out() {
        let settings = json!({"length": 6.0, "zoom": 1, "quality": "share", "shadows": false, "preview": true,
                              "hiddenMeshNames": ["<b>"]});
        let changed: Vec<_> = changed_settings(&settings).into_iter().map(|one| (one.key, one.value)).collect();
        let expected = [("quality", "share"), ("hiddenMeshNames", "[\"<b>\"]"), ("shadows", "off")];
        assert_eq!(changed, expected.map(|(key, value)| (key, value.to_owned())));
        assert_eq!(changed_settings(&json!({"length": 7}))[0].label, "Length");
    }
}
