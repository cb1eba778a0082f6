//! The accepted values of a field. Validation, JSON Schema and documentation are generated from these descriptions.

use serde_json::{Map, Value, json};

use super::error::{SettingsError, shown};
use super::field::Field;
use crate::limits;

type Result<T> = std::result::Result<T, SettingsError>;

/// The accepted values of a field.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    /// A number within a closed range.
    Number {
        /// Minimum value.
        min: f64,
        /// Maximum value.
        max: f64,
    },
    /// A number within a closed range, but not 0.
    NonZero {
        /// Minimum value.
        min: f64,
        /// Maximum value.
        max: f64,
    },
    /// A number greater than 0.
    Positive {
        /// Maximum value.
        max: f64,
    },
    /// A number whose absolute value is within a closed range.
    Scale {
        /// Minimum absolute value.
        min: f64,
        /// Maximum absolute value.
        max: f64,
    },
    /// A length in seconds that is greater than 0. The maximum depends on the video quality, and is checked separately.
    Length,
    /// A boolean.
    Flag,
    /// A colour `#rrggbb`.
    Color,
    /// A string of at most [`limits::NAME_CHARS`] characters.
    Text {
        /// Whether the string may be empty.
        is_empty_allowed: bool,
    },
    /// A list of strings.
    Texts {
        /// Maximum number of strings.
        max: usize,
        /// Maximum number of characters per string.
        max_chars: usize,
    },
    /// One of several names.
    Choice {
        /// The names.
        names: &'static [&'static str],
        /// Legacy names that are also accepted. Each is paired with the name that replaces it.
        legacy: &'static [(&'static str, &'static str)],
    },
    /// One of several names, or a boolean, which selects one of them.
    ChoiceOrFlag {
        /// The names.
        names: &'static [&'static str],
    },
    /// A list.
    List {
        /// Accepted values of the entries.
        of: &'static Self,
        /// Minimum number of entries.
        min: usize,
        /// Maximum number of entries.
        max: usize,
    },
    /// An object with these members and no others.
    Object(&'static [Field]),
    /// An object with arbitrary keys.
    Map {
        /// Accepted values of the members.
        of: &'static Self,
        /// Maximum number of members.
        max: usize,
        /// Maximum size of the object as JSON, in bytes; `None` if there is no limit.
        max_bytes: Option<usize>,
    },
}

impl Shape {
    /// Validates a value and all values inside it. Error messages contain `at`, the path of the value, and `unit`, the
    /// unit of a number.
    /// Errors: if the value, or a value inside it, is not accepted. The error is about the first such value.
    pub(super) fn check(&self, at: &str, unit: &str, value: &Value) -> Result<()> {
        let must = |fits: bool, wanted: &dyn Fn() -> String| {
            let error = || SettingsError::invalid(at, format!("{at} must be {}, not {}", wanted(), shown(value)));
            if fits { Ok(()) } else { Err(error()) }
        };
        let unit = spaced(unit);
        let number = value.as_f64().filter(|n| n.is_finite());
        match self {
            Self::Number { min, max } => {
                let fits = number.is_some_and(|n| (*min..=*max).contains(&n));
                must(fits, &|| format!("a number from {min} to {max}{unit}"))
            }
            Self::NonZero { min, max } => {
                let fits = number.is_some_and(|n| (*min..=*max).contains(&n) && n != 0.0);
                must(fits, &|| format!("a number from {min} to {max}{unit}, other than 0"))
            }
            Self::Positive { max } => {
                let fits = number.is_some_and(|n| n > 0.0 && n <= *max);
                must(fits, &|| format!("a number above 0, up to {max}{unit}"))
            }
            Self::Scale { min, max } => {
                let fits = number.is_some_and(|n| (*min..=*max).contains(&n.abs()));
                must(fits, &|| format!("a number of magnitude {min} to {max}{unit}"))
            }
            Self::Length => must(number.is_some(), &|| "a number of seconds".to_owned()),
            Self::Flag => must(value.is_boolean(), &|| "true or false".to_owned()),
            Self::Color => {
                must(value.as_str().and_then(hex_color).is_some(), &|| "a colour such as #1a2b3c".to_owned())
            }
            Self::Text { is_empty_allowed } => {
                let least = usize::from(!is_empty_allowed);
                let chars = value.as_str().map(|t| t.chars().count());
                let range = if *is_empty_allowed { "at most".to_owned() } else { format!("{least} to") };
                must(chars.is_some_and(|n| (least..=limits::NAME_CHARS).contains(&n)), &|| {
                    format!("a string of {range} {} characters", limits::NAME_CHARS)
                })
            }
            Self::Texts { max, max_chars } => check_texts(at, value, *max, *max_chars),
            Self::Choice { names, .. } => {
                must(value.as_str().is_some_and(|n| names.contains(&n)), &|| format!("one of {}", names.join(", ")))
            }
            Self::ChoiceOrFlag { names } => {
                let fits = value.is_boolean() || value.as_str().is_some_and(|n| names.contains(&n));
                must(fits, &|| format!("one of {}, true, false", names.join(", ")))
            }
            Self::List { of, min, max } => check_list(at, value, of, *min, *max),
            Self::Object(members) => check_object(at, object(at, value)?, members),
            Self::Map { of, max, max_bytes } => check_map(at, value, of, *max, *max_bytes),
        }
    }

    /// Returns the JSON Schema (2020-12) of the accepted values.
    pub(super) fn schema(&self) -> Value {
        match self {
            Self::Number { min, max } => json!({"type": "number", "minimum": min, "maximum": max}),
            Self::NonZero { min, max } => {
                json!({"type": "number", "minimum": min, "maximum": max, "not": {"const": 0}})
            }
            Self::Positive { max } => json!({"type": "number", "exclusiveMinimum": 0, "maximum": max}),
            Self::Scale { min, max } => json!({"type": "number", "anyOf": [
                {"minimum": min, "maximum": max}, {"minimum": -max, "maximum": -min}
            ]}),
            Self::Length => json!({"type": "number", "exclusiveMinimum": 0, "maximum": limits::VIDEO_LENGTH_SECS}),
            Self::Flag => json!({"type": "boolean"}),
            Self::Color => json!({"type": "string", "pattern": "^#[0-9a-fA-F]{6}$"}),
            Self::Text { is_empty_allowed: true } => json!({"type": "string", "maxLength": limits::NAME_CHARS}),
            Self::Text { is_empty_allowed: false } => {
                json!({"type": "string", "minLength": 1, "maxLength": limits::NAME_CHARS})
            }
            Self::Texts { max, max_chars } => {
                json!({"type": "array", "maxItems": max, "items": {"type": "string", "maxLength": max_chars}})
            }
            Self::Choice { names, legacy } => {
                let all: Vec<&str> = names.iter().copied().chain(legacy.iter().map(|(old, _)| *old)).collect();
                json!({"type": "string", "enum": all})
            }
            Self::ChoiceOrFlag { names } => json!({"anyOf": [{"type": "string", "enum": names}, {"type": "boolean"}]}),
            Self::List { of, min, max } => {
                json!({"type": "array", "items": of.schema(), "minItems": min, "maxItems": max})
            }
            Self::Object(members) => {
                let properties: Map<String, Value> = members.iter().map(|m| (m.key.to_owned(), m.schema())).collect();
                let needed: Vec<&str> = members.iter().filter(|m| m.is_required).map(|m| m.key).collect();
                let mut out = json!({"type": "object", "additionalProperties": false, "properties": properties});
                if !needed.is_empty() {
                    out["required"] = json!(needed);
                }
                out
            }
            Self::Map { of, max, .. } => {
                json!({"type": "object", "additionalProperties": of.schema(), "maxProperties": max})
            }
        }
    }

    /// Returns a short description of the accepted values, in Markdown.
    pub(super) fn takes(&self, unit: &str) -> String {
        let unit = spaced(unit);
        match self {
            Self::Number { min, max } => format!("{min} to {max}{unit}"),
            Self::NonZero { min, max } => format!("{min} to {max}{unit}, not 0"),
            Self::Positive { max } => format!("above 0, up to {max}{unit}"),
            Self::Scale { min, max } => format!("±{min} to ±{max}{unit}"),
            Self::Length => format!("above 0{unit}"),
            Self::Flag => "true, false".to_owned(),
            Self::Color => "`#rrggbb`".to_owned(),
            Self::Text { .. } => "text".to_owned(),
            Self::Texts { max, .. } => format!("up to {max} strings"),
            Self::Choice { names, .. } => quoted(names),
            Self::ChoiceOrFlag { names } => format!("{}, true, false", quoted(names)),
            Self::List { min: 0, max, .. } => format!("up to {max} objects"),
            Self::List { min, max, .. } => format!("{min} to {max} objects"),
            Self::Object(_) | Self::Map { .. } => "object".to_owned(),
        }
    }

    /// Returns whether all values of this shape are single numbers, strings, names, colours or booleans.
    pub const fn is_scalar(&self) -> bool {
        !matches!(self, Self::Texts { .. } | Self::List { .. } | Self::Object(_) | Self::Map { .. })
    }

    /// Returns whether all values of this shape are JSON strings.
    pub const fn is_text(&self) -> bool {
        matches!(self, Self::Choice { .. } | Self::Color | Self::Text { .. })
    }

    /// Returns the name that replaces the legacy name `name`. Returns `None` if `name` is not a legacy name.
    pub(super) fn current_name(&self, name: &str) -> Option<&'static str> {
        let Self::Choice { legacy, .. } = self else { return None };
        legacy.iter().find(|(old, _)| *old == name).map(|(_, current)| *current)
    }
}

/// Returns a list of names in Markdown.
fn quoted(names: &[&str]) -> String {
    names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ")
}

fn spaced(unit: &str) -> String {
    if unit.is_empty() { String::new() } else { format!(" {unit}") }
}

fn object<'a>(at: &str, value: &'a Value) -> Result<&'a Map<String, Value>> {
    value.as_object().ok_or_else(|| SettingsError::invalid(at, format!("{at} must be an object, not {}", shown(value))))
}

fn check_texts(at: &str, value: &Value, max: usize, max_chars: usize) -> Result<()> {
    let fits = |text: &Value| text.as_str().is_some_and(|t| t.chars().count() <= max_chars);
    if value.as_array().is_some_and(|texts| texts.len() <= max && texts.iter().all(fits)) {
        return Ok(());
    }
    let message = format!("{at} must be a list of at most {max} strings of at most {max_chars} characters");
    Err(SettingsError::invalid(at, message))
}

fn check_list(at: &str, value: &Value, of: &Shape, min: usize, max: usize) -> Result<()> {
    let error = || SettingsError::invalid(at, format!("{at} must be a list, not {}", shown(value)));
    let items = value.as_array().ok_or_else(error)?;
    if !(min..=max).contains(&items.len()) {
        let message = format!("{at} must have {min} to {max} entries, not {}", items.len());
        return Err(SettingsError::invalid(at, message));
    }
    items.iter().enumerate().try_for_each(|(i, item)| of.check(&format!("{at}[{i}]"), "", item))
}

fn check_object(at: &str, sent: &Map<String, Value>, members: &[Field]) -> Result<()> {
    if let Some(key) = sent.keys().find(|key| !members.iter().any(|member| member.key == *key)) {
        let hint = nearest_hint(key, members.iter());
        return Err(SettingsError::invalid(at, format!("{at} has no field '{key}'{hint}")));
    }
    members.iter().try_for_each(|member| match sent.get(member.key) {
        Some(value) => member.shape.check(&format!("{at}.{}", member.key), member.unit, value),
        None if member.is_required => Err(SettingsError::invalid(at, format!("{at} needs '{}'", member.key))),
        None => Ok(()),
    })
}

fn check_map(at: &str, value: &Value, of: &Shape, max: usize, max_bytes: Option<usize>) -> Result<()> {
    let sent = object(at, value)?;
    if sent.len() > max {
        return Err(SettingsError::invalid(at, format!("{at} may have at most {max} keys, not {}", sent.len())));
    }
    sent.iter().try_for_each(|(key, value)| of.check(&format!("{at}.{key}"), "", value))?;
    let Some(max_bytes) = max_bytes else { return Ok(()) };
    let bytes = value.to_string().len();
    if bytes <= max_bytes {
        return Ok(());
    }
    Err(SettingsError::invalid(at, format!("{at} must have at most {max_bytes} bytes, not {bytes}")))
}

/// Returns the end of an error message for an unknown field, which suggests the known field with the most similar name.
/// Returns an empty string if no name is similar.
pub(super) fn nearest_hint<'a>(key: &str, known: impl Iterator<Item = &'a Field>) -> String {
    let likeness = |field: &Field| strsim::jaro_winkler(&key.to_lowercase(), &field.key.to_lowercase());
    let nearest = known.max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    nearest.map_or_else(String::new, |field| format!("; the nearest is '{}'", field.key))
}

/// Parses a colour such as `#1a2b3c`.
pub(super) fn hex_color(text: &str) -> Option<[u8; 3]> {
    let digits = text.strip_prefix('#').filter(|d| d.len() == 6 && d.bytes().all(|b| b.is_ascii_hexdigit()))?;
    let value = u32::from_str_radix(digits, 16).ok()?;
    let [_, r, g, b] = value.to_be_bytes();
    Some([r, g, b])
}
