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

/// Lists at most `limit` deleted workspaces whose models have files in the store, according to the counter of their bytes. Reads one
/// short row for each workspace, and no models.
pub async fn list_deleted_workspaces(conn: &mut Conn, limit: u32) -> Result<Vec<WorkspaceId>> {
    let sql = "SELECT w.id FROM workspaces w JOIN storage s ON s.workspace_id = w.id \
               WHERE w.deleted_at IS NOT NULL AND s.model_bytes > 0 LIMIT $1";
    let rows = conn.fetch_all(sql, params![i64::from(limit)]).await?;
    rows.iter().map(|row| row.parsed("id", WorkspaceId::parse)).collect()
}

/// Marks at most `limit` models of a deleted workspace as deleted. Nobody can see or delete these models any more. Returns the number
/// of marked models.
pub async fn delete_of_workspace(tx: &mut Tx, workspace: &WorkspaceId, limit: u32, now: i64) -> Result<u64> {
    tx.execute(MARK, params![i64::from(limit), now, ModelStatus::Deleted.as_str(), workspace]).await
}

macro_rules! mark {
    ($lock:literal) => {
        concat!(
            "WITH found AS MATERIALIZED (SELECT id FROM models \
             WHERE workspace_id = $4 AND file_deleted_at IS NULL AND status <> $3 LIMIT $1",
            $lock,
            ") UPDATE models SET status = $3, ",
            touched!("$2"),
            " WHERE id IN (SELECT id FROM found)"
        )
    };
}

const MARK: Sql = Sql { sqlite: mark!(""), postgres: mark!(" FOR UPDATE SKIP LOCKED") };

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
    use crate::query_plan::plans_on;

    #[tokio::test(flavor = "multi_thread")]
    async fn a_cleanup_reads_only_models_that_it_deletes() {
        for database in [TestDatabase::sqlite(), TestDatabase::postgres()] {
            let to_mark = params![9_i64, 7_i64, ModelStatus::Deleted.as_str(), "workspace"];
            let [list, mark] = plans_on(&database, [Sql::from(&LIST_UNNEEDED), MARK], [params![9_i64], to_mark]).await;
            assert!(list.contains("models_deleted"), "{list}");
            assert!(mark.contains("models_stored") && !mark.contains("SCAN models"), "{mark}");
        }
    }
}
