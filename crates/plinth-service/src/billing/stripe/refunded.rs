//! Books refunds that the operator made at Stripe.

use plinth_db::ledger::{self, Posted};
use plinth_db::purchases::{self, Purchase};
use plinth_db::{Tx, accounts};
use plinth_spec::id::PurchaseId;
use plinth_spec::wire::LedgerType;

use super::event::Charge;
use super::fulfil::{check_amount, entry};
use crate::billing::count_credits;
use crate::error::{Result, ServiceError};
use crate::service::Service;

impl Service {
    /// Removes the credits of a refunded purchase: all, or the same part as of the price. Credits that have been spent are
    /// not removed. Stripe reports the sum of all refunds, so an event that is repeated, or that arrives after a later one,
    /// changes nothing.
    pub(super) async fn book_refund(&self, charge: Charge) -> Result<()> {
        let Some(found) = self.purchase_of_charge(&charge).await? else { return Ok(()) };
        check_amount(&found, charge.amount, &charge.currency)?;
        if found.paid_at.is_none() {
            let message = "the payment of this purchase has not been reported yet; send the event again later";
            return Err(ServiceError::bad_request(message).with_status(409));
        }
        let refunded = charge.amount_refunded.min(found.price_cents);
        let booked = self.write_locked(found.account_id.clone(), move |tx, now| {
            Box::pin(async move {
                let purchase = purchases::find(tx, &found.id).await?;
                let purchase = purchase.ok_or_else(|| ServiceError::internal("the purchase no longer exists"))?;
                if refunded > purchase.refunded_cents { book(tx, &purchase, refunded, now).await } else { Ok(()) }
            })
        });
        booked.await
    }

    /// Finds the purchase of a payment. Returns `None` for a payment to another program.
    async fn purchase_of_charge(&self, charge: &Charge) -> Result<Option<Purchase>> {
        let mut conn = self.db.read().await?;
        if let Some(payment) = charge.payment()
            && let Some(purchase) = purchases::find_by_payment(&mut conn, payment).await?
        {
            return Ok(Some(purchase));
        }
        let Some(id) = charge.purchase().and_then(PurchaseId::parse) else { return Ok(None) };
        Ok(purchases::find(&mut conn, &id).await?)
    }
}

/// Books the refunds of a purchase up to the sum `refunded`.
async fn book(tx: &mut Tx, purchase: &Purchase, refunded: u64, now: i64) -> Result<()> {
    let due = credits_of(purchase, refunded) - credits_of(purchase, purchase.refunded_cents);
    let account = accounts::find(tx, &purchase.account_id).await?;
    let account = account.ok_or_else(|| ServiceError::internal("the account of a purchase is missing"))?;
    let removed = due.min(account.balance.paid);
    let spent = if removed < due { format!("; {} credits had been spent", due - removed) } else { String::new() };
    let description = format!("Refund of {}{spent}", purchase.name);
    let credits = i64::try_from(removed).map_err(ServiceError::internal)?;
    let cents = i64::try_from(refunded - purchase.refunded_cents).map_err(ServiceError::internal)?;
    let entry = entry(purchase, -credits, -cents, description, now);
    if !purchases::insert_entry(tx, &purchase.id, refunded, &entry.id).await? {
        return Ok(());
    }
    if ledger::post(tx, &entry).await? != Posted::Done {
        return Err(ServiceError::internal("a refund could not be booked"));
    }
    count_credits(tx, LedgerType::Purchase, removed);
    purchases::set_refunded(tx, &purchase.id, refunded, purchase.refunded_credits + removed).await?;
    Ok(())
}

/// Returns the number of credits that a part of the price has bought, rounded down.
fn credits_of(purchase: &Purchase, cents: u64) -> u64 {
    let credits = u128::from(purchase.credits) * u128::from(cents) / u128::from(purchase.price_cents.max(1));
    u64::try_from(credits).unwrap_or(purchase.credits)
}
