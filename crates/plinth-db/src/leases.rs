//! Leases: a worker claims a render for a limited time. Each write of the worker checks the token of its lease, so a
//! worker whose lease has expired cannot change the render.

use std::sync::LazyLock;

use plinth_spec::id::{AccountId, RenderId, WorkspaceId};
use plinth_spec::state::{HlsEvent, HlsStatus, RenderEvent, RenderStatus};
use plinth_spec::{FailureCode, Takes, WorkClass};

use crate::queue::{self, Kind, QueueCursor};
use crate::renders::{Render, columns};
use crate::row::Row;
use crate::sql::{Sql, params, touched};
use crate::states::{BuiltSql, after, after_packaging, may, may_package};
use crate::{Conn, DbError, Result, Tx, storage};

/// Maximum number of accounts without queued work that a successful claim removes from the queue.
const MAX_LEAVING: usize = 4;

/// A worker that claims renders.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Worker {
    /// Display name.
    pub name: String,
    /// Pool that the worker belongs to; empty if it belongs to none.
    pub pool: String,
    /// Classes of renders that the worker claims.
    pub takes: Takes,
}

impl From<&str> for Worker {
    /// Returns a worker that belongs to no pool and claims renders of every class.
    fn from(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }
}

/// A worker's claim on renders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// Random secret that identifies the lease.
    pub token: String,
    /// Time of expiry, unless the lease is renewed.
    pub until: i64,
    pub worker: Worker,
}

/// A render whose lease has expired.
#[derive(Clone, Debug, PartialEq)]
pub struct Lost {
    pub render: Render,
    /// Token of the expired lease.
    pub token: String,
    /// Number of earlier leases that expired: those of the packaging if the render is being packaged, otherwise those of
    /// the render.
    pub losses: i64,
}

/// Builds a statement that claims the first render, in the given order, for which the SQL condition `pick` is true. The
/// condition's parameters are `$6` and following.
// SKIP LOCKED skips rows that another transaction is claiming. Without MATERIALIZED, some query plans run the subquery
// more than once, and the statement then claims more rows than the limit.
fn claim_statement(pick: &str, order: &str, set: &str) -> BuiltSql {
    BuiltSql::locking(" FOR UPDATE SKIP LOCKED", |lock| {
        format!(
            "WITH picked AS MATERIALIZED (SELECT id FROM renders WHERE {pick} AND deleted_at IS NULL \
             ORDER BY {order} LIMIT 1{lock}) \
             UPDATE renders SET {set}, lease_token = $1, lease_until = $2, lease_ms = $2 - $5, worker = $3, \
             worker_pool = $4, {} \
             WHERE id IN (SELECT id FROM picked) AND lease_token IS NULL RETURNING {}",
            touched!("$5"),
            columns!()
        )
    })
}

fn claim_render_statement(pick: &str, order: &str) -> BuiltSql {
    let set = format!("attempt = attempt + 1, status = {}", after(RenderEvent::Claim));
    claim_statement(&format!("{pick} AND {}", may(RenderEvent::Claim)), order, &set)
}

fn claim_packaging_statement(class: &str) -> BuiltSql {
    let set = format!("hls_attempt = hls_attempt + 1, hls_status = {}", after_packaging(HlsEvent::Claim));
    let pick = format!("payer_id = $6 AND {class} AND {}", may_package(HlsEvent::Claim));
    claim_statement(&pick, Kind::Package.order(), &set)
}

fn claim_class_statement(class: &str) -> BuiltSql {
    claim_render_statement(&format!("payer_id = $6 AND {class}"), Kind::Render.order())
}

// Rows with a class and rows without one need separate statements: `=` does not match NULL, and an index cannot serve
// one condition that matches both.
static CLAIM_RENDER: LazyLock<BuiltSql> = LazyLock::new(|| claim_class_statement("work_class = $7"));
static CLAIM_OLD_RENDER: LazyLock<BuiltSql> = LazyLock::new(|| claim_class_statement("work_class IS NULL"));
static CLAIM_PACKAGING: LazyLock<BuiltSql> = LazyLock::new(|| claim_packaging_statement("work_class = $7"));
static CLAIM_OLD_PACKAGING: LazyLock<BuiltSql> = LazyLock::new(|| claim_packaging_statement("work_class IS NULL"));
static CLAIM_LIKE: LazyLock<BuiltSql> = LazyLock::new(|| {
    claim_render_statement("model_id = $6 AND frames_sha256 = $7 AND work_class = $8", "created_at, id")
});
static CLAIM_OLD_LIKE: LazyLock<BuiltSql> = LazyLock::new(|| {
    claim_render_statement("model_id = $6 AND frames_sha256 = $7 AND work_class IS NULL", "created_at, id")
});

/// Builds the parameters of a claim statement: the lease, then the parameters of its condition.
macro_rules! claim_params {
    ($lease:expr, $now:expr, $($more:expr),+) => {
        params![
            $lease.token.as_str(), $lease.until, $lease.worker.name.as_str(), $lease.worker.pool.as_str(), $now, $($more),+
        ]
    };
}

/// Claims the next render of a class that the worker takes: a queued render, or a finished render that is queued for
/// packaging, as `kind` says. Picks the account that recently used the least worker time, then the account's oldest
/// queued render. An account's system previews come after its other renders.
pub async fn claim(tx: &mut Tx, kind: Kind, lease: &Lease, now: i64) -> Result<Option<Render>> {
    let takes = &lease.worker.takes;
    let mut empty = Vec::new();
    let render = claim_by_turn(tx, kind, lease, now, &mut empty).await?;
    // Accounts without work leave the queue at the end of the transaction, because their rows stay locked until the commit. After a
    // successful claim, most of them are left to the next claims, so that the worker can start to render.
    let most = if render.is_some() { MAX_LEAVING } else { empty.len() };
    for account in empty.iter().take(most) {
        queue::leave_if_empty(tx, kind, account, takes).await?;
    }
    Ok(render)
}

/// Claims the next render, and adds accounts in which it found no work to `empty`.
async fn claim_by_turn(
    tx: &mut Tx,
    kind: Kind,
    lease: &Lease,
    now: i64,
    empty: &mut Vec<AccountId>,
) -> Result<Option<Render>> {
    let mut cursor = QueueCursor::new(kind, &lease.worker.takes);
    while let Some(account) = cursor.reserve_next(tx).await? {
        match claim_of_account(tx, kind, &account, lease, now).await? {
            Some(render) => return Ok(Some(render)),
            None => empty.push(account),
        }
    }
    // Other transactions have reserved all remaining accounts, or the database is SQLite, which has no reservations. So this
    // transaction claims a render of an account without reserving it.
    let mut cursor = QueueCursor::new(kind, &lease.worker.takes);
    while let Some(account) = cursor.next(tx).await? {
        if empty.contains(&account) {
            continue;
        }
        match claim_of_account(tx, kind, &account, lease, now).await? {
            Some(render) => return Ok(Some(render)),
            None => empty.push(account),
        }
    }
    Ok(None)
}

async fn claim_of_account(
    tx: &mut Tx,
    kind: Kind,
    account: &AccountId,
    lease: &Lease,
    now: i64,
) -> Result<Option<Render>> {
    for class in queue::heads(tx, kind, account, &lease.worker.takes).await? {
        if let Some(render) = claim_class(tx, (kind, class), account, lease, now).await? {
            return Ok(Some(render));
        }
    }
    Ok(None)
}

async fn claim_class(
    tx: &mut Tx,
    work: (Kind, Option<WorkClass>),
    account: &AccountId,
    lease: &Lease,
    now: i64,
) -> Result<Option<Render>> {
    let row = match work {
        (kind, Some(class)) => {
            let sql = if kind == Kind::Render { &CLAIM_RENDER } else { &CLAIM_PACKAGING };
            tx.fetch_optional(sql, claim_params!(lease, now, account, class.as_str())).await?
        }
        (kind, None) => {
            let sql = if kind == Kind::Render { &CLAIM_OLD_RENDER } else { &CLAIM_OLD_PACKAGING };
            tx.fetch_optional(sql, claim_params!(lease, now, account)).await?
        }
    };
    row.as_ref().map(Render::of).transpose()
}

/// Claims the oldest queued render with the same frames and the same class as `like`.
pub async fn claim_like(tx: &mut Tx, lease: &Lease, like: &Render, now: i64) -> Result<Option<Render>> {
    let (model, frames) = (&like.model_id, like.frames_sha256.as_str());
    let row = match like.work_class {
        Some(class) => tx.fetch_optional(&CLAIM_LIKE, claim_params!(lease, now, model, frames, class.as_str())).await?,
        None => tx.fetch_optional(&CLAIM_OLD_LIKE, claim_params!(lease, now, model, frames)).await?,
    };
    row.as_ref().map(Render::of).transpose()
}

/// Renews a lease. Returns false if the render no longer has a lease with this token.
pub async fn renew(tx: &mut Tx, id: &RenderId, token: &str, until: i64) -> Result<bool> {
    let sql = "UPDATE renders SET lease_until = $3 WHERE id = $1 AND lease_token = $2";
    Ok(tx.execute(sql, params![id, token, until]).await? == 1)
}

/// Finds a render by its identifier. Returns `None` if its lease does not have this token. The render's row stays locked until the
/// transaction ends, so that an earlier report, which a worker that was told to stop does not wait for, cannot change the state
/// before this transaction writes its own report.
pub async fn find_leased(tx: &mut Tx, id: &RenderId, token: &str) -> Result<Option<Render>> {
    macro_rules! held {
        ($lock:literal) => {
            concat!("SELECT ", columns!(), " FROM renders WHERE id = $1 AND lease_token = $2", $lock)
        };
    }
    let sql = Sql { sqlite: held!(""), postgres: held!(" FOR UPDATE") };
    tx.fetch_optional(sql, params![id, token]).await?.as_ref().map(Render::of).transpose()
}

/// Changes that a worker reports for a render it has claimed.
#[derive(Clone, Debug)]
pub struct Report {
    /// State before the report.
    pub from: RenderStatus,
    /// State after the report.
    pub to: RenderStatus,
    /// State of the HLS packaging after the report.
    pub hls: HlsStatus,
    /// Code and message of the failure; `None` if the render did not fail.
    pub failure: Option<(FailureCode, String)>,
    /// Warnings about items that the model or the store lacks, as a JSON array of strings; `None` leaves the stored
    /// warnings unchanged.
    pub warnings: Option<String>,
    /// Number of the attempt whose poster is valid; `None` leaves the stored number unchanged.
    pub poster_attempt: Option<i64>,
    /// Number of the attempt whose files are valid; `None` leaves the stored number unchanged.
    pub files_attempt: Option<i64>,
    /// List of output files, as JSON; `None` leaves the stored list unchanged.
    pub files: Option<String>,
    /// Number of bytes that the worker has stored for the render and that the report publishes.
    pub stored_bytes: Option<u64>,
    /// Whether the report ends the lease.
    pub is_last: bool,
}

impl Report {
    /// Creates a report that changes only the state of the render, and that of the HLS packaging to `hls`, and does not end the lease.
    pub const fn new(from: RenderStatus, to: RenderStatus, hls: HlsStatus) -> Self {
        Self {
            from,
            to,
            hls,
            failure: None,
            warnings: None,
            poster_attempt: None,
            files_attempt: None,
            files: None,
            stored_bytes: None,
            is_last: false,
        }
    }
}

/// Writes a report, and adds the published bytes to the counter of the workspace. The bytes are not counted if an earlier version of
/// the program finished the render without storing its size: [`storage::measure`] later counts all files of such a render. Changes
/// nothing and returns false if the lease is lost or the render is not in state `from`.
pub async fn report(tx: &mut Tx, id: &RenderId, token: &str, report: &Report, now: i64) -> Result<bool> {
    let sql = concat!(
        "UPDATE renders SET status = $4, hls_status = $5, failure_code = $6, \
         error_message = coalesce($7, error_message), warnings = coalesce($8, warnings), \
         poster_attempt = coalesce($9, poster_attempt), files_attempt = coalesce($10, files_attempt), \
         files = coalesce($11, files), \
         stored_bytes = CASE WHEN CAST($14 AS BIGINT) IS NULL OR (stored_bytes IS NULL AND CAST($11 AS TEXT) IS NULL) \
         THEN stored_bytes ELSE coalesce(stored_bytes, 0) + $14 END, \
         lease_until = CASE WHEN $12 THEN NULL ELSE lease_until END, \
         worker = CASE WHEN $12 THEN NULL ELSE worker END, \
         lease_token = CASE WHEN $12 THEN NULL ELSE lease_token END, \
         lease_ms = CASE WHEN $12 THEN NULL ELSE lease_ms END, ",
        touched!("$13"),
        " WHERE id = $1 AND lease_token = $2 AND status = $3 RETURNING payer_id, work_class, workspace_id, stored_bytes"
    );
    let r = report;
    let stored = r.stored_bytes.map(u64::cast_signed);
    let params = params![
        id,
        token,
        r.from.as_str(),
        r.to.as_str(),
        r.hls.as_str(),
        r.failure.as_ref().map(|(code, _message)| code.as_str()),
        r.failure.as_ref().map(|(_code, message)| message.as_str()),
        r.warnings.as_deref(),
        r.poster_attempt,
        r.files_attempt,
        r.files.as_deref(),
        r.is_last,
        now,
        stored,
    ];
    let Some(row) = tx.fetch_optional(sql, params).await? else { return Ok(false) };
    if let (Some(bytes), Some(_total)) = (stored, row.maybe_int("stored_bytes")?) {
        storage::add(tx, &row.parsed("workspace_id", WorkspaceId::parse)?, bytes).await?;
    }
    if r.is_last {
        let (payer, class) = payer_and_class(&row)?;
        if r.to.after(RenderEvent::Claim).is_some() {
            queue::enter(tx, Kind::Render, [class], &payer).await?;
        } else if r.to == RenderStatus::Done && r.hls.after(HlsEvent::Claim).is_some() {
            queue::enter(tx, Kind::Package, [class], &payer).await?;
        }
    }
    Ok(true)
}

/// Requeues a render whose lease has expired, counts the loss, and discards the poster of the interrupted attempt. Returns
/// false if the render has another lease or is not in state `from`.
pub async fn requeue_lost(
    tx: &mut Tx,
    id: &RenderId,
    token: &str,
    from: RenderStatus,
    to: RenderStatus,
    now: i64,
) -> Result<bool> {
    let sql = concat!(
        "UPDATE renders SET status = $4, losses = losses + 1, poster_attempt = NULL, \
         lease_until = NULL, lease_ms = NULL, worker = NULL, lease_token = NULL, ",
        touched!("$5"),
        " WHERE id = $1 AND lease_token = $2 AND status = $3 RETURNING payer_id, work_class"
    );
    let params = params![id, token, from.as_str(), to.as_str(), now];
    let Some(row) = tx.fetch_optional(sql, params).await? else { return Ok(false) };
    let (payer, class) = payer_and_class(&row)?;
    queue::enter(tx, Kind::Render, [class], &payer).await?;
    Ok(true)
}

/// Requeues the packaging of a render whose lease has expired, and counts the loss. Returns false if the render has
/// another lease or is not being packaged.
pub async fn requeue_lost_packaging(tx: &mut Tx, id: &RenderId, token: &str, now: i64) -> Result<bool> {
    static SQL: LazyLock<BuiltSql> = LazyLock::new(|| {
        BuiltSql::same(format!(
            "UPDATE renders SET hls_status = {}, hls_losses = hls_losses + 1, \
             lease_until = NULL, lease_ms = NULL, worker = NULL, lease_token = NULL, {} \
             WHERE id = $1 AND lease_token = $2 AND {} RETURNING payer_id, work_class",
            after_packaging(HlsEvent::Lose),
            touched!("$3"),
            may_package(HlsEvent::Lose)
        ))
    });
    let Some(row) = tx.fetch_optional(&SQL, params![id, token, now]).await? else { return Ok(false) };
    let (payer, class) = payer_and_class(&row)?;
    queue::enter(tx, Kind::Package, [class], &payer).await?;
    Ok(true)
}

fn payer_and_class(row: &Row) -> Result<(AccountId, Option<WorkClass>)> {
    Ok((row.parsed("payer_id", AccountId::parse)?, row.maybe_parsed("work_class", WorkClass::from_name)?))
}

/// Lists renders whose lease has expired, the earliest expiry first. Logs and skips rows that cannot be read, so that the other
/// renders can be requeued.
pub async fn list_lost(conn: &mut Conn, now: i64, limit: u32) -> Result<Vec<Lost>> {
    let sql = concat!(
        "SELECT lease_token, CASE WHEN hls_status = $3 THEN hls_losses ELSE losses END AS losses, ",
        columns!(),
        " FROM renders WHERE lease_token IS NOT NULL AND lease_until < $1 ORDER BY lease_until LIMIT $2"
    );
    let rows = conn.fetch_all(sql, params![now, i64::from(limit), HlsStatus::Processing.as_str()]).await?;
    Ok(rows.iter().filter_map(readable).collect())
}

fn readable(row: &Row) -> Option<Lost> {
    let lost = || {
        Ok::<_, DbError>(Lost { token: row.text("lease_token")?, losses: row.int("losses")?, render: Render::of(row)? })
    };
    lost()
        .inspect_err(|error| {
            let id = row.text("id").unwrap_or_default();
            tracing::error!(render.id = id, %error, "a render with an expired lease cannot be read; it is not requeued");
        })
        .ok()
}

/// Returns whether the lease has expired. If so, the render's row stays locked until the transaction ends, so that the worker cannot
/// renew the lease in the meantime.
pub async fn is_lost(tx: &mut Tx, id: &RenderId, token: &str, now: i64) -> Result<bool> {
    macro_rules! held {
        ($lock:literal) => {
            concat!("SELECT id FROM renders WHERE id = $1 AND lease_token = $2 AND lease_until < $3", $lock)
        };
    }
    let sql = Sql { sqlite: held!(""), postgres: held!(" FOR UPDATE") };
    Ok(tx.fetch_optional(sql, params![id, token, now]).await?.is_some())
}

#[cfg(test)]
mod tests {
    use plinth_testkit::TestDatabase;

    use super::*;
    use crate::{Db, DbOptions};

    const ROWS: [&str; 4] = [
        "INSERT INTO accounts (id, email, is_admin, paid, free, created_at) VALUES ('aaaaaaaaaaaa', 'a', FALSE, 0, 0, 0)",
        "INSERT INTO workspaces (id, name, owner_id, is_personal, created_at) \
         VALUES ('wwwwwwwwwwww', 'w', 'aaaaaaaaaaaa', TRUE, 0)",
        "INSERT INTO models (id, workspace_id, original_name, file_size, sha256, animations, animation_count, status, \
         created_at, updated_at) VALUES ('mmmmmmmmmmmm', 'wwwwwwwwwwww', 'm', 1, '', '[]', 0, 'active', 0, 0)",
        // The first row has a failure code that this version does not know, as if a later version had stored it.
        "INSERT INTO renders (id, workspace_id, model_id, payer_id, settings, settings_sha256, replay_key, replay_ordinal, \
         is_system_preview, credits, status, hls_status, failure_code, warnings, attempt, hls_attempt, lease_token, \
         lease_until, created_at, updated_at) SELECT id, 'wwwwwwwwwwww', 'mmmmmmmmmmmm', 'aaaaaaaaaaaa', '{}', '', '', 0, \
         FALSE, 0, 'poster-processing', 'pending', code, '[]', 1, 0, token, 10, 0, 0 \
         FROM (SELECT 'r00000000001' AS id, 'unknown' AS code, 'one' AS token \
         UNION ALL SELECT 'r00000000002', NULL, 'two') found",
    ];

    #[tokio::test(flavor = "multi_thread")]
    async fn an_unreadable_row_does_not_hide_other_lost_leases() {
        for database in [TestDatabase::sqlite(), TestDatabase::postgres()] {
            let db = Db::open(database.address(), DbOptions::default()).await.unwrap();
            let lost = db.write(|tx| {
                Box::pin(async move {
                    for sql in ROWS {
                        tx.execute(sql, params![]).await?;
                    }
                    list_lost(tx, 11, 9).await
                })
            });
            let lost = lost.await.unwrap();
            assert_eq!(lost.iter().map(|one| one.token.as_str()).collect::<Vec<_>>(), ["two"]);
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn an_account_without_work_leaves_the_queue() {
        for database in [TestDatabase::sqlite(), TestDatabase::postgres()] {
            let db = Db::open(database.address(), DbOptions::default()).await.unwrap();
            let counts = db.write(|tx| {
                Box::pin(async move {
                    let account = AccountId::parse("aaaaaaaaaaaa").unwrap();
                    let count = "SELECT count(*) AS n FROM queue";
                    tx.execute(ROWS[0], params![]).await?;
                    queue::enter(tx, Kind::Render, [None, Some(WorkClass::Pro)], &account).await?;
                    let before = tx.fetch_one(count, params![]).await?.count("n")?;
                    let lease = Lease { token: "t".to_owned(), until: 10, worker: "w".into() };
                    assert_eq!(claim(tx, Kind::Render, &lease, 5).await?.map(|render| render.id), None);
                    Ok::<_, DbError>((before, tx.fetch_one(count, params![]).await?.count("n")?))
                })
            });
            assert_eq!(counts.await.unwrap(), (2, 0));
        }
    }
}
