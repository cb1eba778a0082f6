//! The states of a purchase of credits.

use crate::named::named;

named! {
    /// State of the payment for a purchase. Refunds do not change this state.
    PurchaseStatus {
        /// The buyer has not finished the payment page.
        Pending = "pending",
        /// The payment was started, but the bank has not confirmed it yet.
        Processing = "processing",
        /// The payment is complete, and the credits were added to the account.
        Paid = "paid",
        /// The buyer left the payment page, and the page is no longer valid.
        Expired = "expired",
        /// The bank rejected the payment.
        Failed = "failed",
    }
}
