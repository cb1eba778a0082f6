//! Closed sets of names: one declaration gives the enum, its names in the API and the way back from a name.

/// A closed set whose members have names in the API.
pub trait Named: Copy + 'static {
    /// The names of all members, in the order of the declaration.
    const NAMES: &'static [&'static str];

    /// The member with this name.
    fn from_name(name: &str) -> Option<Self>;
}

/// A closed set with a member that applies when none is given.
pub trait NamedDefault: Named {
    /// The name of that member.
    const DEFAULT_NAME: &'static str;
}

/// Declares an enum whose members have names, and which of them is the default, if any:
/// `named! { /// Docs. Side, default Front { /// Docs. Front = "front", /// Docs. Back = "back", } }`.
macro_rules! named {
    ($(#[doc = $doc:literal])* $name:ident, default $default:ident { $($members:tt)* }) => {
        $crate::named::named! { $(#[doc = $doc])* $name { $($members)* } }

        impl $name {
            /// The member that applies when none is given.
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

        // Not derived: the derive does not see names that come through a macro.
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
            /// All members, in the order of the declaration.
            pub const ALL: &[Self] = &[$(Self::$member,)*];
            /// Their names in the API, in the same order.
            pub const NAMES: &[&str] = &[$($text,)*];

            /// The name in the API and in the database.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$member => $text,)* }
            }

            /// The member with this name.
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|one| one.as_str() == name)
            }
        }
    };
}
pub(crate) use named;
