//! Looks: named render settings. The program contains some, and each workspace saves its own. A look is applied by ordering
//! renders with its settings, so orders know nothing of looks.

mod built_in;
mod order;
mod saved;

use plinth_spec::ErrorCode;
use serde_json::{Map, Value};

pub use order::{Candidate, new_order_key};

use crate::error::ServiceError;

/// A look of the program or of a workspace.
#[derive(Clone, Debug, PartialEq)]
pub struct Look {
    /// Identifier. That of a saved look is a `LookId`; those of the program are no well-formed IDs.
    pub id: String,
    /// Display name.
    pub name: String,
    /// One sentence about a look of the program; empty for a saved look.
    pub description: String,
    pub settings: Map<String, Value>,
    /// Whether the program contains the look.
    pub is_built_in: bool,
}

/// Returns the looks that the program contains.
pub fn built_in() -> &'static [Look] {
    built_in::all()
}

fn not_found() -> ServiceError {
    ServiceError::new(ErrorCode::NotFound, "this look does not exist")
}
