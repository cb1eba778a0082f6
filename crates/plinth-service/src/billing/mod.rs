//! Credits: charging, refunding, quoting, listing.

mod charge;
mod lists;
mod quote;

pub(crate) use charge::{charge, refund};
