//! JSON body of the health check.

use serde::Serialize;

use crate::named::named;

named! {
    /// Health of the whole service.
    ServiceHealth {
        /// Every part responds.
        Ok = "ok",
        /// A part does not respond.
        Degraded = "degraded",
    }
}

named! {
    /// Health of a part of the service.
    PartHealth {
        /// The part responds.
        Ok = "ok",
        /// The part does not respond in time.
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
