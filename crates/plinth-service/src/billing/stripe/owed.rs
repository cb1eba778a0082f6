//! Owed credits: credits of a refunded purchase that the account had already spent when the refund was booked. They are
//! removed when the refund of a render returns credits to the account.

use plinth_db::Tx;
use plinth_db::ledger::{self, NewEntry, Posted};
use plinth_db::purchases::{self, OwedRefund, Purchase, Refunds};
use plinth_db::renders::Render;
use plinth_spec::wire::LedgerType;

use super::fulfil::entry;
use crate::billing::count_credits;
use crate::error::{Result, ServiceError};

/// Removes owed credits from the paid pool, after the price of `render` was refunded to this pool. Removes at most this
/// price, and only credits that are owed for refunds of purchases after the render was ordered. The transaction must have
/// locked the account.
pub(crate) async fn remove_owed(tx: &mut Tx, render: &Render, now: i64) -> Result<()> {
    let mut left = render.credits;
    for purchase in purchases::list_owing(tx, &render.payer_id, render.created_at).await? {
        let removed = take(tx, &purchase, render.created_at, left.min(purchase.owed_credits)).await?;
        if removed == 0 {
            continue;
        }
        left -= removed;
        let credits = i64::try_from(removed).map_err(ServiceError::internal)?;
        let description = format!("Refund of {}: credits of render {}", purchase.name, render.id);
        post(tx, &entry(&purchase, -credits, 0, description, now)).await?;
        let refunds = Refunds {
            cents: purchase.refunded_cents,
            credits: purchase.refunded_credits + removed,
            owed: purchase.owed_credits - removed,
        };
        purchases::set_refunds(tx, &purchase.id, refunds, now).await?;
    }
    Ok(())
}

/// Subtracts up to `most` credits from the owed credits of a purchase. Uses only credits that are owed for refunds that were
/// booked at or after the time `ordered_at`, the earliest refund first. Returns the number of subtracted credits.
async fn take(tx: &mut Tx, purchase: &Purchase, ordered_at: i64, most: u64) -> Result<u64> {
    let refunds = purchases::list_owed_refunds(tx, &purchase.id).await?;
    // Refunds that an earlier version of the program booked have no rows. They count as booked at the time of the last
    // refund.
    let listed: u64 = refunds.iter().map(|refund| refund.credits).sum();
    let mut taken = purchase.owed_credits.saturating_sub(listed).min(most);
    for refund in refunds.into_iter().filter(|refund| refund.booked_at >= ordered_at) {
        let part = refund.credits.min(most - taken);
        if part == 0 {
            break;
        }
        taken += part;
        let rest = OwedRefund { credits: refund.credits - part, ..refund };
        purchases::set_owed_refund(tx, &purchase.id, rest).await?;
    }
    Ok(taken)
}

/// Writes the ledger entry of a refund of a purchase.
pub(super) async fn post(tx: &mut Tx, entry: &NewEntry) -> Result<()> {
    if ledger::post(tx, entry).await? != Posted::Done {
        return Err(ServiceError::internal("a refund could not be booked"));
    }
    count_credits(tx, LedgerType::Purchase, entry.credits.unsigned_abs());
    Ok(())
}
