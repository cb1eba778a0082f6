//! Identity, consistency check, backup support and size of the store, for operators.

mod check;
mod hold;
mod identity;
mod measure;
mod references;

pub use check::{Checked, Finding};
pub use hold::Hold;
pub use identity::{FirstIdentity, StoreMismatch};
pub use references::References;
