//! Corrects the ends of leases and holds after the clock of the database was set back. Otherwise the leases and holds of processes
//! that were killed before the step would last until the clock has caught up.
//!
//! All functions move ends back to the time at which they would be if they were renewed now. Thus processes that still run have time to
//! renew, and ends that were set after the step do not change.

use std::sync::LazyLock;

use crate::sql::params;
use crate::states::BuiltSql;
use crate::{Result, Tx};

/// Builds a statement that moves times of a table back to the SQL expression `latest`. Earlier times do not change. `key` is the primary
/// key. `and` is a further condition on the rows. Skips rows that other transactions have locked; the next call
/// changes those that are not renewed or ended.
fn moved_back(table: &str, key: &str, time: &str, latest: &str, and: &str) -> BuiltSql {
    BuiltSql::locking(" FOR UPDATE SKIP LOCKED", |lock| {
        format!(
            "UPDATE {table} SET {time} = {latest} \
             WHERE ({key}) IN (SELECT {key} FROM {table} WHERE {time} > {latest}{and}{lock})"
        )
    })
}

// The further condition is that of the partial index of the leases of renders.
static RENDERS: LazyLock<BuiltSql> =
    LazyLock::new(|| moved_back("renders", "id", "lease_until", "$1 + lease_ms", " AND lease_token IS NOT NULL"));
static PREVIEWS: LazyLock<BuiltSql> =
    LazyLock::new(|| moved_back("page_previews", "account_id, model_id, page_id", "lease_until", "$1", ""));
static HOLDS: LazyLock<BuiltSql> = LazyLock::new(|| moved_back("holds", "id", "expires_at", "$1", ""));

/// Shortens leases of renders that end later than their own lease time from now, which may differ from that of this process. Returns
/// the number of changed leases. The leases of workers of earlier versions do not change, because these do not store their lease time.
pub async fn shorten_render_leases(tx: &mut Tx, now: i64) -> Result<u64> {
    tx.execute(&RENDERS, params![now]).await
}

/// Shortens leases of previews that end after `latest`. Returns the number of changed leases.
pub async fn shorten_preview_leases(tx: &mut Tx, latest: i64) -> Result<u64> {
    tx.execute(&PREVIEWS, params![latest]).await
}

/// Shortens deletion holds that end after `latest`. Returns the number of changed holds.
pub async fn shorten_holds(tx: &mut Tx, latest: i64) -> Result<u64> {
    tx.execute(&HOLDS, params![latest]).await
}
