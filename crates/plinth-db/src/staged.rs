//! Files that a client puts into the store by itself, before they become models. Of a ticket, only its hash is known.

use plinth_spec::id::{StagedId, WorkspaceId};

use crate::sql::{Sql, of_owner, params};
use crate::{Conn, Result, Tx};

/// Expects a file.
pub async fn insert(tx: &mut Tx, id: &StagedId, ticket_sha256: &str, workspace: &WorkspaceId, now: i64) -> Result<()> {
    let sql = "INSERT INTO staged_uploads (id, ticket_sha256, workspace_id, created_at) VALUES ($1, $2, $3, $4)";
    tx.execute(sql, params![id, ticket_sha256, workspace, now]).await.map(drop)
}

/// How many files the account that owns a workspace has asked for since an instant and not finalized.
pub async fn count_open(conn: &mut Conn, workspace: &WorkspaceId, since: i64) -> Result<u64> {
    let sql = concat!(
        "SELECT count(*) AS n FROM staged_uploads WHERE created_at > $2 AND finalized_at IS NULL AND ",
        of_owner!()
    );
    conn.fetch_one(sql, params![workspace, since]).await?.count("n")
}

/// The file of a ticket, in the workspace that asked for it, unless it was finalized.
pub async fn find_open(conn: &mut Conn, ticket_sha256: &str, workspace: &WorkspaceId) -> Result<Option<StagedId>> {
    let sql = "SELECT id FROM staged_uploads \
               WHERE ticket_sha256 = $1 AND workspace_id = $2 AND finalized_at IS NULL";
    let row = conn.fetch_optional(sql, params![ticket_sha256, workspace]).await?;
    row.map(|row| row.parsed("id", StagedId::parse)).transpose()
}

/// Uses a ticket up. False: another request was faster.
pub async fn finalize(tx: &mut Tx, id: &StagedId, now: i64) -> Result<bool> {
    let sql = "UPDATE staged_uploads SET finalized_at = $2 WHERE id = $1 AND finalized_at IS NULL";
    Ok(tx.execute(sql, params![id, now]).await? == 1)
}

/// Removes and returns uploads that began before an instant.
pub async fn delete_before(tx: &mut Tx, before: i64, limit: u32) -> Result<Vec<StagedId>> {
    let sql = Sql {
        sqlite: "DELETE FROM staged_uploads WHERE id IN \
                 (SELECT id FROM staged_uploads WHERE created_at < $1 ORDER BY created_at LIMIT $2) RETURNING id",
        postgres: "WITH old AS MATERIALIZED (SELECT id FROM staged_uploads WHERE created_at < $1 \
                   ORDER BY created_at LIMIT $2 FOR UPDATE SKIP LOCKED) \
                   DELETE FROM staged_uploads WHERE id IN (SELECT id FROM old) RETURNING id",
    };
    let rows = tx.fetch_all(sql, params![before, i64::from(limit)]).await?;
    rows.iter().map(|row| row.parsed("id", StagedId::parse)).collect()
}
