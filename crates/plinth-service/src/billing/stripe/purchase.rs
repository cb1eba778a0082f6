//! Starts a purchase of credits.

use plinth_db::products;
use plinth_db::purchases::{self, Purchase};
use plinth_spec::id::PurchaseId;
use plinth_spec::{ErrorCode, PurchaseStatus, limits};
use url::Url;

use super::StripeOptions;
use super::client::{CheckoutSession, unavailable};
use crate::access::Caller;
use crate::error::{Result, ServiceError};
use crate::ids::New as _;
use crate::service::Service;

/// Window of the rate limit, in milliseconds: an account may start at most [`limits::PURCHASES`] purchases in it.
const WINDOW_MS: i64 = 600_000;

impl Service {
    /// Starts the purchase of a credit pack for the account that pays for the renders of the caller's workspace.
    /// Returns the URL of the payment page, which leads back to `credits_url`. The credits are booked when Stripe
    /// reports the payment.
    /// Errors: no credits are sold, the caller's role does not allow purchases, the pack is unknown, the account has started
    /// too many purchases, or Stripe cannot be reached.
    pub async fn buy_credits(&self, caller: &Caller, product: &str, credits_url: &str) -> Result<String> {
        let stripe = self.options.stripe.as_ref().ok_or_else(purchase_is_off)?;
        if !caller.role.can_manage() {
            let message = "only the owner and the administrators of a team can buy credits for it";
            return Err(ServiceError::new(ErrorCode::Forbidden, message));
        }
        let not_sold = || ServiceError::new(ErrorCode::NotFound, "this credit pack is not sold any more");
        // PostgreSQL rejects a text with a NUL character.
        if product.contains(char::is_control) {
            return Err(not_sold());
        }
        let product = products::find(&mut self.db.read().await?, product).await?.ok_or_else(not_sold)?;
        self.count_for(&caller.account_id, "purchases", limits::PURCHASES, WINDOW_MS).await?;
        let purchase = Purchase {
            account_id: caller.payer_id.clone(),
            workspace_id: caller.bound.as_ref().map(|bound| bound.id.clone()),
            ..Purchase::pending(PurchaseId::new_random(), caller.account_id.clone(), &product)
        };
        let inserting = purchase.clone();
        let inserted = self.write_in_workspace(caller, caller.payer_id.clone(), move |tx, now| {
            let purchase = Purchase { created_at: now, ..inserting };
            Box::pin(async move { Ok(purchases::insert(tx, &purchase).await?) })
        });
        inserted.await?;
        let id = purchase.id.clone();
        let opened = self.open_page(stripe, &purchase, &product.stripe_price_id, &caller.email, credits_url).await;
        let (session, status) = match &opened {
            Ok((session, _url)) => (Some(session.id.clone()), PurchaseStatus::Pending),
            Err(_error) => (None, PurchaseStatus::Failed),
        };
        let stored = self.db.write(move |tx| {
            Box::pin(async move {
                if let Some(session) = session {
                    purchases::set_session(tx, &id, &session).await?;
                }
                purchases::set_unpaid(tx, &id, status).await?;
                Ok::<_, ServiceError>(())
            })
        });
        stored.await?;
        opened.map(|(_session, url)| url)
    }

    /// Creates the payment page and checks its amount.
    async fn open_page(
        &self,
        stripe: &StripeOptions,
        purchase: &Purchase,
        price: &str,
        buyer: &str,
        credits_url: &str,
    ) -> Result<(CheckoutSession, String)> {
        let paid_url = format!("{credits_url}?bought={}", purchase.id);
        let session = self.stripe.create_session(stripe, purchase, price, buyer, [&paid_url, credits_url]).await?;
        let is_same = session.amount_total.is_none_or(|cents| cents == purchase.price_cents)
            && session.currency.as_ref().is_none_or(|currency| currency.eq_ignore_ascii_case(&purchase.currency));
        if !is_same {
            return Err(unavailable(format!(
                "the price of the pack '{}' at Stripe is not the price in the configuration",
                purchase.product_id
            )));
        }
        let is_page = |url: &String| Url::parse(url).is_ok_and(|url| matches!(url.scheme(), "https" | "http"));
        let url = session.url.clone().filter(is_page);
        let url = url.ok_or_else(|| unavailable("the response of Stripe has no address of a payment page"))?;
        Ok((session, url))
    }
}

pub(super) fn purchase_is_off() -> ServiceError {
    ServiceError::new(
        ErrorCode::NotFound,
        "no credits are sold here: the operator has not configured a payment provider",
    )
}
