//! Parses the events of Stripe. Only the members that are used are declared here.

use serde::Deserialize;
use serde_json::Value;

use crate::error::{Result, ServiceError};

/// An event that concerns a purchase.
#[derive(Debug)]
pub(super) enum Event {
    /// A payment page was completed. If the session is not paid, the bank has not confirmed the payment yet.
    Completed(Session),
    /// The bank rejected a payment.
    PaymentFailed(Session),
    /// A payment page expired.
    Expired(Session),
    /// A payment was refunded, completely or in part.
    Refunded(Charge),
    Other,
}

/// A payment page.
#[derive(Debug, Deserialize)]
pub(super) struct Session {
    pub id: String,
    #[serde(default)]
    pub payment_status: String,
    pub amount_total: Option<u64>,
    pub currency: Option<String>,
    pub payment_intent: Option<Value>,
    metadata: Option<Metadata>,
}

impl Session {
    /// Returns the identifier of the purchase for which the page was created.
    pub(super) fn purchase(&self) -> Option<&str> {
        purchase_in(self.metadata.as_ref())
    }

    pub(super) fn is_paid(&self) -> bool {
        self.payment_status == "paid"
    }

    pub(super) fn payment(&self) -> Option<&str> {
        self.payment_intent.as_ref().and_then(id_of)
    }
}

/// A payment that was refunded.
#[derive(Debug, Deserialize)]
pub(super) struct Charge {
    pub amount: u64,
    /// Sum of all refunds.
    pub amount_refunded: u64,
    pub currency: String,
    pub payment_intent: Option<Value>,
    metadata: Option<Metadata>,
}

impl Charge {
    /// Returns the identifier of the purchase that was paid.
    pub(super) fn purchase(&self) -> Option<&str> {
        purchase_in(self.metadata.as_ref())
    }

    pub(super) fn payment(&self) -> Option<&str> {
        self.payment_intent.as_ref().and_then(id_of)
    }
}

/// Metadata of a payment. `plinth_purchase` is missing if another program created the payment.
#[derive(Debug, Deserialize)]
struct Metadata {
    plinth_purchase: Option<String>,
}

fn purchase_in(metadata: Option<&Metadata>) -> Option<&str> {
    metadata?.plinth_purchase.as_deref()
}

#[derive(Deserialize)]
struct Envelope {
    #[serde(rename = "type")]
    kind: String,
    data: Data,
}

#[derive(Deserialize)]
struct Data {
    object: Value,
}

/// Returns the identifier of an object. An event contains either only the identifier, or the whole object.
fn id_of(value: &Value) -> Option<&str> {
    value.as_str().or_else(|| value.get("id")?.as_str())
}

impl Event {
    pub(super) fn parse(body: &[u8]) -> Result<Self> {
        let malformed = |error| ServiceError::bad_request("this is not an event of Stripe").with_cause(error);
        let Envelope { kind, data } = serde_json::from_slice(body).map_err(malformed)?;
        let session = |object| serde_json::from_value::<Session>(object).map_err(malformed);
        Ok(match kind.as_str() {
            "checkout.session.completed" | "checkout.session.async_payment_succeeded" => {
                Self::Completed(session(data.object)?)
            }
            "checkout.session.async_payment_failed" => Self::PaymentFailed(session(data.object)?),
            "checkout.session.expired" => Self::Expired(session(data.object)?),
            "charge.refunded" => Self::Refunded(serde_json::from_value(data.object).map_err(malformed)?),
            _ => Self::Other,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_other_programs_may_lack_everything_that_is_read() {
        let body = br#"{"type": "checkout.session.expired", "data": {"object": {"id": "cs_1", "metadata": null, "currency": null,
            "amount_total": null, "payment_intent": null, "payment_status": "unpaid"}}}"#;
        let Event::Expired(session) = Event::parse(body).unwrap() else { panic!("another event") };
        assert_eq!((session.purchase(), session.payment(), session.is_paid()), (None, None, false));
    }

    #[test]
    fn a_payment_is_named_by_its_identifier_or_contained_as_an_object() {
        for payment in [serde_json::json!("pi_1"), serde_json::json!({"id": "pi_1", "object": "payment_intent"})] {
            let body = serde_json::json!({"type": "checkout.session.completed", "data": {"object": {
                "id": "cs_1", "metadata": {"plinth_purchase": "k3Jd92LmQx7a"}, "payment_intent": payment,
                "payment_status": "paid",
            }}});
            let Event::Completed(session) = Event::parse(body.to_string().as_bytes()).unwrap() else {
                panic!("another event")
            };
            let found = (session.purchase(), session.payment(), session.is_paid());
            assert_eq!(found, (Some("k3Jd92LmQx7a"), Some("pi_1"), true));
        }
    }
}
