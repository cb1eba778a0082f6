//! What an edit does to a field that may be empty.

use serde::{Deserialize, Deserializer};

/// What an edit does to a text: absent keeps it, null or an empty text clears it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Change {
    /// It stays.
    #[default]
    Keep,
    /// It goes.
    Clear,
    /// It becomes this.
    Set(String),
}

impl Change {
    /// The text after the change.
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

/// With `#[serde(default)]`: absent is `None`; null is an error unless `T` takes it.
pub(super) fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}
