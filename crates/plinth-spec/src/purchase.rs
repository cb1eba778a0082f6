//! The states of a purchase of credits.

use crate::named::named;

named! {
    /// State of the payment of a purchase. Refunds do not change it.
    PurchaseStatus {
        /// The buyer has not finished the payment page.
        Pending = "pending",
        /// The payment was started, and the bank has not confirmed it yet.
        Processing = "processing",
        /// The payment is complete, and the credits are booked.
        Paid = "paid",
        /// The buyer left the payment page, which is no longer valid.
        Expired = "expired",
        /// The bank rejected the payment.
        Failed = "failed",
    }
}
