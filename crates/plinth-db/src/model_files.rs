//! Files of models: which ones are stored, and which ones are no longer needed because their model is deleted.

use std::ops::RangeInclusive;
use std::sync::LazyLock;

use plinth_spec::id::{ModelId, WorkspaceId};
use plinth_spec::state::{ModelStatus, RenderStatus};

use crate::sql::{Sql, params, touched};
use crate::states::{BuiltSql, is_in};
use crate::{Conn, Result, Tx, storage};

/// Returns the SQL condition that is true for deleted models whose file is in the store and not needed. Unfinished renders need the
/// file: each attempt to draw them reads it. All other renders have their own files.
fn is_unneeded() -> String {
    format!(
        "status = '{}' AND file_deleted_at IS NULL AND NOT EXISTS \
         (SELECT 1 FROM renders r WHERE r.model_id = models.id AND r.deleted_at IS NULL AND r.{})",
        ModelStatus::Deleted.as_str(),
        is_in(|status: RenderStatus| !status.is_final())
    )
}

static LIST_UNNEEDED: LazyLock<BuiltSql> =
    LazyLock::new(|| BuiltSql::same(format!("SELECT id FROM models WHERE {} ORDER BY id LIMIT $1", is_unneeded())));

/// Lists deleted models whose file is in the store, and that have no unfinished renders.
pub async fn list_unneeded(conn: &mut Conn, limit: u32) -> Result<Vec<ModelId>> {
    let rows = conn.fetch_all(&LIST_UNNEEDED, params![i64::from(limit)]).await?;
    rows.iter().map(|row| row.parsed("id", ModelId::parse)).collect()
}

/// Records that the file of a deleted model is deleted from the store, and subtracts its size from the counters of stored bytes.
/// Returns false if the model is not deleted, if it has unfinished renders, or if the deletion of its file was recorded already. No
/// render can be created for a deleted model, and an ended render does not begin again, so the file is not needed later.
pub async fn set_deleted(tx: &mut Tx, id: &ModelId, now: i64) -> Result<bool> {
    static SQL: LazyLock<BuiltSql> = LazyLock::new(|| {
        BuiltSql::same(format!(
            "UPDATE models SET file_deleted_at = $2 WHERE id = $1 AND {} RETURNING workspace_id, file_size",
            is_unneeded()
        ))
    });
    let Some(row) = tx.fetch_optional(&SQL, params![id, now]).await? else { return Ok(false) };
    storage::add_model(tx, &row.parsed("workspace_id", WorkspaceId::parse)?, -row.int("file_size")?).await?;
    Ok(true)
}

/// Marks at most `limit` models of deleted workspaces as deleted. Nobody can see or delete these models any more. Returns the number of
/// marked models.
pub async fn delete_of_deleted_workspaces(tx: &mut Tx, limit: u32, now: i64) -> Result<u64> {
    macro_rules! mark {
        ($lock:literal) => {
            concat!(
                "WITH found AS MATERIALIZED (SELECT m.id FROM workspaces w JOIN models m ON m.workspace_id = w.id \
                 WHERE w.deleted_at IS NOT NULL AND m.file_deleted_at IS NULL AND m.status <> $3 ORDER BY m.id LIMIT $1",
                $lock,
                ") UPDATE models SET status = $3, ",
                touched!("$2"),
                " WHERE id IN (SELECT id FROM found)"
            )
        };
    }
    let sql = Sql { sqlite: mark!(""), postgres: mark!(" FOR UPDATE OF m SKIP LOCKED") };
    tx.execute(sql, params![i64::from(limit), now, ModelStatus::Deleted.as_str()]).await
}

/// Returns whether a workspace has an active model whose file has a size in this range, in bytes.
pub async fn has_active_of_size(conn: &mut Conn, workspace: &WorkspaceId, sizes: &RangeInclusive<u64>) -> Result<bool> {
    let sql = "SELECT 1 AS one FROM models \
               WHERE workspace_id = $1 AND file_size BETWEEN $2 AND $3 AND file_deleted_at IS NULL AND status = $4 LIMIT 1";
    let (least, most) = (sizes.start().cast_signed(), sizes.end().cast_signed());
    let row = conn.fetch_optional(sql, params![workspace, least, most, ModelStatus::Active.as_str()]).await?;
    Ok(row.is_some())
}

#[cfg(test)]
mod tests {
    use plinth_testkit::TestDatabase;

    use super::*;
    use crate::{Db, DbError, DbOptions};

    #[tokio::test(flavor = "multi_thread")]
    async fn models_whose_files_are_deleted_are_not_read() {
        for (database, explain, column) in [
            (TestDatabase::sqlite(), "EXPLAIN QUERY PLAN", "detail"),
            (TestDatabase::postgres(), "EXPLAIN", "QUERY PLAN"),
        ] {
            let db = Db::open(database.address(), DbOptions::default()).await.unwrap();
            let planning = db.write(move |tx| {
                Box::pin(async move {
                    // Without these settings, PostgreSQL would not use an index for a small table.
                    tx.control("SELECT 1", "SET LOCAL enable_seqscan = off").await?;
                    tx.control("SELECT 1", "SET LOCAL enable_bitmapscan = off").await?;
                    let sql = format!("{explain} {}", Sql::from(&LIST_UNNEEDED).sqlite);
                    let rows = tx.fetch_all_built(&sql, params![9_i64]).await?;
                    let lines = rows.iter().map(|row| row.text(column)).collect::<Result<Vec<_>>>()?;
                    Ok::<_, DbError>(lines.join("\n"))
                })
            });
            let plan = planning.await.unwrap();
            assert!(plan.contains("models_deleted"), "{plan}");
        }
    }
}
