//! Two counters for each workspace: the total size of its files in the store, in bytes, and the part of it that its models have.
//! Transactions that insert or delete a row with files also change the counters of the row's workspace.
//!
//! The counter of models exists because each upload is compared with a limit for the paying account. The sum over an account with
//! 100 000 models would read as many index entries, while SQLite's only writer waits. The counters are one row for each workspace.

use plinth_spec::id::{AccountId, RenderId, WorkspaceId};

use crate::renders::{Render, columns};
use crate::row::Row;
use crate::sql::params;
use crate::{Conn, Result, Tx};

/// The total size of the files in the store that belong to one account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StorageOfAccount {
    /// The account that owns the workspaces of the files.
    pub account_id: AccountId,
    /// E-mail address of the account.
    pub email: String,
    pub bytes: u64,
}

/// Reads the value of a counter; a negative value is read as 0. A counter may be negative until it is corrected, because earlier
/// versions of the program inserted rows without adding their size, which is subtracted when the row is deleted.
pub(crate) fn counted(row: &Row, column: &'static str) -> Result<u64> {
    Ok(row.int(column)?.max(0).unsigned_abs())
}

/// Adds `bytes`, which may be negative, to the counter of a workspace. Transactions that also change the workspace's row or a queue
/// must call this function first, so that two of them never deadlock.
pub(crate) async fn add(tx: &mut Tx, workspace: &WorkspaceId, bytes: i64) -> Result<()> {
    if bytes == 0 {
        return Ok(());
    }
    let sql = "INSERT INTO storage (workspace_id, bytes) VALUES ($1, $2) \
               ON CONFLICT (workspace_id) DO UPDATE SET bytes = storage.bytes + excluded.bytes";
    tx.execute(sql, params![workspace, bytes]).await.map(drop)
}

/// Adds the size of a model's file, which is negative if the file is deleted, to both counters of a workspace. The order of locks is the
/// same as for [`add`].
pub(crate) async fn add_model(tx: &mut Tx, workspace: &WorkspaceId, bytes: i64) -> Result<()> {
    let sql = "INSERT INTO storage (workspace_id, bytes, model_bytes) VALUES ($1, $2, $2) \
               ON CONFLICT (workspace_id) DO UPDATE SET bytes = storage.bytes + excluded.bytes, \
               model_bytes = storage.model_bytes + excluded.model_bytes";
    tx.execute(sql, params![workspace, bytes]).await.map(drop)
}

/// Stores the size of the files of a finished render, and adds it to the workspace's counter. Returns false if the size is stored
/// already, or if the render was deleted.
pub async fn measure(tx: &mut Tx, render: &RenderId, workspace: &WorkspaceId, bytes: u64) -> Result<bool> {
    let sql = "UPDATE renders SET stored_bytes = $2 \
               WHERE id = $1 AND files IS NOT NULL AND stored_bytes IS NULL AND deleted_at IS NULL";
    let is_changed = tx.execute(sql, params![render, bytes.cast_signed()]).await? == 1;
    if is_changed {
        add(tx, workspace, bytes.cast_signed()).await?;
    }
    Ok(is_changed)
}

/// Lists finished renders without a stored size, which an earlier version of the program has finished.
pub async fn list_unmeasured(conn: &mut Conn, limit: u32) -> Result<Vec<Render>> {
    let sql = concat!(
        "SELECT ",
        columns!(),
        " FROM renders WHERE files IS NOT NULL AND stored_bytes IS NULL AND deleted_at IS NULL ORDER BY id LIMIT $1"
    );
    conn.fetch_all(sql, params![i64::from(limit)]).await?.iter().map(Render::of).collect()
}

/// Returns the total size of the files of all workspaces, in bytes.
pub async fn total(conn: &mut Conn) -> Result<u64> {
    let sql = "SELECT CAST(coalesce(sum(bytes), 0) AS BIGINT) AS bytes FROM storage";
    counted(&conn.fetch_one(sql, params![]).await?, "bytes")
}

/// Returns the total size of the files of all workspaces that an account owns, in bytes.
pub async fn of_account(conn: &mut Conn, account: &AccountId) -> Result<u64> {
    let sql = "SELECT CAST(coalesce(sum(s.bytes), 0) AS BIGINT) AS bytes FROM storage s \
               JOIN workspaces w ON w.id = s.workspace_id WHERE w.owner_id = $1";
    counted(&conn.fetch_one(sql, params![account]).await?, "bytes")
}

/// Returns the total size of the files of the models in all workspaces that an account owns, in bytes. Files of deleted models, and of
/// models in deleted workspaces, count until they are deleted from the store.
pub async fn models_of_account(conn: &mut Conn, account: &AccountId) -> Result<u64> {
    let sql = "SELECT CAST(coalesce(sum(s.model_bytes), 0) AS BIGINT) AS bytes FROM storage s \
               JOIN workspaces w ON w.id = s.workspace_id WHERE w.owner_id = $1";
    counted(&conn.fetch_one(sql, params![account]).await?, "bytes")
}

/// Returns the total size of the files of a workspace's models, in bytes.
pub async fn models_of_workspace(conn: &mut Conn, workspace: &WorkspaceId) -> Result<u64> {
    let sql = "SELECT model_bytes FROM storage WHERE workspace_id = $1";
    let row = conn.fetch_optional(sql, params![workspace]).await?;
    row.map_or(Ok(0), |row| counted(&row, "model_bytes"))
}

/// Lists the accounts with the largest total size of files, the largest first.
pub async fn largest(conn: &mut Conn, limit: u32) -> Result<Vec<StorageOfAccount>> {
    let sql = "SELECT a.id, a.email, most.bytes FROM (\
               SELECT w.owner_id, CAST(sum(s.bytes) AS BIGINT) AS bytes FROM storage s JOIN workspaces w ON w.id = s.workspace_id \
               GROUP BY w.owner_id ORDER BY bytes DESC, w.owner_id LIMIT $1) most \
               JOIN accounts a ON a.id = most.owner_id ORDER BY most.bytes DESC, a.id";
    let read = |row: &Row| {
        Ok(StorageOfAccount {
            account_id: row.parsed("id", AccountId::parse)?,
            email: row.text("email")?,
            bytes: counted(row, "bytes")?,
        })
    };
    conn.fetch_all(sql, params![i64::from(limit)]).await?.iter().map(read).collect()
}

/// Selects the workspace, the size, and the size if it is a model, of each row that has files. Leaves out renders whose size is not
/// stored. `$and` is an additional condition.
macro_rules! sizes {
    ($and:literal) => {
        concat!(
            "SELECT workspace_id, file_size AS size, file_size AS model_size FROM models WHERE file_deleted_at IS NULL",
            $and,
            " UNION ALL SELECT workspace_id, file_size, 0 FROM overlays WHERE TRUE",
            $and,
            " UNION ALL SELECT workspace_id, file_size, 0 FROM textures WHERE TRUE",
            $and,
            " UNION ALL SELECT workspace_id, file_size, 0 FROM envs WHERE TRUE",
            $and,
            " UNION ALL SELECT workspace_id, stored_bytes, 0 FROM renders \
             WHERE stored_bytes IS NOT NULL AND deleted_at IS NULL",
            $and
        )
    };
}

const FIND_MISCOUNTED: &str = concat!(
    "SELECT w.id FROM workspaces w LEFT JOIN storage s ON s.workspace_id = w.id LEFT JOIN (\
     SELECT workspace_id, CAST(sum(size) AS BIGINT) AS bytes, CAST(sum(model_size) AS BIGINT) AS model_bytes FROM (",
    sizes!(""),
    ") sizes GROUP BY workspace_id) found ON found.workspace_id = w.id \
     WHERE coalesce(s.bytes, 0) <> coalesce(found.bytes, 0) \
     OR coalesce(s.model_bytes, 0) <> coalesce(found.model_bytes, 0) ORDER BY w.id"
);

const RECOUNT: &str = concat!(
    "UPDATE storage SET (bytes, model_bytes) = (SELECT CAST(coalesce(sum(size), 0) AS BIGINT), \
     CAST(coalesce(sum(model_size), 0) AS BIGINT) FROM (",
    sizes!(" AND workspace_id = $1"),
    ") sizes) WHERE workspace_id = $1"
);

/// Lists the workspaces with a counter that differs from the total size of their rows. A counter can be wrong only after an earlier
/// version of the program, which does not change it, has written rows.
pub async fn find_miscounted(conn: &mut Conn) -> Result<Vec<WorkspaceId>> {
    let rows = conn.fetch_all(FIND_MISCOUNTED, params![]).await?;
    rows.iter().map(|row| row.parsed("id", WorkspaceId::parse)).collect()
}

/// Sets the counters of a workspace to the total size of its rows.
pub async fn recount(tx: &mut Tx, workspace: &WorkspaceId) -> Result<()> {
    // Locks the counters. So all transactions that have changed them are committed before the rows are read, and later ones change
    // the new values.
    let sql = "INSERT INTO storage (workspace_id, bytes) VALUES ($1, 0) \
               ON CONFLICT (workspace_id) DO UPDATE SET bytes = storage.bytes";
    tx.execute(sql, params![workspace]).await?;
    tx.execute(RECOUNT, params![workspace]).await.map(drop)
}

#[cfg(test)]
mod tests {
    use plinth_testkit::TestDatabase;

    use super::*;
    use crate::query_plan::plans_on;

    #[tokio::test(flavor = "multi_thread")]
    async fn sizes_of_models_and_renders_are_read_from_indexes_alone() {
        for (database, scan) in
            [(TestDatabase::sqlite(), "COVERING INDEX"), (TestDatabase::postgres(), "Index Only Scan using")]
        {
            let statements = [FIND_MISCOUNTED, RECOUNT].map(Into::into);
            for plan in plans_on(&database, statements, [params![], params!["w"]]).await {
                for index in ["models_stored", "renders_stored"] {
                    assert!(plan.contains(&format!("{scan} {index}")), "{plan}");
                }
            }
        }
    }
}
