//! Fields with structure: what their parts may be. The reader and the JSON Schema are made from the same shapes.

use serde_json::{Map, Value, json};

use super::error::{SettingsError, shown};
use super::parse::{hex_color, nearest};
use crate::limits;

type Result<T> = std::result::Result<T, SettingsError>;

/// What a value may be.
#[derive(Clone, Copy, Debug)]
pub(super) enum Shape {
    /// A number within a closed range.
    Number(f64, f64),
    /// A number above 0 and up to a largest one.
    Positive(f64),
    /// A number whose magnitude lies within a closed range.
    Scale(f64, f64),
    /// `true` or `false`.
    Flag,
    /// `#rrggbb`.
    Color,
    /// A text of bounded length.
    Text,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A list of so many values at least and at most.
    List(&'static Self, usize, usize),
    /// An object with these members and no others.
    Object(&'static [Member]),
    /// An object with as many members as the number says, under any names.
    Map(&'static Self, usize),
}

/// A member of an object.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    pub(super) name: &'static str,
    shape: Shape,
    is_required: bool,
}

/// A member that has to be there.
pub(super) const fn required(name: &'static str, shape: Shape) -> Member {
    Member { name, shape, is_required: true }
}

/// A member that may be left out.
pub(super) const fn optional(name: &'static str, shape: Shape) -> Member {
    Member { name, shape, is_required: false }
}

impl Shape {
    /// Checks a value completely.
    /// Errors: the first part that is not what it must be; `at` says where the value stands.
    pub(super) fn check(&self, at: &str, value: &Value) -> Result<()> {
        let must = |fits: bool, wanted: &str| {
            let refusal = || SettingsError::invalid(at, format!("{at} must be {wanted}, not {}", shown(value)));
            if fits { Ok(()) } else { Err(refusal()) }
        };
        let number = value.as_f64();
        match self {
            Self::Number(min, max) => {
                must(number.is_some_and(|n| (*min..=*max).contains(&n)), &format!("a number from {min} to {max}"))
            }
            Self::Positive(max) => {
                must(number.is_some_and(|n| n > 0.0 && n <= *max), &format!("a number above 0, up to {max}"))
            }
            Self::Scale(min, max) => {
                let fits = number.is_some_and(|n| (*min..=*max).contains(&n.abs()));
                must(fits, &format!("a number of magnitude {min} to {max}"))
            }
            Self::Flag => must(value.is_boolean(), "true or false"),
            Self::Color => must(value.as_str().is_some_and(|t| hex_color(t).is_some()), "a colour such as #1a2b3c"),
            Self::Text => {
                let fits = value.as_str().is_some_and(|t| t.chars().count() <= limits::NAME_CHARS);
                must(fits, &format!("a text of at most {} characters", limits::NAME_CHARS))
            }
            Self::Choice(words) => {
                must(value.as_str().is_some_and(|w| words.contains(&w)), &format!("one of {}", words.join(", ")))
            }
            Self::List(of, min, max) => check_list(at, value, of, *min, *max),
            Self::Object(members) => check_object(at, object(at, value)?, members),
            Self::Map(of, max) => check_map(at, object(at, value)?, of, *max),
        }
    }

    /// JSON Schema of the values that pass.
    pub(super) fn schema(&self) -> Value {
        match self {
            Self::Number(min, max) => json!({"type": "number", "minimum": min, "maximum": max}),
            Self::Positive(max) => json!({"type": "number", "exclusiveMinimum": 0, "maximum": max}),
            Self::Scale(min, max) => json!({"type": "number", "anyOf": [
                {"minimum": min, "maximum": max}, {"minimum": -max, "maximum": -min}
            ]}),
            Self::Flag => json!({"type": "boolean"}),
            Self::Color => json!({"type": "string", "pattern": "^#[0-9a-fA-F]{6}$"}),
            Self::Text => json!({"type": "string", "maxLength": limits::NAME_CHARS}),
            Self::Choice(words) => json!({"type": "string", "enum": words}),
            Self::List(of, min, max) => {
                json!({"type": "array", "items": of.schema(), "minItems": min, "maxItems": max})
            }
            Self::Object(members) => {
                let properties: Map<String, Value> =
                    members.iter().map(|m| (m.name.to_owned(), m.shape.schema())).collect();
                let needed: Vec<&str> = members.iter().filter(|m| m.is_required).map(|m| m.name).collect();
                let mut out = json!({"type": "object", "additionalProperties": false, "properties": properties});
                if !needed.is_empty() {
                    out["required"] = json!(needed);
                }
                out
            }
            Self::Map(of, max) => {
                json!({"type": "object", "additionalProperties": of.schema(), "maxProperties": max})
            }
        }
    }
}

fn object<'a>(at: &str, value: &'a Value) -> Result<&'a Map<String, Value>> {
    value.as_object().ok_or_else(|| SettingsError::invalid(at, format!("{at} must be an object, not {}", shown(value))))
}

fn check_list(at: &str, value: &Value, of: &Shape, min: usize, max: usize) -> Result<()> {
    let refusal = || SettingsError::invalid(at, format!("{at} must be a list, not {}", shown(value)));
    let items = value.as_array().ok_or_else(refusal)?;
    if !(min..=max).contains(&items.len()) {
        let words = format!("{at} must have {min} to {max} entries, not {}", items.len());
        return Err(SettingsError::invalid(at, words));
    }
    items.iter().enumerate().try_for_each(|(i, item)| of.check(&format!("{at}[{i}]"), item))
}

fn check_object(at: &str, sent: &Map<String, Value>, members: &[Member]) -> Result<()> {
    for key in sent.keys() {
        if !members.iter().any(|member| member.name == key) {
            let hint = nearest(key, members.iter().map(|member| member.name));
            let hint = hint.map_or_else(String::new, |n| format!("; the nearest is '{n}'"));
            return Err(SettingsError::invalid(at, format!("{at} has no field '{key}'{hint}")));
        }
    }
    members.iter().try_for_each(|Member { name, shape, is_required }| match sent.get(*name) {
        Some(value) => shape.check(&format!("{at}.{name}"), value),
        None if *is_required => Err(SettingsError::invalid(at, format!("{at} needs '{name}'"))),
        None => Ok(()),
    })
}

fn check_map(at: &str, sent: &Map<String, Value>, of: &Shape, max: usize) -> Result<()> {
    if sent.len() > max {
        let words = format!("{at} may have at most {max} keys, not {}", sent.len());
        return Err(SettingsError::invalid(at, words));
    }
    sent.iter().try_for_each(|(key, value)| of.check(&format!("{at}.{key}"), value))
}

/// A number of a checked value.
pub(super) fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_default()
}

/// Three numbers of a checked value.
pub(super) fn vector(value: &Value) -> [f64; 3] {
    [0, 1, 2].map(|i| number(&value[i]))
}

/// A text of a checked value.
pub(super) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// A colour of a checked value.
pub(super) fn color(value: &Value) -> Option<[u8; 3]> {
    value.as_str().and_then(hex_color)
}
