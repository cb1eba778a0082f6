//! JSON body of the health check.

use serde::Serialize;

use crate::named::named;

named! {
    /// Health of the service as a whole.
    ServiceHealth {
        /// Every dependency responds.
        Ok = "ok",
        /// At least one dependency does not respond.
        Degraded = "degraded",
    }
}

named! {
    /// Health of one dependency of the service.
    PartHealth {
        /// The dependency responds.
        Ok = "ok",
        /// The dependency does not respond in time.
        Unreachable = "unreachable",
    }
}

/// Health of the service and its dependencies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct Health {
    /// `ok` or `degraded`.
    #[schema(value_type = String)]
    pub status: ServiceHealth,
    /// `ok` or `unreachable`.
    #[schema(value_type = String)]
    pub database: PartHealth,
    /// `ok` or `unreachable`.
    #[schema(value_type = String)]
    pub store: PartHealth,
    /// Version of the program.
    pub version: &'static str,
}
