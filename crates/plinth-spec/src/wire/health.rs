//! Health of the service.

use serde::Serialize;

/// Whether the service can work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct Health {
    /// `ok` or `degraded`.
    pub status: &'static str,
    /// `ok` or `unreachable`.
    pub database: &'static str,
    /// `ok` or `unreachable`.
    pub store: &'static str,
    /// The program's version.
    pub version: &'static str,
}
