//! Leases: which worker holds a render, and until when. Every write of a worker names its lease's token, so one that
//! has lost its lease changes nothing any more.

use std::sync::LazyLock;

use plinth_spec::FailureCode;
use plinth_spec::id::{AccountId, RenderId};
use plinth_spec::state::{HlsEvent, HlsStatus, RenderEvent, RenderStatus};

use crate::queue::{self, Kind, Walk};
use crate::renders::{Render, columns};
use crate::sql::{Sql, params, touched};
use crate::states::{Made, after, after_packaging, may, may_package};
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

/// Takes one of the renders that `pick` names, the first in this order.
// Locking readers skip rows that another claims at this moment. The pick is materialized: as a bare subquery some plans
// run it again and take more than the limit.
fn claiming(pick: &str, order: &str, set: &str) -> Made {
    Made::locking(" FOR UPDATE SKIP LOCKED", |lock| {
        format!(
            "WITH picked AS MATERIALIZED (SELECT id FROM renders WHERE {pick} AND deleted_at IS NULL \
             ORDER BY {order} LIMIT 1{lock}) \
             UPDATE renders SET {set}, lease_token = $1, lease_until = $2, worker = $3, {} \
             WHERE id IN (SELECT id FROM picked) AND lease_token IS NULL RETURNING {}",
            touched!("$4"),
            columns!()
        )
    })
}

fn claiming_render(pick: &str, order: &str) -> Made {
    let set = format!("attempt = attempt + 1, status = {}", after(RenderEvent::Claim));
    claiming(&format!("{pick} AND {}", may(RenderEvent::Claim)), order, &set)
}

static CLAIM_NEXT: LazyLock<Made> =
    LazyLock::new(|| claiming_render("payer_id = $5", "is_system_preview, created_at, id"));
static CLAIM_LIKE: LazyLock<Made> =
    LazyLock::new(|| claiming_render("model_id = $5 AND frames_sha256 = $6", "created_at, id"));
static CLAIM_PACKAGING: LazyLock<Made> = LazyLock::new(|| {
    let set = format!("hls_attempt = hls_attempt + 1, hls_status = {}", after_packaging(HlsEvent::Claim));
    claiming(&format!("payer_id = $5 AND {}", may_package(HlsEvent::Claim)), "created_at, id", &set)
});

/// Takes what comes next: of the account that used the least slot time lately, the render that has waited longest, previews
/// of uploads last; or its finished render that has waited longest for its packaging.
pub async fn claim(tx: &mut Tx, kind: Kind, lease: &Lease, now: i64) -> Result<Option<Render>> {
    let sql = match kind {
        Kind::Render => &CLAIM_NEXT,
        Kind::Package => &CLAIM_PACKAGING,
    };
    let mut walk = Walk::new(kind);
    while let Some(account) = walk.next(tx).await? {
        let params = params![lease.token.as_str(), lease.until, lease.worker.as_str(), now, &account];
        if let Some(row) = tx.fetch_optional(sql, params).await? {
            return Render::of(&row).map(Some);
        }
        queue::leave_if_empty(tx, kind, &account).await?;
    }
    Ok(None)
}

/// Takes the render that has waited longest of those with the frames of another.
pub async fn claim_like(tx: &mut Tx, lease: &Lease, like: &Render, now: i64) -> Result<Option<Render>> {
    let (model, frames) = (&like.model_id, like.frames_sha256.as_str());
    let params = params![lease.token.as_str(), lease.until, lease.worker.as_str(), now, model, frames];
    tx.fetch_optional(&CLAIM_LIKE, params).await?.as_ref().map(Render::of).transpose()
}

/// Prolongs a lease. False: it is lost.
pub async fn renew(tx: &mut Tx, id: &RenderId, token: &str, until: i64) -> Result<bool> {
    let sql = "UPDATE renders SET lease_until = $3 WHERE id = $1 AND lease_token = $2";
    Ok(tx.execute(sql, params![id, token, until]).await? == 1)
}

/// The render that a token holds.
pub async fn find_held(conn: &mut Conn, id: &RenderId, token: &str) -> Result<Option<Render>> {
    let sql = concat!("SELECT ", columns!(), " FROM renders WHERE id = $1 AND lease_token = $2");
    conn.fetch_optional(sql, params![id, token]).await?.as_ref().map(Render::of).transpose()
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
    let sql = concat!(
        "UPDATE renders SET status = $4, hls_status = $5, failure_code = $6, \
         error_message = coalesce($7, error_message), warnings = coalesce($8, warnings), \
         poster_attempt = coalesce($9, poster_attempt), files_attempt = coalesce($10, files_attempt), \
         files = coalesce($11, files), lease_until = CASE WHEN $12 THEN NULL ELSE lease_until END, \
         worker = CASE WHEN $12 THEN NULL ELSE worker END, \
         lease_token = CASE WHEN $12 THEN NULL ELSE lease_token END, ",
        touched!("$13"),
        " WHERE id = $1 AND lease_token = $2 AND status = $3 RETURNING payer_id"
    );
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
        } else if r.to == RenderStatus::Done && r.hls.after(HlsEvent::Claim).is_some() {
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
    let sql = concat!(
        "UPDATE renders SET status = $4, losses = losses + 1, poster_attempt = NULL, \
         lease_until = NULL, worker = NULL, lease_token = NULL, ",
        touched!("$5"),
        " WHERE id = $1 AND lease_token = $2 AND status = $3 RETURNING payer_id"
    );
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
        .map(|row| Ok(Lost { token: row.text("lease_token")?, losses: row.int("losses")?, render: Render::of(row)? }))
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
