//! The sale of credits by Stripe Checkout. A purchase is fulfilled only by the signed events of Stripe.

mod client;
mod event;
mod fulfil;
mod options;
mod owed;
mod purchase;
mod refunded;
mod signature;

pub(crate) use client::StripeClient;
pub use options::StripeOptions;
pub(crate) use owed::remove_owed;
