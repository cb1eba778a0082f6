//! The requests to Stripe's API.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use plinth_db::purchases::Purchase;
use plinth_spec::ErrorCode;
use reqwest::Client;
use serde::Deserialize;
use url::form_urlencoded::Serializer;

use super::StripeOptions;
use crate::error::{Result, ServiceError};

const TIMEOUT: Duration = Duration::from_secs(20);
/// Maximum size of a response, in bytes.
const RESPONSE_BYTES: usize = 1 << 20;

/// A payment page of Stripe.
#[derive(Debug, Deserialize)]
pub(super) struct CheckoutSession {
    pub id: String,
    pub url: Option<String>,
    pub amount_total: Option<u64>,
    pub currency: Option<String>,
}

/// The error in a response of Stripe.
#[derive(Debug, Deserialize)]
struct ErrorBody {
    error: ErrorFacts,
}

#[derive(Debug, Deserialize)]
struct ErrorFacts {
    message: Option<String>,
}

/// The HTTP client, which is created by the first request. All clones share one client.
#[derive(Clone, Debug, Default)]
pub(crate) struct StripeClient(Arc<OnceLock<Client>>);

impl StripeClient {
    fn http(&self) -> Result<&Client> {
        if self.0.get().is_none() {
            let _chosen_before = rustls::crypto::ring::default_provider().install_default();
            let client = Client::builder().timeout(TIMEOUT).redirect(reqwest::redirect::Policy::none()).build();
            let _set_before = self.0.set(client.map_err(ServiceError::internal)?);
        }
        self.0.get().ok_or_else(|| ServiceError::internal("the HTTP client is missing"))
    }

    /// Creates the payment page of a purchase. The page leads to `paid_url` after the payment, and to `back_url` if the buyer
    /// cancels.
    pub(super) async fn create_session(
        &self,
        options: &StripeOptions,
        purchase: &Purchase,
        price: &str,
        buyer: &str,
        [paid_url, back_url]: [&str; 2],
    ) -> Result<CheckoutSession> {
        let url = options.url.join("/v1/checkout/sessions").map_err(ServiceError::internal)?;
        let body = session_form(purchase, price, buyer, [paid_url, back_url]);
        let request = self.http()?.post(url).bearer_auth(&options.secret_key);
        // If the response is lost, a retry by the HTTP client does not create a second page.
        let request =
            request.header("Idempotency-Key", purchase.id.as_str()).header("Stripe-Version", "2025-03-31.basil");
        let sent = request.header("Content-Type", "application/x-www-form-urlencoded").body(body).send().await;
        let mut response = sent.map_err(|error| unavailable(error.without_url()))?;
        let status = response.status();
        let mut bytes = Vec::new();
        while let Some(piece) = response.chunk().await.map_err(|error| unavailable(error.without_url()))? {
            bytes.extend_from_slice(&piece);
            if bytes.len() > RESPONSE_BYTES {
                return Err(unavailable("the response of Stripe is too long"));
            }
        }
        if !status.is_success() {
            let message = serde_json::from_slice::<ErrorBody>(&bytes).ok().and_then(|body| body.error.message);
            return Err(unavailable(format!("Stripe answered {status}: {}", message.unwrap_or_default())));
        }
        serde_json::from_slice(&bytes).map_err(unavailable)
    }
}

/// Builds the form that creates a payment page. If `price` is the identifier of a price at Stripe, the form contains this
/// identifier, otherwise the amount.
fn session_form(purchase: &Purchase, price: &str, buyer: &str, [paid_url, back_url]: [&str; 2]) -> String {
    let amount = purchase.price_cents.to_string();
    let mut form = Serializer::new(String::new());
    form.append_pair("mode", "payment");
    form.append_pair("success_url", paid_url).append_pair("cancel_url", back_url);
    form.append_pair("client_reference_id", purchase.id.as_str());
    form.append_pair("customer_email", buyer);
    // With this feature, buyers pay in their own currency, and events may contain an amount that is not the price of the purchase.
    form.append_pair("adaptive_pricing[enabled]", "false");
    // Stripe copies the metadata of a payment to its charge, so events about refunds contain the purchase, too.
    for name in ["metadata[plinth_purchase]", "payment_intent_data[metadata][plinth_purchase]"] {
        form.append_pair(name, purchase.id.as_str());
    }
    form.append_pair("line_items[0][quantity]", "1");
    if price.starts_with("price_") {
        form.append_pair("line_items[0][price]", price);
        // A price at Stripe can have amounts in several currencies. Without this field, the buyer's location selects one of them.
        form.append_pair("currency", &purchase.currency);
    } else {
        form.append_pair("line_items[0][price_data][currency]", &purchase.currency);
        form.append_pair("line_items[0][price_data][unit_amount]", &amount);
        form.append_pair("line_items[0][price_data][product_data][name]", &purchase.name);
    }
    form.finish()
}

pub(super) fn unavailable(cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> ServiceError {
    let message = "the payment page could not be opened, and nothing was charged; please try again later";
    ServiceError::new(ErrorCode::Internal, message).with_status(502).with_cause(cause)
}

#[cfg(test)]
mod tests {
    use plinth_spec::id::{AccountId, PurchaseId};
    use plinth_spec::wire::Product;
    use plinth_testkit::{Reply, Web};

    use super::*;

    fn purchase() -> Purchase {
        let product = Product {
            id: "small".to_owned(),
            name: "500 credits".to_owned(),
            credits: 500,
            price_cents: 900,
            currency: "eur".to_owned(),
            stripe_price_id: String::new(),
        };
        let [id, buyer] = ["p00000000001", "a00000000001"];
        Purchase::pending(PurchaseId::parse(id).unwrap(), AccountId::parse(buyer).unwrap(), &product)
    }

    #[test]
    fn a_price_at_stripe_is_paid_in_the_currency_of_the_purchase() {
        let form = session_form(&purchase(), "price_1", "ada@example.org", ["https://a/paid", "https://a/back"]);
        let fields: Vec<_> = url::form_urlencoded::parse(form.as_bytes()).into_owned().collect();
        let field = |name: &str| fields.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
        assert_eq!(field("line_items[0][price]"), Some("price_1"));
        assert_eq!(field("currency"), Some("eur"));
        assert_eq!(field("adaptive_pricing[enabled]"), Some("false"));
        assert_eq!(field("line_items[0][price_data][currency]"), None);
    }

    #[tokio::test]
    async fn the_size_of_a_response_is_limited() {
        let page = r#"{"id": "cs_1", "url": "https://checkout.stripe.com/c/pay"}"#;
        for (bytes, is_accepted) in [(RESPONSE_BYTES, true), (RESPONSE_BYTES + 1, false)] {
            let body = format!("{page}{}", " ".repeat(bytes - page.len()));
            let stripe = Web::start(move |_visit| Reply::new("200 OK", "application/json", body.clone()));
            let options = StripeOptions {
                secret_key: "sk_test_1".to_owned(),
                webhook_secrets: Vec::new(),
                url: stripe.url("/").parse().unwrap(),
            };
            let (client, urls) = (StripeClient::default(), ["https://a/paid", "https://a/back"]);
            let created = client.create_session(&options, &purchase(), "price_1", "ada@example.org", urls).await;
            assert_eq!(created.is_ok(), is_accepted, "{bytes} bytes: {created:?}");
        }
    }
}
