//! OpenAPI schemas of query parameters. Their bounds and defaults come from [`limits`].

use utoipa::openapi::schema::SchemaType;
use utoipa::openapi::{KnownFormat, Object, ObjectBuilder, SchemaFormat, Type};

use crate::limits;

/// Returns the schema of the query parameter `limit`.
pub fn limit_schema() -> Object {
    integer(Type::Integer.into(), KnownFormat::Int32)
        .minimum(Some(1))
        .maximum(Some(limits::PAGE_MAX))
        .default(Some(limits::PAGE_DEFAULT.into()))
        .build()
}

/// Returns the schema of the body field that sets the size of a preview.
pub fn preview_side_schema() -> Object {
    integer(SchemaType::from_iter([Type::Integer, Type::Null]), KnownFormat::Int32)
        .minimum(Some(limits::PREVIEW_SIDE_MIN))
        .maximum(Some(limits::PREVIEW_SIDE_MAX))
        .default(Some(limits::PREVIEW_SIDE_DEFAULT.into()))
        .description(Some("Longer side of the picture, in pixels."))
        .build()
}

/// Returns the schema of the query parameter that sets the lifetime of a signed URL.
pub fn expires_schema() -> Object {
    expires(Type::Integer.into()).build()
}

/// Returns the schema of the body field that sets the lifetime of a signed URL.
pub fn expires_member_schema() -> Object {
    let description = format!("Lifetime of the link in seconds; {}.", expires_bounds());
    expires(SchemaType::from_iter([Type::Integer, Type::Null])).description(Some(description)).build()
}

/// Returns a text that states the range to which a lifetime is clamped.
pub fn expires_bounds() -> String {
    format!("clamped to {} to {}", limits::EXPIRES_MIN_SECS, limits::EXPIRES_MAX_SECS)
}

fn expires(kind: SchemaType) -> ObjectBuilder {
    integer(kind, KnownFormat::Int64).default(Some(limits::EXPIRES_DEFAULT_SECS.into()))
}

fn integer(kind: SchemaType, format: KnownFormat) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(kind).format(Some(SchemaFormat::KnownFormat(format)))
}
