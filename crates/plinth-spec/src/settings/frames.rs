//! Determines which settings affect the frames.

use serde_json::{Map, Value};

use super::groups::{RenderSettings, field};

/// Settings that do not affect the frames.
const UNSEEN: [&str; 1] = ["strictCredits"];

impl RenderSettings {
    /// Returns [`Self::frame_settings`] as JSON text with sorted keys.
    pub fn frames(&self) -> String {
        self.frame_settings().to_string()
    }

    /// Returns the settings that affect the frames, as a JSON object. If the objects of two renders of the same model are
    /// equal, their frames are equal, too. Values that equal the default are left out, because a missing value has the
    /// same effect. Numbers are floating-point numbers.
    pub fn frame_settings(&self) -> Value {
        let is_seen = |key: &str, value: &Value| !UNSEEN.contains(&key) && !is_default(key, value);
        let seen: Map<String, Value> = self
            .sent
            .iter()
            .filter(|(key, value)| is_seen(key, value))
            .map(|(key, value)| (key.clone(), as_read(value)))
            .collect();
        Value::Object(seen)
    }
}

pub(super) fn is_default(key: &str, value: &Value) -> bool {
    let default = field(key).and_then(|field| field.default);
    default.is_some_and(|default| as_read(&default.json()) == as_read(value))
}

/// Converts integers to floating-point numbers, so that 6 and 6.0 are equal.
fn as_read(value: &Value) -> Value {
    if value.is_number() { value.as_f64().map_or_else(|| value.clone(), Value::from) } else { value.clone() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::settings::ParseOptions;

    #[test]
    fn only_settings_that_affect_frames_make_a_difference() {
        let frames =
            |value: Value| RenderSettings::from_json(&value, ParseOptions::default()).map(|settings| settings.frames());
        let plain = frames(json!({})).unwrap();
        let same = [
            json!({"length": 6}),
            json!({"length": 6.0, "strictCredits": true}),
            json!({"videoLength": 6, "quality": "standard", "shadows": true, "bgColor": "#ffffff"}),
        ];
        for settings in same {
            assert_eq!(frames(settings.clone()).unwrap(), plain, "{settings}");
        }
        let others = [
            json!({"length": 7}),
            json!({"quality": "share"}),
            json!({"shadows": false}),
            json!({"hiddenMeshNames": ["a"]}),
        ];
        for settings in others {
            assert_ne!(frames(settings.clone()).unwrap(), plain, "{settings}");
        }
        assert_eq!(
            frames(json!({"zoom": 2, "length": 1})).unwrap(),
            frames(json!({"length": 1.0, "zoom": 2.0})).unwrap()
        );
    }
}
