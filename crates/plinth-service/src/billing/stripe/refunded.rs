//! Books refunds that the operator made at Stripe.

use plinth_db::purchases::{self, OwedRefund, Purchase, Refunds};
use plinth_db::{Tx, accounts, renders};
use plinth_spec::id::PurchaseId;

use super::event::Charge;
use super::fulfil::{check_amount, entry};
use super::owed::post;
use crate::error::{Result, ServiceError};
use crate::renders::cancel_pending;
use crate::service::Service;

/// Maximum number of renders that one transaction cancels.
const CANCELLED_AT_ONCE: u32 = 100;

impl Service {
    /// Removes the credits of a refunded purchase. If only a fraction of the price was refunded, removes the same fraction of the
    /// credits. If the balance is too low, cancels paid renders that no worker has claimed, the newest first. If the balance is
    /// still too low, the missing credits are owed; see [`remove_owed`](super::remove_owed). Stripe reports the sum of all
    /// refunds, so an event that is repeated, or that arrives after a later event, changes nothing.
    pub(super) async fn book_refund(&self, charge: Charge) -> Result<()> {
        let Some(found) = self.purchase_of_charge(&charge).await? else { return Ok(()) };
        check_amount(&found, charge.amount, &charge.currency)?;
        if found.paid_at.is_none() {
            let message = "the payment of this purchase has not been reported yet; send the event again later";
            return Err(ServiceError::bad_request(message).with_status(409));
        }
        let refunded = charge.amount_refunded.min(found.price_cents);
        // Each transaction cancels a limited number of renders, so that it stays short.
        loop {
            let (id, account) = (found.id.clone(), found.account_id.clone());
            let booking = self.write_locked(account, move |tx, now| {
                Box::pin(async move {
                    let purchase = find(tx, &id).await?;
                    if refunded <= purchase.refunded_cents {
                        return Ok(true);
                    }
                    let due = credits_of(&purchase, refunded) - credits_of(&purchase, purchase.refunded_cents);
                    let has_more = cancel_until_covered(tx, &purchase, due, now).await?;
                    if !has_more {
                        // The refunds of the cancelled renders may have changed the owed credits of the purchase.
                        let purchase = find(tx, &id).await?;
                        book(tx, &purchase, refunded, now).await?;
                    }
                    Ok(!has_more)
                })
            });
            if booking.await? {
                return Ok(());
            }
        }
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

/// Cancels queued renders of an account, the newest first, until its balance covers `due`. Returns true if the balance is
/// still too low and the account may have more queued renders.
async fn cancel_until_covered(tx: &mut Tx, purchase: &Purchase, due: u64, now: i64) -> Result<bool> {
    if balance(tx, purchase).await? >= due {
        return Ok(false);
    }
    let pending = renders::list_pending_paid(tx, &purchase.account_id, CANCELLED_AT_ONCE).await?;
    for render in &pending {
        cancel_pending(tx, render, now).await?;
        // If credits are owed for an earlier refund, the balance increases by less than the price of the render.
        if balance(tx, purchase).await? >= due {
            return Ok(false);
        }
    }
    Ok(pending.len() == CANCELLED_AT_ONCE as usize)
}

/// Books the refunds of a purchase up to the sum `refunded`.
async fn book(tx: &mut Tx, purchase: &Purchase, refunded: u64, now: i64) -> Result<()> {
    let due = credits_of(purchase, refunded) - credits_of(purchase, purchase.refunded_cents);
    let removed = due.min(balance(tx, purchase).await?);
    let spent = if removed < due { format!("; {} credits had been spent", due - removed) } else { String::new() };
    let description = format!("Refund of {}{spent}", purchase.name);
    let credits = i64::try_from(removed).map_err(ServiceError::internal)?;
    let cents = i64::try_from(refunded - purchase.refunded_cents).map_err(ServiceError::internal)?;
    let entry = entry(purchase, -credits, -cents, description, now);
    if !purchases::insert_entry(tx, &purchase.id, refunded, &entry.id).await? {
        return Ok(());
    }
    post(tx, &entry).await?;
    if removed < due {
        let owed = OwedRefund { refunded_cents: refunded, credits: due - removed, booked_at: now };
        purchases::set_owed_refund(tx, &purchase.id, owed).await?;
    }
    let refunds = Refunds {
        cents: refunded,
        credits: purchase.refunded_credits + removed,
        owed: purchase.owed_credits + due - removed,
    };
    Ok(purchases::set_refunds(tx, &purchase.id, refunds, now).await?)
}

async fn find(tx: &mut Tx, id: &PurchaseId) -> Result<Purchase> {
    let purchase = purchases::find(tx, id).await?;
    purchase.ok_or_else(|| ServiceError::internal("the purchase no longer exists"))
}

async fn balance(tx: &mut Tx, purchase: &Purchase) -> Result<u64> {
    let account = accounts::find(tx, &purchase.account_id).await?;
    Ok(account.ok_or_else(|| ServiceError::internal("the account of a purchase is missing"))?.balance.paid)
}

/// Returns the number of credits that a part of the price has bought, rounded down.
fn credits_of(purchase: &Purchase, cents: u64) -> u64 {
    let credits = u128::from(purchase.credits) * u128::from(cents) / u128::from(purchase.price_cents.max(1));
    u64::try_from(credits).unwrap_or(purchase.credits)
}
