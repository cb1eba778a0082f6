//! Credits: charges, refunds, quotes, lists, and the sale of credits by Stripe.

mod charge;
mod credit_metric;
mod lists;
mod quote;
mod statement;
mod stripe;

pub(crate) use charge::{charge, refund};
pub(crate) use credit_metric::count_credits;
pub use plinth_db::purchases::Purchase;
pub use quote::Price;
pub use statement::{STATEMENT_HEAD, StatementPosition};
pub(crate) use stripe::StripeClient;
pub use stripe::StripeOptions;
