//! States of models, renders and their HLS packaging: one transition table each.

mod hls;
mod model;
mod render;

pub use hls::{HlsEvent, HlsStatus};
pub use model::{ModelEvent, ModelStatus};
pub use render::{RenderEvent, RenderStatus};

/// Declares a set of states or events with their names.
macro_rules! named {
    ($(#[doc = $words:literal])* $name:ident { $($(#[doc = $doc:literal])* $variant:ident = $text:literal,)* }) => {
        $(#[doc = $words])*
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize, utoipa::ToSchema
        )]
        pub enum $name {
            $($(#[doc = $doc])* #[serde(rename = $text)] $variant,)*
        }

        impl $name {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The name in the API and in the tables.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }

            /// The one with a name.
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|one| one.as_str() == name)
            }
        }
    };
}
pub(crate) use named;
