//! What derives from the table: JSON Schema and the settings table of the documentation.

use serde_json::{Map, Value, json};

use super::parse::{ALIASES, NINE_POINTS, STAMPED};
use super::shape::Shape;
use super::table::{Kind, Row, TABLE};
use crate::limits;

/// JSON Schema (2020-12) of render settings as they are sent, aliases included.
pub fn schema() -> Value {
    let aliases = ALIASES.iter().filter_map(|(alias, name)| {
        let mut schema = field_schema(TABLE.iter().find(|row| row.key == *name)?);
        schema["deprecated"] = Value::Bool(true);
        schema["description"] = Value::from(format!("Another name of {name}."));
        Some(((*alias).to_owned(), schema))
    });
    object_schema(&properties().chain(aliases).collect())
}

/// JSON Schema of render settings as they are echoed: aliases resolved, with the server's stamps.
pub fn echoed_schema() -> Value {
    let stamps = STAMPED.iter().map(|key| {
        ((*key).to_owned(), json!({"type": "boolean", "readOnly": true, "description": "Set by the server."}))
    });
    object_schema(&properties().chain(stamps).collect())
}

fn properties() -> impl Iterator<Item = (String, Value)> {
    TABLE.iter().map(|row| (row.key.to_owned(), field_schema(row)))
}

fn object_schema(properties: &Map<String, Value>) -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "renderSettings",
        "type": "object",
        "additionalProperties": false,
        "properties": properties,
    })
}

fn field_schema(row: &Row) -> Value {
    let mut out = match row.kind {
        Kind::Number { min, max } => Shape::Number(min, max).schema(),
        Kind::NonZero { min, max } => json!({"type": "number", "minimum": min, "maximum": max, "not": {"const": 0}}),
        Kind::Scale { min, max } => Shape::Scale(min, max).schema(),
        Kind::Length => json!({"type": "number", "exclusiveMinimum": 0, "maximum": limits::VIDEO_LENGTH_SECS}),
        Kind::Flag => Shape::Flag.schema(),
        Kind::Choice(words) if row.key == "bgAlign" => {
            let legacy = NINE_POINTS.iter().map(|(point, _)| *point).filter(|point| !words.contains(point));
            json!({"type": "string", "enum": words.iter().copied().chain(legacy).collect::<Vec<_>>()})
        }
        Kind::Choice(words) => Shape::Choice(words).schema(),
        Kind::Color => Shape::Color.schema(),
        Kind::Text => json!({"type": "string", "minLength": 1, "maxLength": limits::NAME_CHARS}),
        Kind::TextList => json!({
            "type": "array",
            "maxItems": limits::HIDDEN_MESH_NAMES,
            "items": {"type": "string", "maxLength": limits::HIDDEN_MESH_NAME_CHARS},
        }),
        Kind::Nested(nested) => nested.shape().schema(),
    };
    if let Value::Object(members) = &mut out {
        members.insert("description".to_owned(), Value::from(row.words));
        if let Some(default) = row.default.and_then(|text| serde_json::from_str(text).ok()) {
            members.insert("default".to_owned(), default);
        }
    }
    out
}

/// What a field takes, in words.
fn range(row: &Row) -> String {
    let unit = if row.unit.is_empty() { String::new() } else { format!(" {}", row.unit) };
    match row.kind {
        Kind::Number { min, max } => format!("{min} to {max}{unit}"),
        Kind::NonZero { min, max } => format!("{min} to {max}{unit}, not 0"),
        Kind::Scale { min, max } => format!("±{min} to ±{max}{unit}"),
        Kind::Length => "above 0 s".to_owned(),
        Kind::Flag => "true, false".to_owned(),
        Kind::Choice(words) => words.iter().map(|w| format!("`{w}`")).collect::<Vec<_>>().join(", "),
        Kind::Color => "`#rrggbb`".to_owned(),
        Kind::Text => "text".to_owned(),
        Kind::TextList => format!("up to {} texts", limits::HIDDEN_MESH_NAMES),
        Kind::Nested(nested) => match nested.shape() {
            Shape::List(_, 0, max) => format!("up to {max} objects"),
            Shape::List(_, min, max) => format!("{min} to {max} objects"),
            _ => "object".to_owned(),
        },
    }
}

/// The settings table as Markdown.
pub fn markdown_table() -> String {
    use std::fmt::Write as _;
    let mut out = String::from("| setting | takes | default | what it does |\n|---|---|---|---|\n");
    for row in TABLE {
        let default = row.default.map_or_else(String::new, |d| format!("`{}`", d.trim_matches('"')));
        let _written = writeln!(out, "| `{}` | {} | {default} | {} |", row.key, range(row), row.words);
    }
    out
}
