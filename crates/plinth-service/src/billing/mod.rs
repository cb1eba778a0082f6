//! Credits: charges, refunds, quotes and lists.

mod charge;
mod credit_metric;
mod lists;
mod quote;

pub(crate) use charge::{charge, refund};
pub(crate) use credit_metric::count_credits;
