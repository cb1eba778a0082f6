//! A macro that declares objects with typed fields.

/// Declares structs, descriptions of their fields, and functions that read the structs from JSON. A field is written as
/// `name: Type = "keyInTheApi", accepted values, "One sentence.";`. The sentence is omitted for members of objects that
/// are not settings themselves.
macro_rules! objects {
    ($(
        $(#[$meta:meta])*
        $name:ident {
            $($(#[$doc:meta])* $field:ident: $type:ty = $key:literal, $takes:expr $(, $description:literal)?;)*
        }
    )*) => {$(
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name {
            $(
                #[doc = concat!("`", $key, "`", $(": ", $description)?)]
                $(#[$doc])*
                pub $field: $type,
            )*
        }

        impl $name {
            /// The descriptions of all fields.
            pub const FIELDS: &[$crate::settings::Field] =
                &[$($takes.key($key)$(.description($description))?),*];

            /// Reads the fields from the members of a JSON object. Each member must already have been checked against
            /// the description of its field.
            /// Errors: if the value of a field does not have the type of the field. The error is about the first such
            /// field.
            pub(in crate::settings) fn from_members(
                members: &serde_json::Map<String, serde_json::Value>,
            ) -> Result<Self, $crate::settings::SettingsError> {
                let mut fields = Self::FIELDS.iter();
                Ok(Self { $($field: $crate::settings::read::next(&mut fields, members)?,)* })
            }
        }

        impl $crate::settings::read::Read for $name {
            fn read(value: &serde_json::Value) -> Option<Self> {
                Self::from_members(value.as_object()?).ok()
            }
        }
    )*};
}
pub(super) use objects;
