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
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
        pub enum $name {
            $($(#[doc = $doc])* #[serde(rename = $text)] $variant,)*
        }

        // Not derived: the derive does not see names that come through a macro.
        impl utoipa::PartialSchema for $name {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
                utoipa::openapi::ObjectBuilder::new()
                    .schema_type(utoipa::openapi::Type::String)
                    .description(Some(concat!($($words),*).trim()))
                    .enum_values(Some(Self::ALL.iter().map(|one| one.as_str())))
                    .into()
            }
        }

        impl utoipa::ToSchema for $name {
            fn name() -> std::borrow::Cow<'static, str> {
                std::borrow::Cow::Borrowed(stringify!($name))
            }
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
