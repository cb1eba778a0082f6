//! Converts the fields of the submitted form to render settings.

use plinth_service::ServiceError;
use plinth_spec::ErrorCode;
use plinth_spec::settings::{Field, Shape, fields};
use serde_json::{Map, Number, Value};

use crate::form::SessionFields;

/// Returns the settings in a form. Leaves out settings that have their default value, because a missing setting has the
/// same meaning.
/// Errors: a value cannot be parsed. The use case that receives the settings checks whether their values are allowed.
pub(crate) fn read_settings(sent: &SessionFields) -> Result<Map<String, Value>, ServiceError> {
    let mut settings = Map::new();
    for field in fields() {
        let values: Vec<&str> = sent.all(field.key).collect();
        if let Some(value) = read(field, &values)? {
            settings.insert(field.key.to_owned(), value);
        }
    }
    Ok(settings)
}

fn read(field: &Field, values: &[&str]) -> Result<Option<Value>, ServiceError> {
    let raw = values.first().copied().unwrap_or_default();
    let text = raw.trim();
    let value = match field.shape {
        // Browsers do not send a switch that is off.
        Shape::Flag => Some(Value::from(!values.is_empty())),
        Shape::Texts { .. } => {
            let names: Vec<&str> = values.iter().copied().filter(|name| !name.is_empty()).collect();
            (!names.is_empty()).then(|| Value::from(names))
        }
        _ if text.is_empty() => None,
        // Names of a model's parts may begin or end with a space.
        Shape::Text { .. } => Some(Value::from(raw)),
        Shape::Color | Shape::Choice { .. } => Some(Value::from(text)),
        Shape::Number { .. } | Shape::NonZero { .. } | Shape::Positive { .. } | Shape::Scale { .. } | Shape::Length => {
            Some(Value::Number(number(text).ok_or_else(|| unreadable(field, "a number", text))?))
        }
        Shape::ChoiceOrFlag { .. } | Shape::List { .. } | Shape::Object(_) | Shape::Map { .. } => {
            let value: Value =
                serde_json::from_str(text).map_err(|error| unreadable(field, "JSON", &error.to_string()))?;
            Some(value).filter(|value| !is_empty(value))
        }
    };
    let default = field.default.map(plinth_spec::settings::Literal::json);
    Ok(value.filter(|value| default.as_ref().is_none_or(|default| !is_same(default, value))))
}

fn unreadable(field: &Field, wanted: &str, found: &str) -> ServiceError {
    let found: String = found.chars().take(60).collect();
    ServiceError::new(ErrorCode::InvalidSettings, format!("{} must be {wanted}: {found}", field.key))
}

/// Parses a number. Whole numbers become JSON integers, so that they are written without a decimal point.
fn number(text: &str) -> Option<Number> {
    let value = text.parse::<f64>().ok()?;
    #[expect(clippy::cast_possible_truncation, reason = "only kept where nothing was lost")]
    let whole = value as i64;
    #[expect(clippy::float_cmp, reason = "exactness is what is asked for")]
    let is_whole = whole as f64 == value;
    if is_whole { Some(Number::from(whole)) } else { Number::from_f64(value) }
}

fn is_empty(value: &Value) -> bool {
    value.is_null() || value.as_array().is_some_and(Vec::is_empty) || value.as_object().is_some_and(Map::is_empty)
}

pub(super) fn is_same(default: &Value, value: &Value) -> bool {
    default == value || default.is_number() && default.as_f64() == value.as_f64()
}

#[cfg(test)]
mod tests {
    use plinth_spec::settings::field;
    use serde_json::json;

    use super::*;

    fn value(key: &str, values: &[&str]) -> Result<Option<Value>, String> {
        read(field(key).unwrap(), values).map_err(|error| error.message)
    }

    #[test]
    fn defaults_and_empty_fields_are_left_out() {
        let left_out: [(&str, &[&str]); 8] = [
            ("length", &["6"]),
            ("length", &[""]),
            ("zoom", &["1.0"]),
            ("quality", &["standard"]),
            ("shadows", &["on"]),
            ("easing", &["on"]),
            ("decals", &["[]"]),
            ("hiddenMeshNames", &[""]),
        ];
        for (key, values) in left_out {
            assert_eq!(value(key, values), Ok(None), "{key} {values:?}");
        }
        assert_eq!(value("shadows", &[]), Ok(Some(json!(false))));
        assert_eq!(value("length", &["7.50"]), Ok(Some(json!(7.5))));
        assert_eq!(value("length", &["7.0"]), Ok(Some(json!(7))));
        assert_eq!(value("animation", &["Walk "]), Ok(Some(json!("Walk "))));
        assert_eq!(value("hiddenMeshNames", &["a", "b"]), Ok(Some(json!(["a", "b"]))));
        assert_eq!(value("decals", &["[1]"]), Ok(Some(json!([1]))));
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        assert!(value("length", &["long"]).unwrap_err().contains("length must be a number: long"));
        assert!(value("length", &["NaN"]).is_err() && value("length", &["1e999"]).is_err());
        assert!(value("decals", &["["]).unwrap_err().contains("decals must be JSON"));
    }
}
