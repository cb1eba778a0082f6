//! Schema names of render settings in the OpenAPI document. The schemas themselves are generated from the declarations
//! of the settings.

/// Render settings in a request. The schema is [`crate::settings::schema`].
#[derive(Debug, utoipa::ToSchema)]
pub struct RenderSettings {}

/// Render settings in a response. The schema is [`crate::settings::echoed_schema`].
#[derive(Debug, utoipa::ToSchema)]
pub struct EchoedRenderSettings {}
