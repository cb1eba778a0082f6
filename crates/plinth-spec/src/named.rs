//! Enums whose variants have names in the API. One declaration generates the enum, the names and the parser.

/// An enum whose variants have names in the API.
pub trait Named: Copy + 'static {
    /// The names of all variants, in declaration order.
    const NAMES: &'static [&'static str];

    /// Returns the variant with this name.
    fn from_name(name: &str) -> Option<Self>;
}

/// An enum with a default variant.
pub trait NamedDefault: Named {
    /// The name of the default variant.
    const DEFAULT_NAME: &'static str;
}

/// Declares an enum whose variants have names, and optionally its default variant:
/// `named! { /// Docs. Side, default Front { /// Docs. Front = "front", /// Docs. Back = "back", } }`.
macro_rules! named {
    ($(#[doc = $doc:literal])* $name:ident, default $default:ident { $($members:tt)* }) => {
        $crate::named::named! { $(#[doc = $doc])* $name { $($members)* } }

        impl $name {
            /// The variant that applies if a request contains none.
            pub const DEFAULT: Self = Self::$default;
        }

        impl Default for $name {
            fn default() -> Self {
                Self::DEFAULT
            }
        }

        impl $crate::named::NamedDefault for $name {
            const DEFAULT_NAME: &'static str = Self::DEFAULT.as_str();
        }
    };
    ($(#[doc = $doc:literal])* $name:ident { $($(#[doc = $member_doc:literal])* $member:ident = $text:literal,)* }) => {
        $(#[doc = $doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        pub enum $name {
            $($(#[doc = $member_doc])* #[serde(rename = $text)] $member,)*
        }

        // Implemented by hand, because the derive macro of utoipa cannot read names that a macro passes to it.
        impl utoipa::PartialSchema for $name {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
                utoipa::openapi::ObjectBuilder::new()
                    .schema_type(utoipa::openapi::Type::String)
                    .description(Some(concat!($($doc),*).trim()))
                    .enum_values(Some(Self::NAMES.iter().copied()))
                    .into()
            }
        }

        impl utoipa::ToSchema for $name {
            fn name() -> std::borrow::Cow<'static, str> {
                std::borrow::Cow::Borrowed(stringify!($name))
            }
        }

        impl $crate::named::Named for $name {
            const NAMES: &'static [&'static str] = Self::NAMES;

            fn from_name(name: &str) -> Option<Self> {
                Self::from_name(name)
            }
        }

        impl $name {
            /// All variants, in declaration order.
            pub const ALL: &[Self] = &[$(Self::$member,)*];
            /// The names of all variants in the API, in declaration order.
            pub const NAMES: &[&str] = &[$($text,)*];

            /// Returns the variant's name in the API and in the database.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$member => $text,)* }
            }

            /// Returns the variant with this name.
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|one| one.as_str() == name)
            }
        }
    };
}
pub(crate) use named;
