//! What lies in the store and who names it, for operators.

mod check;
mod hold;
mod named;

pub use check::{Checked, Finding};
pub use hold::Hold;
pub use named::Named;
