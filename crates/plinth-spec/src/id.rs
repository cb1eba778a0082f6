//! Short opaque IDs, with one type per kind of resource.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};

/// Characters of an ID. Neither `-` nor `_` is among them. Therefore an ID never looks like a command-line flag, and a
/// double click selects the whole ID.
pub const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// Length of an ID, in characters.
pub const LENGTH: usize = 12;

/// Returns whether a string has the length and the characters of an ID.
pub fn is_well_formed(text: &str) -> bool {
    text.len() == LENGTH && text.bytes().all(|b| b.is_ascii_alphanumeric())
}

macro_rules! ids {
    ($($(#[doc = $doc:literal])* $name:ident;)*) => {$(
        $(#[doc = $doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, utoipa::ToSchema)]
        #[serde(transparent)]
        #[schema(value_type = String, pattern = "^[0-9A-Za-z]{12}$", examples("k3Jd92LmQx7a"))]
        pub struct $name(String);

        impl $name {
            /// Parses an ID. Returns `None` if the string does not have the length and the characters of an ID.
            pub fn parse(text: &str) -> Option<Self> {
                is_well_formed(text).then(|| Self(text.to_owned()))
            }

            /// Returns the ID as a string.
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
                Self::parse(&text).ok_or_else(|| serde::de::Error::custom("not a valid ID"))
            }
        }
    )*};
}

ids! {
    /// ID of an account, which pays for renders.
    AccountId;
    /// ID of a workspace, which owns models, renders and assets.
    WorkspaceId;
    /// ID of an API key. The ID is not secret.
    TokenId;
    /// ID of a model.
    ModelId;
    /// ID of a render.
    RenderId;
    /// ID of an overlay image.
    OverlayId;
    /// ID of a texture image.
    TextureId;
    /// ID of an environment map.
    EnvId;
    /// ID of a look that a workspace has saved.
    LookId;
    /// ID of an entry of the administrators' log.
    LogEntryId;
    /// ID of a ledger entry.
    EntryId;
    /// ID of a staged upload.
    StagedId;
    /// ID of a purchase of credits.
    PurchaseId;
    /// ID of an invitation to a team workspace.
    InvitationId;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_twelve_ascii_letters_and_digits() {
        assert!(RenderId::parse("k3Jd92LmQx7a").is_some());
        for bad in ["", "k3Jd92LmQx7", "k3Jd92LmQx7ab", "k3Jd92LmQx7-", "k3Jd92LmQx7é", "../../../../"] {
            assert!(RenderId::parse(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn deserializing_a_malformed_id_fails() {
        assert!(serde_json::from_str::<ModelId>("\"k3Jd92LmQx7a\"").is_ok());
        assert!(serde_json::from_str::<ModelId>("\"nope\"").is_err());
    }
}
