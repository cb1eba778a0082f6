//! What every body is wrapped in.

use serde::Serialize;

use crate::error_code::ErrorCode;
use crate::page::PageMeta;

/// A success.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
pub struct Data<T> {
    /// The result.
    pub data: T,
}

/// One page of a list.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
pub struct Page<T> {
    /// Its rows.
    pub data: Vec<T>,
    /// Where it stands in the list.
    pub meta: PageMeta,
}

impl<T> Page<T> {
    /// A list that is given whole.
    pub fn whole(data: Vec<T>) -> Self {
        let total = data.len() as u64;
        Self { data, meta: PageMeta::Offset { total, offset: 0, limit: u32::try_from(total).unwrap_or(u32::MAX) } }
    }
}

/// A refusal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct ErrorBody {
    /// What is wrong.
    pub error: ErrorFacts,
}

/// What is wrong with a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct ErrorFacts {
    /// For programs: clients branch on it.
    #[schema(examples("model_not_found"))]
    pub code: &'static str,
    /// For people.
    pub message: String,
    /// The HTTP status.
    #[schema(minimum = 400, maximum = 599)]
    pub status: u16,
}

impl ErrorBody {
    /// A refusal with its code's usual status.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self::with_status(code, code.status(), message)
    }

    /// A refusal of a code that has several statuses.
    pub fn with_status(code: ErrorCode, status: u16, message: impl Into<String>) -> Self {
        Self { error: ErrorFacts { code: code.as_str(), message: message.into(), status } }
    }
}
