//! Staged uploads: files that a client uploads directly to the store before they become models. A client finalizes its
//! upload with a ticket. Only the hash of the ticket is stored.

use plinth_spec::id::{StagedId, WorkspaceId};
use plinth_spec::limits;

use crate::sql::{Param, Sql, of_owner, params};
use crate::table::{insert, numbered};
use crate::{Conn, Result, Tx};

/// Stored instead of the size if a file was rejected because it is too large.
const TOO_LARGE: i64 = limits::MODEL_FILE_BYTES.cast_signed() + 1;

/// The SQL condition for uploads that are not finalized and whose link expires after the time `$since`. If a program of an older
/// version created the upload, the time is unknown, so the upload is open until it is deleted.
macro_rules! is_open {
    ($since:literal) => {
        concat!("finalized_at IS NULL AND (link_expires_at IS NULL OR link_expires_at > ", $since, ")")
    };
}

const COUNT_OPEN: &str = concat!(
    "SELECT count(*) AS n FROM staged_uploads WHERE ",
    is_open!("$2"),
    " AND ",
    of_owner!(" AND theirs.deleted_at IS NULL")
);

const OPEN_BYTES: &str = concat!(
    "SELECT CAST(coalesce(sum(size), 0) AS BIGINT) AS n FROM staged_uploads WHERE ",
    is_open!("$2"),
    " AND ($3 IS NULL OR id <> $3) AND size <> $4 AND ",
    of_owner!(" AND theirs.deleted_at IS NULL")
);

/// A staged upload whose file has not been uploaded yet.
#[derive(Clone, Copy, Debug)]
pub struct NewStagedUpload<'a> {
    pub id: &'a StagedId,
    /// Hash of the ticket that finalizes the upload.
    pub ticket_sha256: &'a str,
    pub workspace_id: &'a WorkspaceId,
    pub created_at: i64,
    /// Time at which the link stops accepting files.
    pub link_expires_at: i64,
}

/// Inserts a staged upload.
pub async fn insert(tx: &mut Tx, upload: NewStagedUpload<'_>) -> Result<()> {
    insert!(tx, "staged_uploads", id: upload.id, ticket_sha256: upload.ticket_sha256, workspace_id: upload.workspace_id,
        created_at: upload.created_at, link_expires_at: upload.link_expires_at)
}

/// Counts the staged uploads whose link expires after `since` and that are not finalized, in all workspaces of the account
/// that owns `workspace`.
pub async fn count_open(conn: &mut Conn, workspace: &WorkspaceId, since: i64) -> Result<u64> {
    conn.fetch_one(COUNT_OPEN, params![workspace, since]).await?.count("n")
}

/// Returns the total size of the files of the uploads that [`count_open`] counts. Leaves out the upload `except`, and
/// files that were rejected because they are too large.
pub async fn open_bytes(
    conn: &mut Conn,
    workspace: &WorkspaceId,
    since: i64,
    except: Option<&StagedId>,
) -> Result<u64> {
    conn.fetch_one(OPEN_BYTES, params![workspace, since, except, TOO_LARGE]).await?.count("n")
}

/// Sets the size of an upload's file.
pub async fn set_size(tx: &mut Tx, id: &StagedId, size: u64) -> Result<()> {
    let sql = "UPDATE staged_uploads SET size = $2 WHERE id = $1 AND size <> $2";
    tx.execute(sql, params![id, size.cast_signed()]).await.map(drop)
}

/// For each account, adds up the sizes of the same uploads as [`open_bytes`], in the order of their creation. Lists the
/// uploads that would make the sum exceed `most` bytes.
pub async fn list_beyond(conn: &mut Conn, since: i64, most: u64) -> Result<Vec<StagedId>> {
    let sql = concat!(
        "SELECT id, owner_id, size FROM (SELECT s.id, s.size, s.created_at, w.owner_id, \
         CAST(sum(s.size) OVER (PARTITION BY w.owner_id) AS BIGINT) AS total \
         FROM staged_uploads s JOIN workspaces w ON w.id = s.workspace_id WHERE ",
        is_open!("$1"),
        " AND s.size > 0 AND s.size <> $2 AND w.deleted_at IS NULL) counted \
         WHERE total > $3 ORDER BY owner_id, created_at, id"
    );
    let (mut owner, mut used, mut beyond) = (String::new(), 0, Vec::new());
    for row in conn.fetch_all(sql, params![since, TOO_LARGE, most.cast_signed()]).await? {
        let (of, size) = (row.text("owner_id")?, row.count("size")?);
        if of != owner {
            (owner, used) = (of, 0);
        }
        if used + size > most {
            beyond.push(row.parsed("id", StagedId::parse)?);
        } else {
            used += size;
        }
    }
    Ok(beyond)
}

/// Returns which of these uploads are finalized, or belong to a deleted workspace. Their files are not needed.
pub async fn list_unneeded(conn: &mut Conn, ids: &[StagedId]) -> Result<Vec<StagedId>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let sql = format!(
        "SELECT s.id FROM staged_uploads s JOIN workspaces w ON w.id = s.workspace_id \
         WHERE (s.finalized_at IS NOT NULL OR w.deleted_at IS NOT NULL) AND s.id IN {}",
        numbered(1, ids.len())
    );
    let values: Vec<Param> = ids.iter().map(Param::from).collect();
    let rows = conn.fetch_all_built(&sql, &values).await?;
    rows.iter().map(|row| row.parsed("id", StagedId::parse)).collect()
}

/// Marks an upload whose file is not stored, because it is larger than [`limits::MODEL_FILE_BYTES`]: its size becomes
/// one byte more than this limit. Changes nothing if an earlier file of the upload is stored.
pub async fn set_too_large(tx: &mut Tx, id: &StagedId) -> Result<()> {
    let sql = "UPDATE staged_uploads SET size = $2 WHERE id = $1 AND size = 0";
    tx.execute(sql, params![id, TOO_LARGE]).await.map(drop)
}

/// Returns whether the file of an upload was rejected because it is too large.
pub async fn is_too_large(conn: &mut Conn, id: &StagedId) -> Result<bool> {
    let sql = "SELECT 1 AS one FROM staged_uploads WHERE id = $1 AND size = $2";
    let row = conn.fetch_optional(sql, params![id, TOO_LARGE]).await?;
    Ok(row.is_some())
}

/// Finds the workspace of an upload. Returns `None` if the upload was finalized, or the workspace is deleted.
pub async fn find_workspace(conn: &mut Conn, id: &StagedId) -> Result<Option<WorkspaceId>> {
    let sql = "SELECT s.workspace_id FROM staged_uploads s JOIN workspaces w ON w.id = s.workspace_id \
               WHERE s.id = $1 AND s.finalized_at IS NULL AND w.deleted_at IS NULL";
    let row = conn.fetch_optional(sql, params![id]).await?;
    row.map(|row| row.parsed("workspace_id", WorkspaceId::parse)).transpose()
}

/// Finds the staged upload of a ticket in this workspace. Returns `None` if the upload was finalized.
pub async fn find_open(conn: &mut Conn, ticket_sha256: &str, workspace: &WorkspaceId) -> Result<Option<StagedId>> {
    let sql = "SELECT id FROM staged_uploads \
               WHERE ticket_sha256 = $1 AND workspace_id = $2 AND finalized_at IS NULL";
    let row = conn.fetch_optional(sql, params![ticket_sha256, workspace]).await?;
    row.map(|row| row.parsed("id", StagedId::parse)).transpose()
}

/// Marks a staged upload as finalized. Returns false if another request has finalized the upload already.
pub async fn finalize(tx: &mut Tx, id: &StagedId, now: i64) -> Result<bool> {
    let sql = "UPDATE staged_uploads SET finalized_at = $2 WHERE id = $1 AND finalized_at IS NULL";
    Ok(tx.execute(sql, params![id, now]).await? == 1)
}

/// Deletes at most `limit` staged uploads that were created before a time, and returns their identifiers.
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

#[cfg(test)]
mod tests {
    use plinth_testkit::TestDatabase;

    use super::*;
    use crate::query_plan::plans_on;
    use crate::test_rows::{ACCOUNT, WORKSPACE, execute};
    use crate::{Db, DbOptions};

    /// Inserts uploads as programs do that do not know when links expire. The file of `s1` is scheduled for deletion.
    const UPLOADS: &str = "INSERT INTO staged_uploads (id, ticket_sha256, workspace_id, created_at) \
                           VALUES ('s1', '1', 'wwwwwwwwwwww', 1000), ('s2', '2', 'wwwwwwwwwwww', 2000)";
    const SCHEDULE: &str = "INSERT INTO garbage (prefix, due_at) VALUES ('staged/s1.glb', 172809000)";

    async fn count(db: &Db, since: i64) -> u64 {
        let workspace = WorkspaceId::parse("wwwwwwwwwwww").unwrap();
        count_open(&mut db.read().await.unwrap(), &workspace, since).await.unwrap()
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn the_migration_finds_out_when_the_links_of_old_uploads_expire() {
        let migration = include_str!("../migrations/0460_staged_links.sql");
        let update = migration.split(';').find(|statement| statement.trim_start().starts_with("UPDATE ")).unwrap();
        for database in [TestDatabase::sqlite(), TestDatabase::postgres()] {
            let db = Db::open(database.address(), DbOptions::default()).await.unwrap();
            execute(&db, &[ACCOUNT, WORKSPACE, UPLOADS, SCHEDULE]).await;
            assert_eq!(count(&db, i64::MAX).await, 2, "without a time, uploads are open until they are deleted");
            execute(&db, &[update]).await;
            let counts = [count(&db, 1_999).await, count(&db, 2_000).await, count(&db, 8_999).await];
            assert_eq!(counts, [2, 1, 1]);
            assert_eq!(count(&db, 9_000).await, 0);
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn open_uploads_of_an_account_are_found_by_an_index() {
        for database in [TestDatabase::sqlite(), TestDatabase::postgres()] {
            let statements = [COUNT_OPEN.into(), OPEN_BYTES.into()];
            let parameters: [&[Param]; 2] = [params!["w", 9_i64], params!["w", 9_i64, None::<&str>, TOO_LARGE]];
            for plan in plans_on(&database, statements, parameters).await {
                assert!(plan.contains("staged_uploads_open"), "{plan}");
            }
        }
    }
}
