//! Schemas of parameters whose bounds and defaults are those of [`limits`].

use utoipa::openapi::schema::SchemaType;
use utoipa::openapi::{KnownFormat, Object, ObjectBuilder, SchemaFormat, Type};

use crate::limits;

/// Rows of a page, in a query.
pub fn limit_schema() -> Object {
    integer(Type::Integer.into(), KnownFormat::Int32)
        .minimum(Some(1))
        .maximum(Some(limits::PAGE_MAX))
        .default(Some(limits::PAGE_DEFAULT.into()))
        .build()
}

/// Lifetime of a signed URL, in a query.
pub fn expires_schema() -> Object {
    expires(Type::Integer.into()).build()
}

/// Lifetime of a signed URL, as a member of a body.
pub fn expires_member_schema() -> Object {
    let words = format!("Lifetime of the link in seconds; {}.", expires_bounds());
    expires(SchemaType::from_iter([Type::Integer, Type::Null])).description(Some(words)).build()
}

/// What becomes of a lifetime that is out of bounds, in words.
pub fn expires_bounds() -> String {
    format!("clamped to {} to {}", limits::EXPIRES_MIN_SECS, limits::EXPIRES_MAX_SECS)
}

fn expires(kind: SchemaType) -> ObjectBuilder {
    integer(kind, KnownFormat::Int64).default(Some(limits::EXPIRES_DEFAULT_SECS.into()))
}

fn integer(kind: SchemaType, format: KnownFormat) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(kind).format(Some(SchemaFormat::KnownFormat(format)))
}
