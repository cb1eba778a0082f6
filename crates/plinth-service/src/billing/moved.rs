//! Movements of credits as a metric.

use plinth_db::Tx;
use plinth_spec::wire::LedgerType;

/// Counts credits that a transaction moves, once it has ended well.
pub(crate) fn count_moved(tx: &mut Tx, kind: LedgerType, credits: u64) {
    tx.after_commit(move || {
        metrics::counter!("plinth_credits_moved_total", "type" => kind.as_str()).increment(credits);
    });
}
