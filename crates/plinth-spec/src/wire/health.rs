//! JSON body of the health check.

use serde::Serialize;

/// Health of the service and its dependencies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct Health {
    /// `ok` or `degraded`.
    pub status: &'static str,
    /// `ok` or `unreachable`.
    pub database: &'static str,
    /// `ok` or `unreachable`.
    pub store: &'static str,
    /// Version of the program.
    pub version: &'static str,
}
