//! Books the credits of a purchase when Stripe reports the payment.

use plinth_db::ledger::{self, NewEntry, Posted};
use plinth_db::purchases::{self, Purchase};
use plinth_spec::funding::Pool;
use plinth_spec::id::EntryId;
use plinth_spec::wire::LedgerType;
use plinth_spec::{ErrorCode, PurchaseStatus};

use super::event::{Event, Session};
use super::purchase::purchase_is_off;
use super::signature;
use crate::billing::count_credits;
use crate::error::{Result, ServiceError};
use crate::ids::New as _;
use crate::service::Service;

impl Service {
    /// Handles an event of Stripe. `signature` is the header `Stripe-Signature`. The same event may arrive several times, even
    /// concurrently, but is booked only once. Stripe repeats an event until this method succeeds.
    /// Errors: the signature is wrong or too old, the event is malformed, or its amount is not the price of the purchase.
    pub async fn stripe_event(&self, signature: Option<&str>, body: &[u8]) -> Result<()> {
        let stripe = self.options.stripe.as_ref().ok_or_else(purchase_is_off)?;
        let now = self.options.clock.read_ms(&self.db).await?;
        let is_signed =
            signature.is_some_and(|header| signature::is_valid(header, body, &stripe.webhook_secrets, now / 1000));
        if !is_signed {
            return Err(ServiceError::bad_request("the signature of the event is missing, wrong or too old"));
        }
        match Event::parse(body)? {
            Event::Completed(session) if session.is_paid() => self.fulfil(session).await,
            Event::Completed(session) => self.set_unpaid(&session, PurchaseStatus::Processing).await,
            Event::PaymentFailed(session) => self.set_unpaid(&session, PurchaseStatus::Failed).await,
            Event::Expired(session) => self.set_unpaid(&session, PurchaseStatus::Expired).await,
            Event::Refunded(charge) => self.book_refund(charge).await,
            Event::Other => Ok(()),
        }
    }

    /// Finds the purchase of a payment page. Returns `None` for a page that another program created.
    async fn purchase_of(&self, session: &Session) -> Result<Option<Purchase>> {
        Ok(purchases::find_by_session(&mut self.db.read().await?, &session.id).await?)
    }

    async fn set_unpaid(&self, session: &Session, status: PurchaseStatus) -> Result<()> {
        let Some(Purchase { id, .. }) = self.purchase_of(session).await? else { return Ok(()) };
        let set = self.db.write(move |tx| {
            Box::pin(async move { Ok::<_, ServiceError>(purchases::set_unpaid(tx, &id, status).await?) })
        });
        set.await
    }

    async fn fulfil(&self, session: Session) -> Result<()> {
        let Some(purchase) = self.purchase_of(&session).await? else {
            if let Some(id) = session.purchase() {
                tracing::error!(
                    purchase.id = id,
                    session.id,
                    "a payment belongs to a purchase that this installation does not have; if its database was restored, grant the credits"
                );
            }
            return Ok(());
        };
        let currency = session.currency.clone().unwrap_or_default();
        check_amount(&purchase, session.amount_total.unwrap_or_default(), &currency)?;
        let payment = session.payment().map(str::to_owned);
        let booked = self.write_locked(purchase.account_id.clone(), move |tx, now| {
            Box::pin(async move {
                let credits = i64::try_from(purchase.credits).map_err(ServiceError::internal)?;
                let cents = i64::try_from(purchase.price_cents).map_err(ServiceError::internal)?;
                let entry = entry(&purchase, credits, cents, purchase.name.clone(), now);
                if !purchases::insert_entry(tx, &purchase.id, 0, &entry.id).await? {
                    return Ok(());
                }
                if ledger::post(tx, &entry).await? != Posted::Done {
                    return Err(ServiceError::internal("a purchase could not be booked"));
                }
                count_credits(tx, LedgerType::Purchase, purchase.credits);
                purchases::set_paid(tx, &purchase.id, payment.as_deref(), now).await?;
                Ok(())
            })
        });
        booked.await
    }
}

/// Returns an error if the amount of an event is not the price of its purchase. Also logs this error, because an operator
/// must examine the payment.
pub(super) fn check_amount(purchase: &Purchase, cents: u64, currency: &str) -> Result<()> {
    if cents == purchase.price_cents && currency.eq_ignore_ascii_case(&purchase.currency) {
        return Ok(());
    }
    tracing::error!(
        purchase.id = purchase.id.as_str(),
        expected = purchase.price_cents,
        reported = cents,
        currency,
        "an event of Stripe has another amount than its purchase; nothing was booked"
    );
    Err(ServiceError::new(ErrorCode::BadRequest, "the amount of the event is not that of the purchase"))
}

/// Builds a ledger entry of a purchase.
pub(super) fn entry(purchase: &Purchase, credits: i64, cents: i64, description: String, now: i64) -> NewEntry {
    NewEntry {
        id: EntryId::new_random(),
        account_id: purchase.account_id.clone(),
        workspace_id: purchase.workspace_id.clone(),
        render_id: None,
        kind: LedgerType::Purchase,
        pool: Pool::Paid,
        credits,
        price_cents: cents,
        source: "stripe".to_owned(),
        description,
        created_at: now,
    }
}
