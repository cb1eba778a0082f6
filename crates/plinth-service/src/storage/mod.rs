//! Consistency check, backup support and size of the store, for operators.

mod check;
mod hold;
mod measure;
mod named;

pub use check::{Checked, Finding};
pub use hold::Hold;
pub use named::Named;
