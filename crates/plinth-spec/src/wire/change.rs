//! The change of an optional text field.

use serde::{Deserialize, Deserializer};

/// The change of an optional text field. In JSON, a missing field keeps the old text, and null or an empty string
/// removes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Change {
    /// Keeps the text.
    #[default]
    Keep,
    /// Removes the text.
    Clear,
    /// Replaces the text.
    Set(String),
}

impl Change {
    /// Returns the text after the change.
    pub fn applied_to(self, old: Option<String>) -> Option<String> {
        match self {
            Self::Keep => old,
            Self::Clear => None,
            Self::Set(text) => Some(text),
        }
    }
}

impl<'de> Deserialize<'de> for Change {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Option::<String>::deserialize(deserializer)?.map(|t| t.trim().to_owned());
        Ok(text.filter(|t| !t.is_empty()).map_or(Self::Clear, Self::Set))
    }
}

/// Deserializes a field that may be missing but must not be null. With `#[serde(default)]`, a missing field becomes
/// `None`.
pub(super) fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}
