//! Looks: named render settings. The program contains some looks, and each workspace can save its own. To apply a look,
//! renders are ordered with its settings; an order does not name the look.

mod built_in;
mod order;
mod resource;
mod saved;

use plinth_spec::ErrorCode;
use serde_json::{Map, Value};

pub use order::{Candidate, new_order_key};

use crate::error::ServiceError;
use crate::hash::sha256_hex;

/// A look of the program, or a saved look of a workspace.
#[derive(Clone, Debug, PartialEq)]
pub struct Look {
    /// Identifier: a `LookId` for a saved look, and a text that is no valid `LookId` for a look of the program.
    pub id: String,
    /// Display name.
    pub name: String,
    /// Description in one sentence; empty for a saved look.
    pub description: String,
    pub settings: Map<String, Value>,
    /// Whether the program contains the look.
    pub is_built_in: bool,
    /// Time of the last change; `None` if the program contains the look.
    pub updated_at: Option<i64>,
}

impl Look {
    /// Returns a hash of the settings. It is the same on all servers.
    pub fn settings_sha256(&self) -> String {
        sha256_hex(serde_json::to_string(&self.settings).unwrap_or_default())
    }
}

/// Returns the looks that the program contains.
pub fn built_in() -> &'static [Look] {
    built_in::all()
}

fn not_found() -> ServiceError {
    ServiceError::new(ErrorCode::NotFound, "this look does not exist")
}
