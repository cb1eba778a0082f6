//! Schema names of render settings in the OpenAPI document. The fields of the schemas come from the declarations of the
//! settings.

/// Render settings of a request; the schema is [`crate::settings::schema`].
#[derive(Debug, utoipa::ToSchema)]
pub struct RenderSettings {}

/// Render settings of a response; the schema is [`crate::settings::echoed_schema`].
#[derive(Debug, utoipa::ToSchema)]
pub struct EchoedRenderSettings {}
