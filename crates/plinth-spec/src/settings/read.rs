//! Converts validated JSON to the types of the settings.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::error::SettingsError;
use super::field::Field;
use super::shape::hex_color;
use crate::named::Named;

/// A type to which validated JSON values can be converted.
pub(super) trait Read: Sized {
    /// Converts a value. Returns `None` if the value does not have this type; validation should have rejected such a
    /// value.
    fn read(value: &Value) -> Option<Self>;

    /// Returns the value of a field that is missing in the request, for a field without a default. Returns `None` if such a field
    /// of this type must not be missing.
    fn absent() -> Option<Self> {
        None
    }
}

/// Reads the value of one field of a struct from the JSON object `members`. The next element of `fields` describes this
/// field: one macro generates the struct and the descriptions, so both have the same order.
/// Errors: if the value does not have the type of the field. Validation should have rejected such a value.
pub(super) fn next<T: Read>(
    fields: &mut std::slice::Iter<'_, Field>,
    members: &Map<String, Value>,
) -> Result<T, SettingsError> {
    let Some(field) = fields.next() else { return Err(SettingsError::invalid("", "a field has no description")) };
    let read = match (members.get(field.key), field.default) {
        (Some(value), _) => T::read(value),
        (None, Some(default)) => T::read(&default.json()),
        (None, None) => T::absent(),
    };
    read.ok_or_else(|| SettingsError::invalid(field.key, format!("{} cannot be read as its type", field.key)))
}

impl Read for f64 {
    fn read(value: &Value) -> Option<Self> {
        value.as_f64()
    }
}

impl Read for bool {
    fn read(value: &Value) -> Option<Self> {
        value.as_bool()
    }
}

impl Read for String {
    fn read(value: &Value) -> Option<Self> {
        value.as_str().map(str::to_owned)
    }
}

impl Read for [u8; 3] {
    fn read(value: &Value) -> Option<Self> {
        hex_color(value.as_str()?)
    }
}

impl Read for [f64; 3] {
    fn read(value: &Value) -> Option<Self> {
        Vec::read(value)?.try_into().ok()
    }
}

impl<T: Named> Read for T {
    fn read(value: &Value) -> Option<Self> {
        Self::from_name(value.as_str()?)
    }
}

impl<T: Read> Read for Option<T> {
    fn read(value: &Value) -> Option<Self> {
        T::read(value).map(Some)
    }

    fn absent() -> Option<Self> {
        Some(None)
    }
}

impl<T: Read> Read for Vec<T> {
    fn read(value: &Value) -> Option<Self> {
        value.as_array()?.iter().map(T::read).collect()
    }

    fn absent() -> Option<Self> {
        Some(Self::new())
    }
}

impl<T: Read> Read for BTreeMap<String, T> {
    fn read(value: &Value) -> Option<Self> {
        value.as_object()?.iter().map(|(key, value)| Some((key.clone(), T::read(value)?))).collect()
    }

    fn absent() -> Option<Self> {
        Some(Self::new())
    }
}
