//! Charges and refunds renders. Before each call, the transaction must have locked the paying account.

use plinth_db::Tx;
use plinth_db::ledger::{self, NewEntry, Posted};
use plinth_db::renders::Render;
use plinth_spec::ErrorCode;
use plinth_spec::funding::Pool;
use plinth_spec::id::{AccountId, EntryId};
use plinth_spec::wire::LedgerType;

use super::credit_metric::count_credits;
use super::stripe::remove_owed;
use crate::error::{Result, ServiceError};
use crate::ids::New as _;

/// Charges the price of each new render to the render's pool.
pub(crate) async fn charge(tx: &mut Tx, payer: &AccountId, renders: &[Render], now: i64) -> Result<()> {
    let entries = renders.iter().map(|render| entry(render, LedgerType::Render, now));
    let entries: Vec<NewEntry> = entries.filter_map(Result::transpose).collect::<Result<_>>()?;
    if !ledger::post_all(tx, payer, &entries).await? {
        return Err(ServiceError::new(ErrorCode::NoCredits, "the balance does not cover these renders"));
    }
    for entry in &entries {
        count_credits(tx, LedgerType::Render, entry.credits.unsigned_abs());
    }
    Ok(())
}

/// Refunds the price of a render to the pool that was charged. Returns the number of refunded credits, which is 0 if
/// the render was free or was refunded before.
pub(crate) async fn refund(tx: &mut Tx, render: &Render, now: i64) -> Result<u64> {
    let Some(entry) = entry(render, LedgerType::Refund, now)? else { return Ok(0) };
    match ledger::post(tx, &entry).await? {
        Posted::Done => {
            count_credits(tx, LedgerType::Refund, render.credits);
            if entry.pool == Pool::Paid {
                remove_owed(tx, render, now).await?;
            }
            Ok(render.credits)
        }
        Posted::Duplicate => Ok(0),
        Posted::InsufficientCredits => Err(ServiceError::internal("a refund cannot overdraw")),
    }
}

/// Builds the ledger entry of a charge or refund. Returns `None` if the render was free.
fn entry(render: &Render, kind: LedgerType, now: i64) -> Result<Option<NewEntry>> {
    let Some(pool) = render.pool else { return Ok(None) };
    let credits = i64::try_from(render.credits).map_err(ServiceError::internal)?;
    let is_refund = kind == LedgerType::Refund;
    Ok(Some(NewEntry {
        id: EntryId::new_random(),
        account_id: render.payer_id.clone(),
        workspace_id: Some(render.workspace_id.clone()),
        render_id: Some(render.id.clone()),
        kind,
        pool,
        credits: if is_refund { credits } else { -credits },
        price_cents: 0,
        source: pool.as_str().to_owned(),
        description: format!("{} {}", if is_refund { "Refund of render" } else { "Render" }, render.id),
        created_at: now,
    }))
}
