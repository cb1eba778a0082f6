//! Generates the JSON Schema and the table of all settings from the settings' declarations.

use serde_json::{Map, Value, json};

use super::field::Field;
use super::groups::{field, fields};
use super::parse::{ALIASES, STAMPED};
use super::shape::Shape;

/// Returns the JSON Schema (2020-12) of render settings in requests. It includes aliases.
pub fn schema() -> Value {
    let aliases = ALIASES.iter().filter_map(|(alias, name)| {
        let mut schema = field(name)?.schema();
        schema["deprecated"] = Value::Bool(true);
        schema["description"] = Value::from(format!("Alias of {name}."));
        Some(((*alias).to_owned(), schema))
    });
    object_schema(&properties().chain(aliases).collect())
}

/// Returns the JSON Schema of render settings in responses. Unlike the schema for requests, it has no aliases, but
/// contains the keys that only the server sets.
pub fn echoed_schema() -> Value {
    let stamps = STAMPED.iter().map(|key| {
        ((*key).to_owned(), json!({"type": "boolean", "readOnly": true, "description": "Set by the server."}))
    });
    let mut properties: Map<String, Value> = properties().chain(stamps).collect();
    // Administrators may order longer videos, which others see in lists.
    for field in fields().filter(|field| matches!(field.shape, Shape::Length)) {
        if let Some(schema) = properties.get_mut(field.key).and_then(Value::as_object_mut) {
            schema.remove("maximum");
        }
    }
    object_schema(&properties)
}

fn properties() -> impl Iterator<Item = (String, Value)> {
    fields().map(|field| (field.key.to_owned(), field.schema()))
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

impl Field {
    /// Returns the JSON Schema of the accepted values, including the description and the default.
    pub(super) fn schema(&self) -> Value {
        let mut out = self.shape.schema();
        if !self.description.is_empty() {
            out["description"] = Value::from(self.description);
        }
        if let Some(default) = self.default {
            out["default"] = default.json();
        }
        out
    }

    /// Returns a short description of the accepted values, in Markdown.
    pub fn takes(&self) -> String {
        self.shape.takes(self.unit)
    }
}

/// Returns the table of all settings in Markdown.
pub fn markdown_table() -> String {
    use std::fmt::Write as _;
    let mut out = String::from("| setting | takes | default | what it does |\n|---|---|---|---|\n");
    for field in fields() {
        let default = field.default.map_or_else(String::new, |default| format!("`{default}`"));
        let _written = writeln!(out, "| `{}` | {} | {default} | {} |", field.key, field.takes(), field.description);
    }
    out
}
