//! Envelopes: the outer objects of response bodies.

use serde::Serialize;

use crate::error_code::ErrorCode;
use crate::page::{OffsetPage, PageMeta, Total};

/// Body of a successful response.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
pub struct Data<T> {
    /// The result.
    pub data: T,
}

/// One page of a list.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
pub struct Page<T> {
    /// Rows of the page.
    pub data: Vec<T>,
    /// Position of the page in the list.
    pub meta: PageMeta,
}

impl<T> Page<T> {
    /// Returns a list that fits on a single page.
    pub fn whole(data: Vec<T>) -> Self {
        let total = data.len() as u64;
        let limit = u32::try_from(total).unwrap_or(u32::MAX);
        Self { data, meta: OffsetPage { offset: 0, limit, rows: total }.meta(Total::exact(total)) }
    }
}

/// Body of an error response.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct ErrorBody {
    /// Details of the error.
    pub error: ErrorFacts,
}

/// Details of an error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct ErrorFacts {
    /// Machine-readable error code.
    #[schema(examples("model_not_found"))]
    pub code: &'static str,
    /// Human-readable message.
    pub message: String,
    /// HTTP status.
    #[schema(minimum = 400, maximum = 599)]
    pub status: u16,
}

impl ErrorBody {
    /// Returns an error with the default status of its code.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self::with_status(code, code.status(), message)
    }

    /// Returns an error whose status differs from the default status of its code.
    pub fn with_status(code: ErrorCode, status: u16, message: impl Into<String>) -> Self {
        Self { error: ErrorFacts { code: code.as_str(), message: message.into(), status } }
    }
}
