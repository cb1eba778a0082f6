//! Names of render settings in the description of the interface. Their fields come from the settings' own declarations.

/// Stands for render settings as they are sent: [`crate::settings::schema`].
#[derive(Debug, utoipa::ToSchema)]
pub struct RenderSettings {}

/// Stands for render settings as they are echoed: [`crate::settings::echoed_schema`].
#[derive(Debug, utoipa::ToSchema)]
pub struct EchoedRenderSettings {}
