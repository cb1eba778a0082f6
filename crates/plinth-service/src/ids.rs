//! New identifiers and secrets. The only source of randomness.

use plinth_spec::id::{
    ALPHABET, AccountId, EntryId, EnvId, LENGTH, ModelId, OverlayId, RenderId, StagedId, TextureId, TokenId,
    WorkspaceId,
};

/// Random letters and digits from the system's secure source.
pub(crate) fn random_text(length: usize) -> String {
    let alphabet: [char; 62] = ALPHABET.map(char::from);
    nanoid::nanoid!(length, &alphabet)
}

/// A kind of identifier that can be made.
pub(crate) trait New: Sized {
    /// A new one. 71 bits: a collision is a unique violation, which nobody will see.
    fn new_random() -> Self;
}

macro_rules! new_ids {
    ($($name:ident)*) => {$(
        impl New for $name {
            fn new_random() -> Self {
                Self::parse(&random_text(LENGTH)).unwrap_or_else(|| unreachable!("the alphabet and the length are its own"))
            }
        }
    )*};
}
new_ids!(AccountId EntryId EnvId ModelId OverlayId RenderId StagedId TextureId TokenId WorkspaceId);
