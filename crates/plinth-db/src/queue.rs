//! Fair queue of accounts with queued renders: the account that recently used the least worker time comes first.

use std::sync::LazyLock;

use plinth_spec::fair_share::{UNUSED, score_after};
use plinth_spec::id::{AccountId, RenderId};
use plinth_spec::state::{HlsEvent, RenderEvent};

use crate::sql::{Sql, params};
use crate::states::{BuiltSql, may, may_package};
use crate::{Result, Tx};

/// Number of accounts read per query.
const PAGE_ACCOUNTS: i64 = 16;

/// Kind of queued work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Renders.
    Render,
    /// HLS packaging of finished renders.
    Package,
}

impl Kind {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Render => "render",
            Self::Package => "package",
        }
    }
}

/// Adds an account to the queue. Call it in every transaction that queues work for the account, after writing that work.
pub async fn enter(tx: &mut Tx, kind: Kind, account: &AccountId) -> Result<()> {
    // The update changes nothing but locks the row. So this transaction waits for one that is removing the row, and a
    // transaction that tries to remove it later sees the new work.
    let sql = "INSERT INTO queue (kind, account_id, score) \
               VALUES ($1, $2, coalesce((SELECT score FROM shares WHERE account_id = $2), $3)) \
               ON CONFLICT (kind, account_id) DO UPDATE SET account_id = excluded.account_id";
    tx.execute(sql, params![kind.as_str(), account, UNUSED]).await.map(drop)
}

/// Cursor over the queue, in order of priority.
#[derive(Clone, Debug)]
pub(crate) struct QueueCursor {
    kind: Kind,
    page: std::vec::IntoIter<AccountId>,
    /// Score and account of the last row read; `None` before the first query.
    last: Option<(f64, AccountId)>,
}

impl QueueCursor {
    pub(crate) fn new(kind: Kind) -> Self {
        Self { kind, page: Vec::new().into_iter(), last: None }
    }

    /// Returns the next account.
    pub(crate) async fn next(&mut self, tx: &mut Tx) -> Result<Option<AccountId>> {
        if let Some(account) = self.page.next() {
            return Ok(Some(account));
        }
        let sql = "SELECT account_id, score FROM queue WHERE kind = $1 AND (score, account_id) > ($2, $3) \
                   ORDER BY score, account_id LIMIT $4";
        let (score, id) = self.last.as_ref().map_or((f64::MIN, ""), |(score, id)| (*score, id.as_str()));
        let rows = tx.fetch_all(sql, params![self.kind.as_str(), score, id, PAGE_ACCOUNTS]).await?;
        let mut accounts = Vec::with_capacity(rows.len());
        for row in &rows {
            let account = row.parsed("account_id", AccountId::parse)?;
            self.last = Some((row.real("score")?, account.clone()));
            accounts.push(account);
        }
        self.page = accounts.into_iter();
        Ok(self.page.next())
    }
}

fn leave_statement(queued: &str) -> BuiltSql {
    BuiltSql::same(format!(
        "DELETE FROM queue WHERE kind = $1 AND account_id = $2 AND NOT EXISTS (SELECT 1 FROM renders \
         WHERE payer_id = $2 AND {queued} AND deleted_at IS NULL)"
    ))
}

static LEAVE_RENDERS: LazyLock<BuiltSql> = LazyLock::new(|| leave_statement(&may(RenderEvent::Claim)));
static LEAVE_PACKAGING: LazyLock<BuiltSql> = LazyLock::new(|| leave_statement(&may_package(HlsEvent::Claim)));

/// Removes an account without queued work from the queue, unless another transaction is queueing work for it now.
pub(crate) async fn leave_if_empty(tx: &mut Tx, kind: Kind, account: &AccountId) -> Result<()> {
    macro_rules! held {
        ($lock:literal) => {
            concat!("SELECT account_id FROM queue WHERE kind = $1 AND account_id = $2", $lock)
        };
    }
    let sql = Sql { sqlite: held!(""), postgres: held!(" FOR UPDATE SKIP LOCKED") };
    if tx.fetch_optional(sql, params![kind.as_str(), account]).await?.is_none() {
        return Ok(());
    }
    // This statement sees all work queued before the row was locked; transactions that queue more wait for the lock.
    let sql = match kind {
        Kind::Render => &LEAVE_RENDERS,
        Kind::Package => &LEAVE_PACKAGING,
    };
    tx.execute(sql, params![kind.as_str(), account]).await.map(drop)
}

/// Starts measuring the time of a worker slot, on one of the renders it processes, and charges the time from `now` to
/// `from` to the account in advance, so that an account that has just got a slot is not first in the queue again.
pub async fn begin_slot(tx: &mut Tx, id: &RenderId, account: &AccountId, now: i64, from: i64) -> Result<()> {
    tx.execute("UPDATE renders SET slot_since = $2 WHERE id = $1", params![id, from]).await?;
    charge(tx, account, from - now, now).await
}

/// Charges the time of a worker slot up to `now` to the account that pays for the render. Does nothing if the slot is
/// measured on another render, or if the lease is lost. `is_last` stops the measurement: the slot becomes free.
pub async fn count_slot(tx: &mut Tx, id: &RenderId, token: &str, now: i64, is_last: bool) -> Result<()> {
    let sql = "SELECT payer_id, slot_since FROM renders WHERE id = $1 AND lease_token = $2 AND slot_since IS NOT NULL";
    let Some(row) = tx.fetch_optional(sql, params![id, token]).await? else { return Ok(()) };
    let (account, since) = (row.parsed("payer_id", AccountId::parse)?, row.int("slot_since")?);
    let until = if is_last { None } else { Some(since.max(now)) };
    tx.execute("UPDATE renders SET slot_since = $2 WHERE id = $1", params![id, until]).await?;
    charge(tx, &account, now - since, now).await
}

async fn charge(tx: &mut Tx, account: &AccountId, used_ms: i64, now: i64) -> Result<()> {
    if used_ms <= 0 {
        return Ok(());
    }
    macro_rules! score {
        ($lock:literal) => {
            concat!("SELECT score FROM shares WHERE account_id = $1", $lock)
        };
    }
    // Ensures that there is a row to lock.
    let sql = "INSERT INTO shares (account_id, score) VALUES ($1, $2) ON CONFLICT (account_id) DO NOTHING";
    tx.execute(sql, params![account, UNUSED]).await?;
    let sql = Sql { sqlite: score!(""), postgres: score!(" FOR UPDATE") };
    let score = tx.fetch_one(sql, params![account]).await?.real("score")?;
    let score = score_after(score, used_ms as f64 / 1000.0, now);
    tx.execute("UPDATE shares SET score = $2 WHERE account_id = $1", params![account, score]).await?;
    tx.execute("UPDATE queue SET score = $2 WHERE account_id = $1", params![account, score]).await.map(drop)
}
