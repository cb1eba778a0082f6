//! Enums whose variants have names. One declaration generates the enum, the names of its variants, and the parser.

#[doc(hidden)]
pub use utoipa;

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

/// Declares an enum whose variants have names, for example the values of a database column:
/// `names! { /// Docs. Side { /// Docs. Front = "front", /// Docs. Back = "back", } }`.
#[macro_export]
macro_rules! names {
    ($(#[$meta:meta])* $name:ident { $($(#[$member_meta:meta])* $member:ident = $text:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($(#[$member_meta])* $member,)*
        }

        impl $name {
            /// All variants, in declaration order.
            pub const ALL: &[Self] = &[$(Self::$member,)*];
            /// The names of all variants, in declaration order.
            pub const NAMES: &[&str] = &[$($text,)*];

            /// Returns the variant's name.
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

/// Declares an enum like [`names!`] whose names are used in JSON, and optionally its default variant:
/// `named! { /// Docs. Side, default Front { /// Docs. Front = "front", /// Docs. Back = "back", } }`.
/// The crate that uses this macro must depend on serde.
#[macro_export]
macro_rules! named {
    ($(#[doc = $doc:literal])* $name:ident, default $default:ident { $($members:tt)* }) => {
        $crate::named! { $(#[doc = $doc])* $name { $($members)* } }

        impl $name {
            /// The variant that applies if no name is given.
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
        $crate::names! {
            $(#[doc = $doc])*
            #[derive(serde::Serialize, serde::Deserialize)]
            $name {
                $($(#[doc = $member_doc])* #[serde(rename = $text)] $member = $text,)*
            }
        }

        // Implemented by hand, because the derive macro of utoipa cannot read names that a macro passes to it.
        impl $crate::named::utoipa::PartialSchema for $name {
            fn schema() -> $crate::named::utoipa::openapi::RefOr<$crate::named::utoipa::openapi::Schema> {
                $crate::named::utoipa::openapi::ObjectBuilder::new()
                    .schema_type($crate::named::utoipa::openapi::Type::String)
                    .description(Some(concat!($($doc),*).trim()))
                    .enum_values(Some(Self::NAMES.iter().copied()))
                    .into()
            }
        }

        impl $crate::named::utoipa::ToSchema for $name {
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
    };
}
pub(crate) use named;
