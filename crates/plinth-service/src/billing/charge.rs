//! Charging and refunding renders. The caller holds the paying account.

use plinth_db::Tx;
use plinth_db::ledger::{self, NewEntry, Posted};
use plinth_db::renders::Render;
use plinth_spec::ErrorCode;
use plinth_spec::id::EntryId;
use plinth_spec::wire::LedgerType;

use super::moved::count_moved;
use crate::error::{Result, ServiceError};
use crate::ids::New as _;

/// Takes a render's price from the pool that was decided on.
pub(crate) async fn charge(tx: &mut Tx, render: &Render, now: i64) -> Result<()> {
    match post(tx, render, LedgerType::Render, now).await? {
        Some(Posted::Done) | None => Ok(()),
        Some(Posted::Short) => Err(ServiceError::new(ErrorCode::NoCredits, "the balance does not cover this render")),
        Some(Posted::Again) => Err(ServiceError::internal("a new render was charged before")),
    }
}

/// Gives a render's price back to the pool it came from, once. Returns what went back.
pub(crate) async fn refund(tx: &mut Tx, render: &Render, now: i64) -> Result<u64> {
    match post(tx, render, LedgerType::Refund, now).await? {
        Some(Posted::Done) => Ok(render.credits),
        Some(Posted::Again) | None => Ok(0),
        Some(Posted::Short) => Err(ServiceError::internal("a refund cannot overdraw")),
    }
}

/// None: the render was free, nothing moves.
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
