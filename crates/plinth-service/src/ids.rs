//! Random identifiers and secrets. No other module of the crate generates random values.

use plinth_spec::id::{
    ALPHABET, AccountId, EntryId, EnvId, InvitationId, LENGTH, LogEntryId, LookId, ModelId, OverlayId, PurchaseId,
    RenderId, StagedId, TextureId, TokenId, WorkspaceId,
};

/// Returns random letters and digits from the operating system's secure random number generator.
pub(crate) fn random_text(length: usize) -> String {
    let alphabet: [char; 62] = ALPHABET.map(char::from);
    nanoid::nanoid!(length, &alphabet)
}

/// Identifiers that can be generated.
pub(crate) trait New: Sized {
    /// Generates an identifier with 71 random bits. A collision would violate a unique constraint of the database.
    /// Collisions are so rare that no code handles them.
    fn new_random() -> Self;
}

macro_rules! new_ids {
    ($($name:ident)*) => {$(
        impl New for $name {
            fn new_random() -> Self {
                Self::parse(&random_text(LENGTH)).unwrap_or_else(|| unreachable!("a random text has the alphabet and the length of an identifier"))
            }
        }
    )*};
}
new_ids!(AccountId EntryId EnvId InvitationId LogEntryId LookId ModelId OverlayId PurchaseId RenderId StagedId TextureId TokenId WorkspaceId);
