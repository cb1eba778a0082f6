//! Credits: charging, refunding, quoting, listing.

mod charge;
mod lists;
mod moved;
mod quote;

pub(crate) use charge::{charge, refund};
pub(crate) use moved::count_moved;
