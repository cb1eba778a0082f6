//! Credits: charges, refunds, quotes, lists, and the sale of credits by Stripe.

mod charge;
mod lists;
mod moved;
mod quote;
mod statement;
mod stripe;

pub(crate) use charge::{charge, refund};
pub(crate) use moved::count_moved;
pub use plinth_db::purchases::Purchase;
pub use statement::{STATEMENT_HEAD, StatementPosition};
pub(crate) use stripe::StripeClient;
pub use stripe::StripeOptions;
