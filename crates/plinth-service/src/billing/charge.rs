//! Charges and refunds renders. The caller must have locked the paying account.

use plinth_db::Tx;
use plinth_db::ledger::{self, NewEntry, Posted};
use plinth_db::renders::Render;
use plinth_spec::ErrorCode;
use plinth_spec::id::EntryId;
use plinth_spec::wire::LedgerType;

use super::moved::count_moved;
use crate::error::{Result, ServiceError};
use crate::ids::New as _;

/// Charges a render's price to its pool.
pub(crate) async fn charge(tx: &mut Tx, render: &Render, now: i64) -> Result<()> {
    match post(tx, render, LedgerType::Render, now).await? {
        Some(Posted::Done) | None => Ok(()),
        Some(Posted::InsufficientCredits) => {
            Err(ServiceError::new(ErrorCode::NoCredits, "the balance does not cover this render"))
        }
        Some(Posted::Duplicate) => Err(ServiceError::internal("a new render was charged before")),
    }
}

/// Refunds a render's price to the pool that was charged, at most once. Returns the number of refunded credits.
pub(crate) async fn refund(tx: &mut Tx, render: &Render, now: i64) -> Result<u64> {
    match post(tx, render, LedgerType::Refund, now).await? {
        Some(Posted::Done) => Ok(render.credits),
        Some(Posted::Duplicate) | None => Ok(0),
        Some(Posted::InsufficientCredits) => Err(ServiceError::internal("a refund cannot overdraw")),
    }
}

/// Writes the ledger entry of a charge or refund. Returns `None` if the render was free.
async fn post(tx: &mut Tx, render: &Render, kind: LedgerType, now: i64) -> Result<Option<Posted>> {
    let Some(pool) = render.pool.filter(|_pool| render.credits > 0) else { return Ok(None) };
    let credits = i64::try_from(render.credits).map_err(ServiceError::internal)?;
    let is_refund = kind == LedgerType::Refund;
    let entry = NewEntry {
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
    };
    let posted = ledger::post(tx, &entry).await?;
    if posted == Posted::Done {
        count_moved(tx, kind, render.credits);
    }
    Ok(Some(posted))
}
