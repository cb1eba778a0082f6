//! Fair queue of accounts with queued renders: the account that recently used the least worker time comes first.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use plinth_spec::fair_share::{UNUSED, score_after};
use plinth_spec::id::{AccountId, RenderId};
use plinth_spec::state::{HlsEvent, RenderEvent};
use plinth_spec::{Takes, WorkClass};

use crate::listen::{self, Queued};
use crate::row::Row;
use crate::sql::{Param, Sql, params};
use crate::states::{BuiltSql, may, may_package};
use crate::{Result, Tx, share_time};

/// Number of accounts that one query reads.
const PAGE_ACCOUNTS: i64 = 16;
/// Number of accounts that a query reads if other transactions have reserved the first [`PAGE_ACCOUNTS`].
const CROWDED_PAGE_ACCOUNTS: i64 = 256;
/// Maximum time in milliseconds that may be charged in advance by [`begin_slot`].
const MAX_ADVANCE_MS: i64 = 60_000;

/// Kind of queued work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Render,
    /// HLS packaging of finished renders.
    Package,
}

impl Kind {
    /// Returns the name of the queue of this kind and class.
    fn queue(self, class: Option<WorkClass>) -> String {
        let kind = match self {
            Self::Render => "render",
            Self::Package => "package",
        };
        class.map_or_else(|| kind.to_owned(), |class| format!("{kind} {}", class.as_str()))
    }

    /// Returns the SQL ORDER BY list of an account's queued work.
    pub(crate) const fn order(self) -> &'static str {
        match self {
            Self::Render => "is_system_preview, created_at, id",
            Self::Package => "created_at, id",
        }
    }

    /// Returns the SQL condition that is true for renders which are queued for this kind of work.
    fn queued(self) -> String {
        let may = match self {
            Self::Render => may(RenderEvent::Claim),
            Self::Package => may_package(HlsEvent::Claim),
        };
        format!("{may} AND deleted_at IS NULL")
    }
}

/// Returns all classes of work. `None` stands for work that was queued by a version that did not store classes.
fn classes() -> impl Iterator<Item = Option<WorkClass>> {
    WorkClass::ALL.iter().copied().map(Some).chain([None])
}

/// Returns the SQL condition that is true for renders of this class.
fn is_of(class: Option<WorkClass>) -> String {
    class.map_or_else(|| "work_class IS NULL".to_owned(), |class| format!("work_class = '{}'", class.as_str()))
}

/// Adds an account to the queues of the given classes. Every transaction that queues renders of the account must call this
/// function after it has written them.
pub async fn enter(
    tx: &mut Tx,
    kind: Kind,
    classes: impl IntoIterator<Item = Option<WorkClass>>,
    account: &AccountId,
) -> Result<()> {
    // All transactions write the rows in the same order, so that two of them never deadlock.
    let mut queued: BTreeMap<String, Queued> = BTreeMap::new();
    for class in classes {
        queued.entry(kind.queue(class)).or_insert(Queued { jobs: 0, class }).jobs += 1;
    }
    // If the row exists, the update changes no value, but locks the row. Therefore this statement waits for a transaction that
    // is removing the row, and a later transaction that wants to remove the row sees the new work.
    let sql = "INSERT INTO queue (kind, account_id, score) \
               VALUES ($1, $2, coalesce((SELECT score FROM shares WHERE account_id = $2), $3)) \
               ON CONFLICT (kind, account_id) DO UPDATE SET account_id = excluded.account_id";
    for (name, queued) in queued {
        tx.execute(sql, params![name.as_str(), account, UNUSED]).await?;
        listen::notify(tx, queued).await?;
    }
    Ok(())
}

/// Changes the score of an account in all queues. The statement lists the queues by name, because the primary key
/// begins with the name.
static SET_SCORE: LazyLock<BuiltSql> = LazyLock::new(|| {
    let kinds = [Kind::Package, Kind::Render];
    let names: BTreeSet<String> = kinds.iter().flat_map(|kind| classes().map(|class| kind.queue(class))).collect();
    let names: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
    BuiltSql::locking(" FOR UPDATE SKIP LOCKED", |lock| {
        format!(
            "UPDATE queue SET score = $2 WHERE (kind, account_id) IN \
             (SELECT kind, account_id FROM queue WHERE kind IN ({}) AND account_id = $1{lock})",
            names.join(", ")
        )
    })
});

/// Cursor over the accounts with queued work of some classes, in order of priority.
#[derive(Clone, Debug)]
pub(crate) struct QueueCursor {
    /// Names of the queues, one for each class. The name is empty for a class that is not read.
    queues: Vec<String>,
    page: std::vec::IntoIter<AccountId>,
    /// Score and account of the last row read; `None` before the first query.
    last: Option<(f64, AccountId)>,
}

/// Returns SQL that reads one page of each queue by its index, and merges the pages. The parameters are the page size, the
/// last score, the last account, and the names of the queues.
fn page() -> String {
    let page = |(number, _class)| {
        format!(
            "SELECT * FROM (SELECT account_id, score FROM queue WHERE kind = ${} AND (score, account_id) > ($2, $3) \
             ORDER BY score, account_id LIMIT $1) AS page",
            number + 4
        )
    };
    let pages: Vec<String> = classes().enumerate().map(page).collect();
    format!("{} ORDER BY score, account_id LIMIT $1", pages.join(" UNION "))
}

static NEXT_ACCOUNTS: LazyLock<BuiltSql> = LazyLock::new(|| BuiltSql::same(page()));

/// Reserves the first account of the page that no other transaction has reserved. Because of `LIMIT 1`, the statement reserves
/// no further accounts.
static RESERVE_ACCOUNT: LazyLock<BuiltSql> = LazyLock::new(|| {
    BuiltSql::same(format!(
        "SELECT account_id, score FROM ({}) AS next WHERE pg_try_advisory_xact_lock(1, hashtext(account_id)) LIMIT 1",
        page()
    ))
});

impl QueueCursor {
    pub(crate) fn new(kind: Kind, takes: &Takes) -> Self {
        let name = |class| if takes.includes(class) { kind.queue(class) } else { String::new() };
        Self { queues: classes().map(name).collect(), page: Vec::new().into_iter(), last: None }
    }

    pub(crate) async fn next(&mut self, tx: &mut Tx) -> Result<Option<AccountId>> {
        if let Some(account) = self.page.next() {
            return Ok(Some(account));
        }
        let rows = tx.fetch_all(&NEXT_ACCOUNTS, &self.params(PAGE_ACCOUNTS)).await?;
        let accounts = rows.iter().map(|row| self.read(row)).collect::<Result<Vec<_>>>()?;
        self.page = accounts.into_iter();
        Ok(self.page.next())
    }

    /// Returns the next account that no other transaction has reserved, and reserves it until the end of this transaction. A
    /// transaction that has reserved an account claims work of it and raises its score, so other transactions can go on with
    /// the next account. Without reservations, simultaneous claims would all pick the same account and wait for each other.
    /// Returns `None` on SQLite, which has only one writer.
    pub(crate) async fn reserve_next(&mut self, tx: &mut Tx) -> Result<Option<AccountId>> {
        if !tx.is_postgres() {
            return Ok(None);
        }
        for accounts in [PAGE_ACCOUNTS, CROWDED_PAGE_ACCOUNTS] {
            if let Some(row) = tx.fetch_optional(&RESERVE_ACCOUNT, &self.params(accounts)).await? {
                return self.read(&row).map(Some);
            }
        }
        Ok(None)
    }

    fn params(&self, accounts: i64) -> Vec<Param> {
        let (score, id) = self.last.as_ref().map_or((f64::MIN, ""), |(score, id)| (*score, id.as_str()));
        let mut values = vec![Param::from(accounts), Param::from(score), Param::from(id)];
        values.extend(self.queues.iter().map(|name| Param::from(name.as_str())));
        values
    }

    fn read(&mut self, row: &Row) -> Result<AccountId> {
        let account = row.parsed("account_id", AccountId::parse)?;
        self.last = Some((row.real("score")?, account.clone()));
        Ok(account)
    }
}

fn heads_statement(kind: Kind) -> BuiltSql {
    let (queued, order) = (kind.queued(), kind.order());
    let head = |class: Option<WorkClass>| {
        format!(
            "SELECT * FROM (SELECT '{}' AS class, {order} FROM renders WHERE payer_id = $1 AND {} AND {queued} \
             ORDER BY {order} LIMIT 1) AS head",
            class.map_or("", WorkClass::as_str),
            is_of(class)
        )
    };
    let heads: Vec<String> = classes().map(head).collect();
    BuiltSql::same(format!("SELECT class FROM ({}) AS heads ORDER BY {order}", heads.join(" UNION ALL ")))
}

static RENDER_HEADS: LazyLock<BuiltSql> = LazyLock::new(|| heads_statement(Kind::Render));
static PACKAGE_HEADS: LazyLock<BuiltSql> = LazyLock::new(|| heads_statement(Kind::Package));

/// Lists the classes in which an account has queued work that the worker takes, ordered by the oldest render of each
/// class.
pub(crate) async fn heads(
    tx: &mut Tx,
    kind: Kind,
    account: &AccountId,
    takes: &Takes,
) -> Result<Vec<Option<WorkClass>>> {
    let sql = match kind {
        Kind::Render => &RENDER_HEADS,
        Kind::Package => &PACKAGE_HEADS,
    };
    let rows = tx.fetch_all(sql, params![account]).await?;
    let names = rows.iter().map(|row| row.text("class")).collect::<Result<Vec<_>>>()?;
    Ok(names.iter().map(|name| WorkClass::from_name(name)).filter(|class| takes.includes(*class)).collect())
}

fn leave_statement(kind: Kind, class: Option<WorkClass>) -> BuiltSql {
    BuiltSql::same(format!(
        "DELETE FROM queue WHERE kind = $1 AND account_id = $2 AND NOT EXISTS (SELECT 1 FROM renders \
         WHERE payer_id = $2 AND {} AND {})",
        is_of(class),
        kind.queued()
    ))
}

/// Statements that remove an account from the queue of one class, in the order of [`classes`].
static LEAVE_RENDERS: LazyLock<Vec<BuiltSql>> =
    LazyLock::new(|| classes().map(|class| leave_statement(Kind::Render, class)).collect());
static LEAVE_PACKAGING: LazyLock<Vec<BuiltSql>> =
    LazyLock::new(|| classes().map(|class| leave_statement(Kind::Package, class)).collect());

/// Builds a statement that locks the rows of an account in all queues of a kind, but skips rows that another transaction has
/// locked.
fn lock_statement(kind: Kind) -> BuiltSql {
    let names: Vec<String> = classes().map(|class| format!("'{}'", kind.queue(class))).collect();
    BuiltSql::locking(" FOR UPDATE SKIP LOCKED", |lock| {
        format!("SELECT kind FROM queue WHERE kind IN ({}) AND account_id = $1{lock}", names.join(", "))
    })
}

static LOCK_RENDERS: LazyLock<BuiltSql> = LazyLock::new(|| lock_statement(Kind::Render));
static LOCK_PACKAGING: LazyLock<BuiltSql> = LazyLock::new(|| lock_statement(Kind::Package));

/// Removes an account from those queues of the classes in `takes` in which it has no work left. Skips a queue to which another
/// transaction is adding work of the account.
pub(crate) async fn leave_if_empty(tx: &mut Tx, kind: Kind, account: &AccountId, takes: &Takes) -> Result<()> {
    let (lock, leave) = match kind {
        Kind::Render => (&LOCK_RENDERS, &*LEAVE_RENDERS),
        Kind::Package => (&LOCK_PACKAGING, &*LEAVE_PACKAGING),
    };
    let rows = tx.fetch_all(lock, params![account]).await?;
    let locked = rows.iter().map(|row| row.text("kind")).collect::<Result<BTreeSet<_>>>()?;
    for (class, statement) in classes().zip(leave).filter(|(class, _)| takes.includes(*class)) {
        let name = kind.queue(class);
        if locked.contains(&name) {
            // The statement sees all work that was queued before this transaction locked the row. A transaction that queues
            // more work waits for the lock.
            tx.execute(statement, params![name.as_str(), account]).await?;
        }
    }
    Ok(())
}

/// Starts to measure the time during which a worker slot processes the render `id`. Charges the time from `now` to `from`, which
/// must be at most a minute, to the account in advance. Without this charge, the account would keep its place at the head of the
/// queue.
pub async fn begin_slot(tx: &mut Tx, id: &RenderId, account: &AccountId, now: i64, from: i64) -> Result<()> {
    tx.execute("UPDATE renders SET slot_since = $2 WHERE id = $1", params![id, from]).await?;
    charge(tx, account, from - now, now).await
}

/// The time of a worker slot that [`charge_slot`] has not charged yet.
#[derive(Debug)]
#[must_use]
pub struct SlotTime {
    account: AccountId,
    used_ms: i64,
}

/// Measures the time of a worker slot up to `now`, for the account that pays for the render. Returns `None` if the lease is
/// lost, or if the slot's time is measured on another render that shares the frames. `is_last` ends the measurement,
/// because the slot becomes free. The transaction must then write its report, and call
/// [`charge_slot`] after that.
pub async fn measure_slot(
    tx: &mut Tx,
    id: &RenderId,
    token: &str,
    now: i64,
    is_last: bool,
) -> Result<Option<SlotTime>> {
    let sql = "SELECT payer_id, slot_since FROM renders WHERE id = $1 AND lease_token = $2 AND slot_since IS NOT NULL";
    let Some(row) = tx.fetch_optional(sql, params![id, token]).await? else { return Ok(None) };
    let (account, since) = (row.parsed("payer_id", AccountId::parse)?, row.int("slot_since")?);
    // If the clock was set back, the measurement starts again.
    let since = if since > now + MAX_ADVANCE_MS { now } else { since };
    let until = if is_last { None } else { Some(since.max(now)) };
    tx.execute("UPDATE renders SET slot_since = $2 WHERE id = $1", params![id, until]).await?;
    Ok(Some(SlotTime { account, used_ms: now - since }))
}

/// Charges the measured time of a worker slot. This locks the account's rows in the queues. A transaction that queues renders waits
/// for these rows while it holds the counters of a workspace. Therefore a transaction must change such counters, and queue renders,
/// before it calls this function. Otherwise two transactions could deadlock.
pub async fn charge_slot(tx: &mut Tx, time: Option<SlotTime>, now: i64) -> Result<()> {
    match time {
        Some(SlotTime { account, used_ms }) => charge(tx, &account, used_ms, now).await,
        None => Ok(()),
    }
}

/// Charges the time in which a worker drew a preview to the account that pays for renders of the workspace.
pub async fn charge_preview(tx: &mut Tx, account: &AccountId, used_ms: i64, now: i64) -> Result<()> {
    charge(tx, account, used_ms, now).await
}

async fn charge(tx: &mut Tx, account: &AccountId, used_ms: i64, now: i64) -> Result<()> {
    if used_ms <= 0 {
        return Ok(());
    }
    macro_rules! score {
        ($lock:literal) => {
            concat!(
                "SELECT score, (SELECT value FROM instance WHERE key = $2) AS ahead FROM shares WHERE account_id = $1",
                $lock
            )
        };
    }
    // Creates a missing row, so that the next statement can lock it.
    let sql = "INSERT INTO shares (account_id, score) VALUES ($1, $2) ON CONFLICT (account_id) DO NOTHING";
    tx.execute(sql, params![account, UNUSED]).await?;
    let sql = Sql { sqlite: score!(""), postgres: score!(" FOR UPDATE") };
    let row = tx.fetch_one(sql, params![account, share_time::AHEAD]).await?;
    let ahead = row.maybe_parsed("ahead", |value| value.parse::<i64>().ok())?.unwrap_or(0);
    let score = score_after(row.real("score")?, used_ms as f64 / 1000.0, now + ahead);
    tx.execute("UPDATE shares SET score = $2 WHERE account_id = $1", params![account, score]).await?;
    tx.execute(&SET_SCORE, params![account, score]).await.map(drop)
}

#[cfg(test)]
mod tests {
    use plinth_testkit::TestDatabase;

    use super::*;
    use crate::{Db, DbError, DbOptions, instance};

    /// Servers of several versions share the stored scores, so all must use the same unit and the same time.
    #[tokio::test(flavor = "multi_thread")]
    async fn worker_time_is_charged_in_seconds_at_the_time_of_the_fair_shares() {
        const HALF_LIVES: i64 = 3_000_000;
        for database in [TestDatabase::sqlite(), TestDatabase::postgres()] {
            let db = Db::open(database.address(), DbOptions::default()).await.unwrap();
            let charging = db.write(|tx| {
                Box::pin(async move {
                    let mut scores = Vec::new();
                    for (id, ahead_ms) in [("a00000000001", "0"), ("a00000000002", "600000")] {
                        instance::set(tx, share_time::AHEAD, ahead_ms).await?;
                        let account = AccountId::parse(id).unwrap();
                        charge_preview(tx, &account, 8_000, HALF_LIVES * 600_000).await?;
                        let row = tx.fetch_one("SELECT score FROM shares WHERE account_id = $1", params![id]).await?;
                        scores.push(row.real("score")?);
                    }
                    Ok::<_, DbError>(scores)
                })
            });
            // A score is the binary logarithm of the weighted seconds.
            for (score, half_lives) in charging.await.unwrap().into_iter().zip([HALF_LIVES, HALF_LIVES + 1]) {
                let expected = half_lives as f64 + 3.0;
                assert!((score - expected).abs() < 1e-6, "{score}, not {expected}");
            }
        }
    }
}
