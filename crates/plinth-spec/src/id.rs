//! Identifiers: short, opaque, one type for each kind of thing.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};

/// Characters of an identifier. No `-` and no `_`, so that an identifier is safe on a command line and one word to select.
pub const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// Length of an identifier.
pub const LENGTH: usize = 12;

/// Whether a text has the form of an identifier.
pub fn is_well_formed(text: &str) -> bool {
    text.len() == LENGTH && text.bytes().all(|b| b.is_ascii_alphanumeric())
}

macro_rules! ids {
    ($($(#[doc = $words:literal])* $name:ident;)*) => {$(
        $(#[doc = $words])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, utoipa::ToSchema)]
        #[serde(transparent)]
        #[schema(value_type = String, pattern = "^[0-9A-Za-z]{12}$", examples("k3Jd92LmQx7a"))]
        pub struct $name(String);

        impl $name {
            /// The identifier of a text; `None` when the text cannot be one.
            pub fn parse(text: &str) -> Option<Self> {
                is_well_formed(text).then(|| Self(text.to_owned()))
            }

            /// Its text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                Self::parse(&text).ok_or_else(|| serde::de::Error::custom("not an identifier"))
            }
        }
    )*};
}

ids! {
    /// An account: a person or a machine that pays.
    AccountId;
    /// A workspace: whom models, renders and assets belong to.
    WorkspaceId;
    /// An API key. Not its secret.
    TokenId;
    /// A model.
    ModelId;
    /// A render.
    RenderId;
    /// An overlay image.
    OverlayId;
    /// A texture image.
    TextureId;
    /// An environment.
    EnvId;
    /// An entry of the ledger.
    EntryId;
    /// A staged upload.
    StagedId;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_twelve_letters_and_digits_are_an_identifier() {
        assert!(RenderId::parse("k3Jd92LmQx7a").is_some());
        for bad in ["", "k3Jd92LmQx7", "k3Jd92LmQx7ab", "k3Jd92LmQx7-", "k3Jd92LmQx7é", "../../../../"] {
            assert!(RenderId::parse(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn json_refuses_what_is_not_an_identifier() {
        assert!(serde_json::from_str::<ModelId>("\"k3Jd92LmQx7a\"").is_ok());
        assert!(serde_json::from_str::<ModelId>("\"nope\"").is_err());
    }
}
