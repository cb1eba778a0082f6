//! Credits of refunded purchases that had been spent when the refund was booked, and that come back later.

use plinth_db::Tx;
use plinth_db::ledger::{self, NewEntry, Posted};
use plinth_db::purchases::{self, Refunds};
use plinth_db::renders::Render;
use plinth_spec::wire::LedgerType;

use super::fulfil::entry;
use crate::billing::count_credits;
use crate::error::{Result, ServiceError};

/// Removes credits that were refunded to the paid pool for a render, if the render was ordered before a purchase of the account
/// was refunded and the credits of this purchase could not be removed then. The transaction must have locked the account.
pub(crate) async fn remove_owed(tx: &mut Tx, render: &Render, now: i64) -> Result<()> {
    let mut left = render.credits;
    for purchase in purchases::list_owing(tx, &render.payer_id, render.created_at).await? {
        let removed = left.min(purchase.owed_credits);
        if removed == 0 {
            break;
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

/// Writes the ledger entry of a refund of a purchase.
pub(super) async fn post(tx: &mut Tx, entry: &NewEntry) -> Result<()> {
    if ledger::post(tx, entry).await? != Posted::Done {
        return Err(ServiceError::internal("a refund could not be booked"));
    }
    count_credits(tx, LedgerType::Purchase, entry.credits.unsigned_abs());
    Ok(())
}
