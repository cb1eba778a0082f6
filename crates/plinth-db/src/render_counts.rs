//! The number of renders of each workspace in each state. Triggers record each change of a number as a new row in
//! `render_count_changes`, so that transactions on the same workspace do not wait for each other. The number is the value in
//! `render_counts` plus all changes that have not been added to this value yet.

use std::collections::BTreeMap;

use plinth_spec::id::WorkspaceId;
use plinth_spec::state::RenderStatus;

use crate::sql::{Sql, params};
use crate::{Conn, Result, Tx, render_hours};

/// Class of the advisory lock of [`add_changes`] and [`recount`]. Classes 1 and 2 are used by the queue and by previews.
const LOCK: i64 = 3;
/// Maximum number of changes that one transaction adds to the numbers by state. The same maximum applies to the numbers by
/// hour.
pub const CHANGES_AT_ONCE: u64 = 10_000;

/// Returns the number of renders of a workspace that are in a state.
pub async fn count(conn: &mut Conn, workspace: &WorkspaceId, status: RenderStatus) -> Result<u64> {
    // A single statement sees each change exactly once: as a row, or as part of the number to which another transaction has
    // added it.
    let sql = "SELECT CAST(coalesce(sum(n), 0) AS BIGINT) AS n FROM (\
               SELECT renders AS n FROM render_counts WHERE workspace_id = $1 AND status = $2 \
               UNION ALL SELECT change FROM render_count_changes WHERE workspace_id = $1 AND status = $2) counted";
    conn.fetch_one(sql, params![workspace, status.as_str()]).await?.count("n")
}

/// Adds recorded changes to the numbers by state and by hour. Returns the number of added changes. If it is at least
/// [`CHANGES_AT_ONCE`], more changes may remain, and the function must be called again.
pub async fn add_changes(tx: &mut Tx) -> Result<u64> {
    macro_rules! take {
        ($address:literal) => {
            concat!(
                "DELETE FROM render_count_changes WHERE ",
                $address,
                " IN (SELECT ",
                $address,
                " FROM render_count_changes LIMIT $1) RETURNING workspace_id, status, change"
            )
        };
    }
    lock(tx).await?;
    let sql = Sql { sqlite: take!("rowid"), postgres: take!("ctid") };
    let changes = tx.fetch_all(sql, params![CHANGES_AT_ONCE.cast_signed()]).await?;
    let mut sums = BTreeMap::<(String, String), i64>::new();
    for row in &changes {
        *sums.entry((row.text("workspace_id")?, row.text("status")?)).or_default() += row.int("change")?;
    }
    let sql = "INSERT INTO render_counts (workspace_id, status, renders) VALUES ($1, $2, $3) \
               ON CONFLICT (workspace_id, status) DO UPDATE SET renders = render_counts.renders + excluded.renders";
    for ((workspace, status), sum) in &sums {
        tx.execute(sql, params![workspace.as_str(), status.as_str(), *sum]).await?;
    }
    Ok(changes.len() as u64 + render_hours::add_changes(tx, CHANGES_AT_ONCE).await?)
}

/// Lists the workspaces whose identifiers come after `after`, in the order of their identifiers. Begins with the first
/// workspace if `after` is `None`.
pub async fn list_workspaces(conn: &mut Conn, after: Option<&WorkspaceId>, limit: u32) -> Result<Vec<WorkspaceId>> {
    let sql = "SELECT id FROM workspaces WHERE id > $1 ORDER BY id LIMIT $2";
    let after = after.map_or("", WorkspaceId::as_str);
    let rows = conn.fetch_all(sql, params![after, i64::from(limit)]).await?;
    rows.iter().map(|row| row.parsed("id", WorkspaceId::parse)).collect()
}

/// Returns whether a number of a workspace, by state or by hour, differs from the renders in the database. Numbers can be wrong
/// only if the triggers were switched off, for example by a restore. Reads the renders of one workspace only, because a
/// statement has a time limit.
pub async fn is_miscounted(conn: &mut Conn, workspace: &WorkspaceId) -> Result<bool> {
    let sql = "SELECT status FROM (\
               SELECT status, count(*) AS n FROM renders WHERE workspace_id = $1 AND deleted_at IS NULL GROUP BY status \
               UNION ALL SELECT status, -renders FROM render_counts WHERE workspace_id = $1 \
               UNION ALL SELECT status, -change FROM render_count_changes WHERE workspace_id = $1) counted \
               GROUP BY status HAVING sum(n) <> 0 LIMIT 1";
    let differs = conn.fetch_optional(sql, params![workspace]).await?.is_some();
    Ok(differs || render_hours::is_miscounted(conn, workspace).await?)
}

/// Counts the renders of a workspace again and sets its numbers by state and by hour.
pub async fn recount(tx: &mut Tx, workspace: &WorkspaceId) -> Result<()> {
    lock(tx).await?;
    tx.execute("DELETE FROM render_counts WHERE workspace_id = $1", params![workspace]).await?;
    // A single statement sees a render that changes at this moment either together with its recorded change, or without.
    let sql = "INSERT INTO render_counts SELECT workspace_id, status, CAST(sum(n) AS BIGINT) FROM (\
               SELECT workspace_id, status, 1 AS n FROM renders WHERE workspace_id = $1 AND deleted_at IS NULL \
               UNION ALL SELECT workspace_id, status, -change FROM render_count_changes WHERE workspace_id = $1) counted \
               GROUP BY workspace_id, status";
    tx.execute(sql, params![workspace]).await?;
    render_hours::recount(tx, workspace).await
}

/// Waits until no other transaction adds changes. Does nothing on SQLite, which has only one writer.
async fn lock(tx: &mut Tx) -> Result<()> {
    if tx.is_postgres() {
        tx.execute("SELECT pg_advisory_xact_lock(CAST($1 AS INT), 0)", params![LOCK]).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use plinth_testkit::TestDatabase;

    use super::*;
    use crate::test_rows::{ACCOUNT, WORKSPACE, execute};
    use crate::{Db, DbOptions};

    const MODEL: &str = "INSERT INTO models (id, workspace_id, original_name, file_size, sha256, animations, animation_count, status, \
                         created_at, updated_at) VALUES ('m', 'wwwwwwwwwwww', 'm', 1, '', '[]', 0, 'active', 0, 0)";
    /// Inserts the renders `r1` and `r2`.
    const RENDERS: &str = "INSERT INTO renders (id, workspace_id, model_id, payer_id, settings, settings_sha256, replay_key, \
                           replay_ordinal, is_system_preview, credits, status, hls_status, warnings, attempt, hls_attempt, \
                           created_at, updated_at) SELECT id, 'wwwwwwwwwwww', 'm', 'a', '{}', '', '', 0, FALSE, 0, 'pending', \
                           'pending', '[]', 0, 0, 0, 0 FROM (SELECT 'r1' AS id UNION ALL SELECT 'r2') ids";

    fn workspace() -> WorkspaceId {
        WorkspaceId::parse("wwwwwwwwwwww").unwrap()
    }

    async fn count_in(db: &Db, status: RenderStatus) -> u64 {
        let workspace = workspace();
        count(&mut db.read().await.unwrap(), &workspace, status).await.unwrap()
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn the_migration_counts_renders_from_before_the_triggers_once() {
        for database in [TestDatabase::sqlite(), TestDatabase::postgres()] {
            let db = Db::open(database.address(), DbOptions::default()).await.unwrap();
            // The renders `r1` and `r2` are older than the triggers. `r2` ends after the triggers were created and before the
            // renders are counted.
            execute(&db, &[ACCOUNT, WORKSPACE, MODEL, RENDERS, "DELETE FROM render_count_changes"]).await;
            let ended = "UPDATE renders SET status = 'done' WHERE id = 'r2'";
            execute(&db, &[ended, include_str!("../migrations/0352_render_counts_of_old_renders.sql")]).await;
            for _before_and_after in 0..2 {
                let counted = (count_in(&db, RenderStatus::Pending).await, count_in(&db, RenderStatus::Done).await);
                assert_eq!(counted, (1, 1));
                assert!(!is_miscounted(&mut db.read().await.unwrap(), &workspace()).await.unwrap());
                db.write(|tx| Box::pin(async move { add_changes(tx).await })).await.unwrap();
            }
            execute(&db, &["DELETE FROM renders WHERE id = 'r1'", "UPDATE renders SET deleted_at = 1 WHERE id = 'r2'"])
                .await;
            let counted = (count_in(&db, RenderStatus::Pending).await, count_in(&db, RenderStatus::Done).await);
            assert_eq!(counted, (0, 0));
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn wrong_numbers_are_found_and_corrected() {
        let workspace = workspace();
        for database in [TestDatabase::sqlite(), TestDatabase::postgres()] {
            let db = Db::open(database.address(), DbOptions::default()).await.unwrap();
            let changes = "INSERT INTO render_count_changes VALUES ('wwwwwwwwwwww', 'failed', 3)";
            execute(&db, &["INSERT INTO render_counts VALUES ('wwwwwwwwwwww', 'done', 5)", changes]).await;
            execute(&db, &[ACCOUNT, WORKSPACE]).await;
            let found = async || is_miscounted(&mut db.read().await.unwrap(), &workspace).await.unwrap();
            assert!(found().await);
            let listed = list_workspaces(&mut db.read().await.unwrap(), None, 9).await.unwrap();
            assert_eq!(listed, std::slice::from_ref(&workspace));
            assert_eq!(list_workspaces(&mut db.read().await.unwrap(), Some(&workspace), 9).await.unwrap(), []);
            assert_eq!((count_in(&db, RenderStatus::Done).await, count_in(&db, RenderStatus::Failed).await), (5, 3));
            let recounted = workspace.clone();
            db.write(move |tx| Box::pin(async move { recount(tx, &recounted).await })).await.unwrap();
            assert!(!found().await);
            assert_eq!((count_in(&db, RenderStatus::Done).await, count_in(&db, RenderStatus::Failed).await), (0, 0));
            // The number is correct again when the recorded change has been added.
            assert_eq!(db.write(|tx| Box::pin(async move { add_changes(tx).await })).await.unwrap(), 1);
            assert_eq!((found().await, count_in(&db, RenderStatus::Failed).await), (false, 0));
        }
    }
}
