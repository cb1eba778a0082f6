//! Metric of charged and refunded credits.

use plinth_db::Tx;
use plinth_spec::wire::LedgerType;

/// Adds `credits` to the metric if the transaction is committed.
pub(crate) fn count_credits(tx: &mut Tx, kind: LedgerType, credits: u64) {
    tx.after_commit(move || {
        metrics::counter!("plinth_credits_moved_total", "type" => kind.as_str()).increment(credits);
    });
}
