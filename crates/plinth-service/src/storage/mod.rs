//! Consistency check and backup support of the store, for operators.

mod check;
mod hold;
mod named;

pub use check::{Checked, Finding};
pub use hold::Hold;
pub use named::Named;
