//! Credits: charges, refunds, quotes and lists.

mod charge;
mod lists;
mod moved;
mod quote;

pub(crate) use charge::{charge, refund};
pub(crate) use moved::count_moved;
