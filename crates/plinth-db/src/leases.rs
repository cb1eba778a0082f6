//! Leases: which worker holds a render, and until when. Every write of a worker names its lease's token, so one that
//! has lost its lease changes nothing any more.

use plinth_spec::FailureCode;
use plinth_spec::id::{AccountId, RenderId};
use plinth_spec::state::{HlsStatus, RenderEvent, RenderStatus};

use crate::queue::{self, Kind, Walk};
use crate::renders::{Render, columns, render};
use crate::sql::{Sql, params};
use crate::{Conn, Result, Tx};

/// A worker's hold on renders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// Random; proves the hold.
    pub token: String,
    /// When it ends unless it is renewed.
    pub until: i64,
    /// Who has it, for people.
    pub worker: String,
}

/// A render whose lease has run out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    /// The render.
    pub render: Render,
    /// The token it was held by.
    pub token: String,
    /// How often its worker was lost before.
    pub losses: i64,
}

// Locking readers skip rows that another claims at this moment. The pick is materialized: as a bare subquery some plans
// run it again and take more than the limit.
macro_rules! claim {
    ($pick:literal, $order:literal, $lock:literal, $set:literal) => {
        concat!(
            "WITH picked AS MATERIALIZED (SELECT id FROM renders WHERE ",
            $pick,
            " AND deleted_at IS NULL ORDER BY ",
            $order,
            " LIMIT 1",
            $lock,
            ") UPDATE renders SET ",
            $set,
            ", lease_token = $1, lease_until = $2, worker = $3, \
             updated_at = CASE WHEN updated_at < $4 THEN $4 ELSE updated_at + 1 END \
             WHERE id IN (SELECT id FROM picked) AND lease_token IS NULL RETURNING ",
            columns!()
        )
    };
}
macro_rules! claim_render {
    ($pick:literal, $order:literal, $lock:literal) => {
        claim!(
            $pick,
            $order,
            $lock,
            "attempt = attempt + 1, \
             status = CASE WHEN status = 'pending' THEN 'poster-processing' ELSE 'video-processing' END"
        )
    };
}
macro_rules! claim_next {
    ($lock:literal) => {
        claim_render!(
            "payer_id = $5 AND status IN ('pending', 'poster-done')",
            "is_system_preview, created_at, id",
            $lock
        )
    };
}
macro_rules! claim_like {
    ($lock:literal) => {
        claim_render!(
            "model_id = $5 AND frames_sha256 = $6 AND status IN ('pending', 'poster-done')",
            "created_at, id",
            $lock
        )
    };
}
macro_rules! claim_hls {
    ($lock:literal) => {
        claim!(
            "payer_id = $5 AND status = 'done' AND hls_status = 'pending'",
            "created_at, id",
            $lock,
            "hls_attempt = hls_attempt + 1, hls_status = 'processing'"
        )
    };
}

/// Takes what comes next: of the account that used the least slot time lately, the render that has waited longest, previews
/// of uploads last; or its finished render that has waited longest for its packaging.
pub async fn claim(tx: &mut Tx, kind: Kind, lease: &Lease, now: i64) -> Result<Option<Render>> {
    let sql = match kind {
        Kind::Render => Sql { sqlite: claim_next!(""), postgres: claim_next!(" FOR UPDATE SKIP LOCKED") },
        Kind::Package => Sql { sqlite: claim_hls!(""), postgres: claim_hls!(" FOR UPDATE SKIP LOCKED") },
    };
    let mut walk = Walk::new(kind);
    while let Some(account) = walk.next(tx).await? {
        let params = params![lease.token.as_str(), lease.until, lease.worker.as_str(), now, &account];
        if let Some(row) = tx.fetch_optional(sql, params).await? {
            return render(&row).map(Some);
        }
        queue::leave_if_empty(tx, kind, &account).await?;
    }
    Ok(None)
}

/// Takes the render that has waited longest of those with the frames of another.
pub async fn claim_like(tx: &mut Tx, lease: &Lease, like: &Render, now: i64) -> Result<Option<Render>> {
    let sql = Sql { sqlite: claim_like!(""), postgres: claim_like!(" FOR UPDATE SKIP LOCKED") };
    let (model, frames) = (&like.model_id, like.frames_sha256.as_str());
    let params = params![lease.token.as_str(), lease.until, lease.worker.as_str(), now, model, frames];
    tx.fetch_optional(sql, params).await?.as_ref().map(render).transpose()
}

/// Prolongs a lease. False: it is lost.
pub async fn renew(tx: &mut Tx, id: &RenderId, token: &str, until: i64) -> Result<bool> {
    let sql = "UPDATE renders SET lease_until = $3 WHERE id = $1 AND lease_token = $2";
    Ok(tx.execute(sql, params![id, token, until]).await? == 1)
}

/// The render that a token holds.
pub async fn find_held(conn: &mut Conn, id: &RenderId, token: &str) -> Result<Option<Render>> {
    let sql = concat!("SELECT ", columns!(), " FROM renders WHERE id = $1 AND lease_token = $2");
    conn.fetch_optional(sql, params![id, token]).await?.as_ref().map(render).transpose()
}

/// What a worker's report changes in a render it holds.
#[derive(Clone, Debug)]
pub struct Report {
    /// The state it was in.
    pub from: RenderStatus,
    /// The state it comes to.
    pub to: RenderStatus,
    /// Where the packaging stands afterwards.
    pub hls: HlsStatus,
    /// What went wrong, for programs.
    pub failure_code: Option<FailureCode>,
    /// What went wrong, for people.
    pub error_message: Option<String>,
    /// What was missing, as a JSON list of texts; none: as before.
    pub warnings: Option<String>,
    /// The attempt whose poster counts; none: as before.
    pub poster_attempt: Option<i64>,
    /// The attempt whose files count; none: as before.
    pub files_attempt: Option<i64>,
    /// Which files there are, as JSON; none: as before.
    pub files: Option<String>,
    /// Whether the worker gives the render back.
    pub is_last: bool,
}

/// Writes a report. False: the lease is lost, or the state was another one; then nothing changed.
pub async fn report(tx: &mut Tx, id: &RenderId, token: &str, report: &Report, now: i64) -> Result<bool> {
    let sql = "UPDATE renders SET status = $4, hls_status = $5, failure_code = $6, \
               error_message = coalesce($7, error_message), warnings = coalesce($8, warnings), \
               poster_attempt = coalesce($9, poster_attempt), files_attempt = coalesce($10, files_attempt), \
               files = coalesce($11, files), \
               lease_until = CASE WHEN $12 THEN NULL ELSE lease_until END, \
               worker = CASE WHEN $12 THEN NULL ELSE worker END, \
               lease_token = CASE WHEN $12 THEN NULL ELSE lease_token END, \
               updated_at = CASE WHEN updated_at < $13 THEN $13 ELSE updated_at + 1 END \
               WHERE id = $1 AND lease_token = $2 AND status = $3 RETURNING payer_id";
    let r = report;
    let params = params![
        id,
        token,
        r.from.as_str(),
        r.to.as_str(),
        r.hls.as_str(),
        r.failure_code.map(FailureCode::as_str),
        r.error_message.as_deref(),
        r.warnings.as_deref(),
        r.poster_attempt,
        r.files_attempt,
        r.files.as_deref(),
        r.is_last,
        now,
    ];
    let Some(row) = tx.fetch_optional(sql, params).await? else { return Ok(false) };
    if r.is_last {
        let payer = row.parsed("payer_id", AccountId::parse)?;
        if r.to.after(RenderEvent::Claim).is_some() {
            queue::enter(tx, Kind::Render, &payer).await?;
        } else if r.to == RenderStatus::Done && r.hls == HlsStatus::Pending {
            queue::enter(tx, Kind::Package, &payer).await?;
        }
    }
    Ok(true)
}

/// Puts a render whose worker was lost back into the queue: whatever it has stored no longer counts. False: the lease is
/// another one, or the state was.
pub async fn requeue_lost(
    tx: &mut Tx,
    id: &RenderId,
    token: &str,
    from: RenderStatus,
    to: RenderStatus,
    now: i64,
) -> Result<bool> {
    let sql = "UPDATE renders SET status = $4, losses = losses + 1, poster_attempt = NULL, \
               lease_until = NULL, worker = NULL, lease_token = NULL, \
               updated_at = CASE WHEN updated_at < $5 THEN $5 ELSE updated_at + 1 END \
               WHERE id = $1 AND lease_token = $2 AND status = $3 RETURNING payer_id";
    let params = params![id, token, from.as_str(), to.as_str(), now];
    let Some(row) = tx.fetch_optional(sql, params).await? else { return Ok(false) };
    queue::enter(tx, Kind::Render, &row.parsed("payer_id", AccountId::parse)?).await?;
    Ok(true)
}

/// Renders whose lease has run out, the longest first.
pub async fn list_lost(conn: &mut Conn, now: i64, limit: u32) -> Result<Vec<Lost>> {
    let sql = concat!(
        "SELECT lease_token, losses, ",
        columns!(),
        " FROM renders WHERE lease_token IS NOT NULL AND lease_until < $1 ORDER BY lease_until LIMIT $2"
    );
    let rows = conn.fetch_all(sql, params![now, i64::from(limit)]).await?;
    rows.iter()
        .map(|row| Ok(Lost { token: row.text("lease_token")?, losses: row.int("losses")?, render: render(row)? }))
        .collect()
}

/// Whether this lease has run out. Holds the render against a worker that renews at this moment.
pub async fn is_lost(tx: &mut Tx, id: &RenderId, token: &str, now: i64) -> Result<bool> {
    macro_rules! held {
        ($lock:literal) => {
            concat!("SELECT id FROM renders WHERE id = $1 AND lease_token = $2 AND lease_until < $3", $lock)
        };
    }
    let sql = Sql { sqlite: held!(""), postgres: held!(" FOR UPDATE") };
    Ok(tx.fetch_optional(sql, params![id, token, now]).await?.is_some())
}
