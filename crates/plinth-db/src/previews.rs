//! Previews that a worker in another process draws: requests, leases and pictures.

use std::sync::{Arc, LazyLock};

use plinth_spec::id::{AccountId, ModelId, WorkspaceId};
use plinth_spec::names;

use crate::listen;
use crate::row::Row;
use crate::sql::{Param, params};
use crate::states::BuiltSql;
use crate::{Conn, Result, Tx};

/// Class of the advisory lock that [`claim`] takes, so that two workers never draw for the same account at the same time.
/// Class 1 is the class of the queue's locks.
const CLAIM_LOCK: i64 = 2;

/// Identifies a request. An open page has at most one request per model; a newer request replaces the earlier one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestKey {
    /// Account that sent the request.
    pub account_id: AccountId,
    /// Model to draw.
    pub model_id: ModelId,
    /// Identifier that the page chose for itself. Pages of other accounts may have the same identifier.
    pub page_id: String,
    /// Random identifier of this request.
    pub request_id: String,
}

/// A request for a preview.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Identifies the request.
    pub key: RequestKey,
    /// Workspace of the model.
    pub workspace_id: WorkspaceId,
    /// Account that pays for the renders of the workspace. Only one preview at a time is drawn for this account.
    pub payer_id: AccountId,
    /// Serialized description of the frame to draw; this crate does not parse it.
    pub request: String,
}

/// The reason why a preview could not be drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// The model, the settings or an asset is the cause. The message is for the user.
    OfRequest(String),
    /// The service is the cause. The worker has logged the details, which users must not read.
    Internal,
}

/// State of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// No worker has claimed the request.
    Waiting,
    /// A worker is drawing the request.
    Drawing,
    /// The picture, or the reason why it could not be drawn.
    Drawn(std::result::Result<Vec<u8>, Problem>),
    /// The page withdrew the request, or sent a newer request for the model.
    Replaced,
}

names! {
    /// The status of a row. A row stands for one page that shows one model.
    Status {
        /// The page has a request that no worker has claimed.
        Waiting = "waiting",
        /// A worker is drawing the request.
        Drawing = "drawing",
        /// The request has its picture, or the message that says why it cannot be drawn.
        Drawn = "drawn",
        /// The service could not draw the request, although the request is valid.
        Failed = "failed",
        /// The page has no request.
        Idle = "idle",
    }
}

/// The lease of a worker on a request.
#[derive(Clone, Copy, Debug)]
pub struct Lease<'a> {
    /// Identifies the worker's process.
    pub token: &'a str,
    /// Time of expiry, unless the lease is renewed.
    pub until: i64,
}

/// Times that decide which requests a worker may claim.
#[derive(Clone, Copy, Debug)]
pub struct ClaimTimes {
    /// The current time.
    pub now: i64,
    /// Requests from this time or before have waited for long. Any worker may claim them, even if another one has the model
    /// loaded.
    pub unreserved_until: i64,
    /// Requests that were sent at or before this time are not claimed, because their pages no longer wait for them.
    pub abandoned_until: i64,
}

/// Stores a request, which replaces the page's earlier request for the same model. Notifies the worker that has the model
/// loaded; if no worker has it loaded, notifies all workers.
pub async fn insert(tx: &mut Tx, request: &Request, now: i64) -> Result<()> {
    let RequestKey { account_id, model_id, page_id, request_id } = &request.key;
    let earlier =
        "SELECT request_id, status FROM page_previews WHERE account_id = $1 AND model_id = $2 AND page_id = $3";
    let earlier = tx.fetch_optional(earlier, params![account_id, model_id, page_id.as_str()]).await?;
    // A worker may have loaded the model for another page of the account.
    let holder = "SELECT lease_token, lease_until FROM page_previews \
                  WHERE account_id = $1 AND model_id = $2 AND lease_until > $3 ORDER BY lease_until DESC, page_id LIMIT 1";
    let holder = tx.fetch_optional(holder, params![account_id, model_id, now]).await?;
    let (token, until) = match &holder {
        Some(row) => (row.maybe_text("lease_token")?, row.maybe_int("lease_until")?),
        None => (None, None),
    };
    let sql = "INSERT INTO page_previews \
               (account_id, model_id, page_id, workspace_id, payer_id, request_id, request, status, asked_at, \
               lease_token, lease_until) \
               VALUES ($1, $2, $3, $4, $5, $6, $7, $11, $8, $9, $10) \
               ON CONFLICT (account_id, model_id, page_id) DO UPDATE SET workspace_id = $4, payer_id = $5, \
               request_id = $6, request = $7, status = $11, asked_at = $8, lease_token = $9, lease_until = $10, \
               picture = NULL, problem = NULL";
    let values = params![
        account_id,
        model_id,
        page_id.as_str(),
        &request.workspace_id,
        &request.payer_id,
        request_id.as_str(),
        request.request.as_str(),
        now,
        token.as_deref(),
        until,
        Status::Waiting.as_str()
    ];
    tx.execute(sql, values).await?;
    if let Some(row) = earlier
        && row.parsed("status", Status::from_name)? != Status::Idle
    {
        listen::notify_picture(tx, &row.text("request_id")?).await?;
    }
    listen::notify_preview(tx, token.as_deref()).await
}

/// Notifies all workers of a waiting request, for example because the worker that has the model loaded does not claim it.
pub async fn call_workers(tx: &mut Tx) -> Result<()> {
    listen::notify_preview(tx, None).await
}

/// Returns the state of a request.
pub async fn find_state(conn: &mut Conn, key: &RequestKey, now: i64) -> Result<State> {
    let sql = "SELECT status, lease_until, picture, problem FROM page_previews \
               WHERE account_id = $1 AND model_id = $2 AND page_id = $3 AND request_id = $4";
    let values = params![&key.account_id, &key.model_id, key.page_id.as_str(), key.request_id.as_str()];
    let Some(row) = conn.fetch_optional(sql, values).await? else { return Ok(State::Replaced) };
    Ok(match row.parsed("status", Status::from_name)? {
        Status::Waiting => State::Waiting,
        // A lost worker does not renew its lease. Another worker can claim the request when the lease has expired.
        Status::Drawing if row.maybe_int("lease_until")?.is_none_or(|until| until <= now) => State::Waiting,
        Status::Drawing => State::Drawing,
        Status::Drawn => match row.maybe_text("problem")? {
            Some(message) => State::Drawn(Err(Problem::OfRequest(message))),
            None => State::Drawn(Ok(row.maybe_bytes("picture")?.unwrap_or_default())),
        },
        Status::Failed => State::Drawn(Err(Problem::Internal)),
        Status::Idle => State::Replaced,
    })
}

/// Removes the picture of a request, or withdraws the request if no picture was drawn. A row with a lease remains, without its
/// request, so that the page's next request is reserved for the worker that has the model loaded. A request that is being drawn
/// keeps its status until [`end_withdrawn`], or until its lease expires, so that no other worker draws for the same account
/// meanwhile. Its `asked_at` becomes 0.
pub async fn close(tx: &mut Tx, key: &RequestKey) -> Result<()> {
    let RequestKey { account_id, model_id, page_id, request_id } = key;
    let sql = "DELETE FROM page_previews WHERE account_id = $1 AND model_id = $2 AND page_id = $3 AND request_id = $4 \
               AND lease_token IS NULL";
    let values = params![account_id, model_id, page_id.as_str(), request_id.as_str()];
    if tx.execute(sql, values).await? > 0 {
        return Ok(());
    }
    let sql = "UPDATE page_previews SET request = '', picture = NULL, problem = NULL, \
               status = CASE WHEN status = $6 THEN status ELSE $5 END, \
               asked_at = CASE WHEN status = $6 THEN 0 ELSE asked_at END \
               WHERE account_id = $1 AND model_id = $2 AND page_id = $3 AND request_id = $4";
    let (idle, drawing) = (Status::Idle.as_str(), Status::Drawing.as_str());
    let values = params![account_id, model_id, page_id.as_str(), request_id.as_str(), idle, drawing];
    tx.execute(sql, values).await.map(drop)
}

// The statuses are literals, and the condition is that of the partial index of migration 441, because a database uses a partial
// index only for the same condition.
macro_rules! is_open {
    () => {
        "status IN ('waiting', 'drawing')"
    };
}

const FIND_OPEN: &str =
    concat!("SELECT 1 AS found FROM page_previews WHERE ", is_open!(), " AND asked_at > $1 LIMIT 1");

/// Returns whether any request is waiting for a worker or being drawn.
pub async fn is_any_open(conn: &mut Conn, times: ClaimTimes) -> Result<bool> {
    Ok(conn.fetch_optional(FIND_OPEN, params![times.abandoned_until]).await?.is_some())
}

/// Returns whether a request for the model waits for a worker.
pub async fn is_model_wanted(conn: &mut Conn, model: &ModelId, times: ClaimTimes) -> Result<bool> {
    let sql = "SELECT 1 AS found FROM page_previews WHERE model_id = $1 AND status = $2 AND asked_at > $3 LIMIT 1";
    let values = params![model, Status::Waiting.as_str(), times.abandoned_until];
    Ok(conn.fetch_optional(sql, values).await?.is_some())
}

/// Returns whether a worker holds a lease: it draws a preview, or has a model loaded.
pub async fn is_any_leased(conn: &mut Conn, now: i64) -> Result<bool> {
    let sql = "SELECT 1 AS found FROM page_previews WHERE lease_until > $1 LIMIT 1";
    Ok(conn.fetch_optional(sql, params![now]).await?.is_some())
}

static CLAIM: LazyLock<BuiltSql> = LazyLock::new(|| {
    BuiltSql::locking(" FOR UPDATE SKIP LOCKED", |lock| {
        let is_open = is_open!();
        format!(
            "WITH picked AS MATERIALIZED (SELECT account_id, model_id, page_id FROM page_previews AS wanted \
             WHERE {is_open} AND asked_at > $4 AND ($6 IS NULL OR model_id = $6) AND (\
             (status = 'waiting' \
              AND (lease_token IS NULL OR lease_token = $1 OR lease_until <= $2 OR asked_at <= $3)) \
             OR (status = 'drawing' AND lease_until <= $2)) \
             AND NOT EXISTS (SELECT 1 FROM page_previews AS other WHERE other.payer_id = wanted.payer_id \
             AND other.status = 'drawing' AND other.lease_until > $2) \
             ORDER BY asked_at, account_id, model_id, page_id LIMIT 1{lock}) \
             UPDATE page_previews SET status = 'drawing', lease_token = $1, lease_until = $5 \
             WHERE (account_id, model_id, page_id) IN (SELECT account_id, model_id, page_id FROM picked) \
             RETURNING account_id, model_id, page_id, workspace_id, payer_id, request_id, request"
        )
    })
});

/// Claims the oldest request; with `model`, the oldest one for this model. An account has one request at a time, so accounts take
/// turns.
/// Skips requests that are reserved for another worker, and paying accounts for which a preview is being drawn.
pub async fn claim(
    tx: &mut Tx,
    lease: Lease<'_>,
    times: ClaimTimes,
    model: Option<&ModelId>,
) -> Result<Option<Request>> {
    if tx.is_postgres() {
        tx.execute("SELECT pg_advisory_xact_lock(CAST($1 AS INT), 0)", params![CLAIM_LOCK]).await?;
    }
    let ClaimTimes { now, unreserved_until, abandoned_until } = times;
    let values = params![lease.token, now, unreserved_until, abandoned_until, lease.until, model];
    tx.fetch_optional(&CLAIM, values).await?.as_ref().map(request).transpose()
}

fn request(row: &Row) -> Result<Request> {
    Ok(Request {
        key: RequestKey {
            account_id: row.parsed("account_id", AccountId::parse)?,
            model_id: row.parsed("model_id", ModelId::parse)?,
            page_id: row.text("page_id")?,
            request_id: row.text("request_id")?,
        },
        workspace_id: row.parsed("workspace_id", WorkspaceId::parse)?,
        payer_id: row.parsed("payer_id", AccountId::parse)?,
        request: row.text("request")?,
    })
}

/// Builds a statement that changes a request only if its row still contains the worker's lease token, and the request was not
/// withdrawn. `$6` is the status [`Status::Drawing`].
macro_rules! while_held {
    ($set:literal) => {
        concat!(
            "UPDATE page_previews SET ",
            $set,
            " WHERE account_id = $1 AND model_id = $2 AND page_id = $3 AND request_id = $4 AND lease_token = $5 \
             AND status = $6 AND asked_at > 0"
        )
    };
}

/// Builds the parameters of a statement of `while_held!`. The given values are `$7` and following.
macro_rules! held_params {
    ($key:expr, $token:expr $(, $value:expr)* $(,)?) => {{
        let RequestKey { account_id, model_id, page_id, request_id } = $key;
        let drawing = Status::Drawing.as_str();
        [
            Param::from(account_id),
            Param::from(model_id),
            Param::from(page_id.as_str()),
            Param::from(request_id.as_str()),
            Param::from($token),
            Param::from(drawing),
            $(Param::from($value)),*
        ]
    }};
}

/// Renews the lease of a request that is being drawn. Returns false if the lease is lost, or the request was replaced or
/// withdrawn.
pub async fn renew(tx: &mut Tx, key: &RequestKey, lease: Lease<'_>) -> Result<bool> {
    let values = held_params!(key, lease.token, lease.until);
    Ok(tx.execute(while_held!("lease_until = $7"), &values).await? == 1)
}

/// Stores the picture of a request, or the reason why there is none, in place of the request's text, and notifies the server
/// that waits for the picture. From now on, the lease tells which worker has the model loaded. Returns false if the lease is
/// lost, or the request was replaced or withdrawn.
pub async fn finish(
    tx: &mut Tx,
    key: &RequestKey,
    lease: Lease<'_>,
    drawn: &std::result::Result<Arc<[u8]>, Problem>,
) -> Result<bool> {
    let sql = while_held!("status = $7, request = '', lease_until = $8, picture = $9, problem = $10");
    let (status, picture, message) = match drawn {
        Ok(picture) => (Status::Drawn, Some(Arc::clone(picture)), None),
        Err(Problem::OfRequest(message)) => (Status::Drawn, None, Some(message.as_str())),
        Err(Problem::Internal) => (Status::Failed, None, None),
    };
    let values = held_params!(key, lease.token, status.as_str(), lease.until, picture, message);
    let is_stored = tx.execute(sql, &values).await? == 1;
    if is_stored {
        listen::notify_picture(tx, &key.request_id).await?;
    }
    Ok(is_stored)
}

/// Ends the lease of a request, because the worker stops, and notifies the other workers.
pub async fn release(tx: &mut Tx, key: &RequestKey, token: &str) -> Result<()> {
    let sql = while_held!("status = $7, lease_token = NULL, lease_until = NULL");
    let values = held_params!(key, token, Status::Waiting.as_str());
    if tx.execute(sql, &values).await? == 1 {
        listen::notify_preview(tx, None).await?;
    }
    Ok(())
}

/// Notes that the worker no longer draws a request. Changes nothing unless the request was withdrawn while it was drawn. Then
/// another preview may be drawn for the account, and all workers are notified.
pub async fn end_withdrawn(tx: &mut Tx, key: &RequestKey, token: &str, now: i64) -> Result<()> {
    let sql = "UPDATE page_previews SET status = $7, asked_at = $8 \
               WHERE account_id = $1 AND model_id = $2 AND page_id = $3 AND request_id = $4 AND lease_token = $5 \
               AND status = $6 AND asked_at = 0";
    let values = held_params!(key, token, Status::Idle.as_str(), now);
    if tx.execute(sql, &values).await? > 0 {
        listen::notify_preview(tx, None).await?;
    }
    Ok(())
}

/// Deletes the rows of a model that this worker has unloaded. Keeps unread pictures and open requests. Those that wait are no
/// longer reserved for this worker, and all workers are notified of them.
pub async fn unload(tx: &mut Tx, model: &ModelId, token: &str) -> Result<u64> {
    let sql = "UPDATE page_previews SET lease_token = NULL, lease_until = NULL \
               WHERE model_id = $1 AND lease_token = $2 AND status IN ($3, $4, $5)";
    let [waiting, drawn, failed] = [Status::Waiting, Status::Drawn, Status::Failed].map(Status::as_str);
    if tx.execute(sql, params![model, token, waiting, drawn, failed]).await? > 0 {
        listen::notify_preview(tx, None).await?;
    }
    let sql = "DELETE FROM page_previews WHERE model_id = $1 AND lease_token = $2 AND status = $3";
    tx.execute(sql, params![model, token, Status::Idle.as_str()]).await
}

/// Deletes the rows whose last request was sent at or before `asked_at`.
pub async fn delete_before(tx: &mut Tx, asked_at: i64) -> Result<u64> {
    tx.execute("DELETE FROM page_previews WHERE asked_at <= $1", params![asked_at]).await
}

#[cfg(test)]
mod tests {
    use plinth_testkit::TestDatabase;

    use super::*;
    use crate::query_plan::plans_on;
    use crate::sql::Sql;
    use crate::{Db, DbError, DbOptions};

    fn request(page: &str) -> Request {
        let id = "a".repeat(plinth_spec::id::LENGTH);
        let account_id = AccountId::parse(&id).unwrap();
        Request {
            key: RequestKey {
                account_id: account_id.clone(),
                model_id: ModelId::parse(&id).unwrap(),
                page_id: page.to_owned(),
                request_id: page.to_owned(),
            },
            workspace_id: WorkspaceId::parse(&id).unwrap(),
            payer_id: account_id,
            request: "{}".to_owned(),
        }
    }

    /// Returns status and text of all requests.
    async fn requests(tx: &mut Tx) -> Result<Vec<(String, String)>> {
        let rows = tx.fetch_all("SELECT status, request FROM page_previews ORDER BY page_id", params![]).await?;
        rows.iter().map(|row| Ok((row.text("status")?, row.text("request")?))).collect()
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_drawn_or_withdrawn_request_leaves_no_text() {
        for database in [TestDatabase::sqlite(), TestDatabase::postgres()] {
            let db = Db::open(database.address(), DbOptions::default()).await.unwrap();
            let writing = db.write(|tx| {
                Box::pin(async move {
                    let (lease, row) =
                        (Lease { token: "w", until: 100 }, |status: &str| (status.to_owned(), String::new()));
                    let times = ClaimTimes { now: 10, unreserved_until: 10, abandoned_until: 0 };
                    let (first, second) = (request("1"), request("2"));
                    insert(tx, &first, 10).await?;
                    close(tx, &first.key).await?;
                    assert!(requests(tx).await?.is_empty(), "no worker knows it");
                    insert(tx, &first, 10).await?;
                    claim(tx, lease, times, None).await?;
                    assert_eq!(requests(tx).await?, [("drawing".to_owned(), "{}".to_owned())]);
                    finish(tx, &first.key, lease, &Err(Problem::OfRequest("no".to_owned()))).await?;
                    assert_eq!(requests(tx).await?, [row("drawn")]);
                    close(tx, &first.key).await?;
                    insert(tx, &second, 11).await?;
                    close(tx, &second.key).await?;
                    assert_eq!(requests(tx).await?, [row("idle"), row("idle")]);
                    Ok::<_, DbError>(())
                })
            });
            writing.await.unwrap();
        }
    }

    #[test]
    fn the_statuses_in_sql_are_those_of_the_enumeration() {
        assert_eq!((Status::Waiting.as_str(), Status::Drawing.as_str()), ("waiting", "drawing"));
        assert!(include_str!("../migrations/0441_open_previews.sql").contains(concat!("WHERE ", is_open!(), ";")));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn open_requests_are_found_by_an_index_of_open_requests() {
        for database in [TestDatabase::sqlite(), TestDatabase::postgres()] {
            let model: Option<&ModelId> = None;
            let to_claim = params!["worker", 1_i64, 1_i64, 1_i64, 1_i64, model];
            let statements = [FIND_OPEN.into(), Sql::from(&CLAIM)];
            let plans = plans_on(&database, statements, [params![1_i64], to_claim]).await;
            assert!(plans.iter().all(|plan| plan.contains("page_previews_open")), "{plans:?}");
            assert!(plans[1].contains("page_previews_drawing"), "{}", plans[1]);
        }
    }
}
