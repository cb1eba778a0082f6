//! The number of renders of each workspace in each state. Triggers insert each change as a row, so that transactions that change
//! renders of one workspace do not wait for each other. The number is the one in the table `render_counts` plus all changes that
//! have not been added to it yet.

use std::collections::BTreeMap;

use plinth_spec::id::WorkspaceId;
use plinth_spec::state::RenderStatus;

use crate::sql::{Sql, params};
use crate::{Conn, Result, Tx};

/// Class of the advisory lock of [`add_changes`] and [`recount`]. Classes 1 and 2 are those of the queue and of previews.
const LOCK: i64 = 3;
/// Maximum number of changes that one transaction adds.
pub const CHANGES_AT_ONCE: u64 = 10_000;

/// Returns the number of renders of a workspace that are in a state.
pub async fn count(conn: &mut Conn, workspace: &WorkspaceId, status: RenderStatus) -> Result<u64> {
    // One statement, because it sees each change either as a row of its own or as part of the number.
    let sql = "SELECT CAST(coalesce(sum(n), 0) AS BIGINT) AS n FROM (\
               SELECT renders AS n FROM render_counts WHERE workspace_id = $1 AND status = $2 \
               UNION ALL SELECT change FROM render_count_changes WHERE workspace_id = $1 AND status = $2) counted";
    conn.fetch_one(sql, params![workspace, status.as_str()]).await?.count("n")
}

/// Adds the recorded changes to the numbers. Returns how many it added; call it again if that is [`CHANGES_AT_ONCE`].
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
    Ok(changes.len() as u64)
}

/// Lists the workspaces for which a number differs from the renders. It is empty unless the triggers were switched off, for example
/// by a restore.
pub async fn find_miscounted(conn: &mut Conn) -> Result<Vec<WorkspaceId>> {
    let sql = "SELECT DISTINCT workspace_id FROM (SELECT workspace_id, status FROM (\
               SELECT workspace_id, status, count(*) AS n FROM renders WHERE deleted_at IS NULL GROUP BY workspace_id, status \
               UNION ALL SELECT workspace_id, status, -renders FROM render_counts \
               UNION ALL SELECT workspace_id, status, -change FROM render_count_changes) counted \
               GROUP BY workspace_id, status HAVING sum(n) <> 0) differing ORDER BY workspace_id";
    conn.fetch_all(sql, params![]).await?.iter().map(|row| row.parsed("workspace_id", WorkspaceId::parse)).collect()
}

/// Sets the numbers of a workspace to those of its renders.
pub async fn recount(tx: &mut Tx, workspace: &WorkspaceId) -> Result<()> {
    lock(tx).await?;
    tx.execute("DELETE FROM render_counts WHERE workspace_id = $1", params![workspace]).await?;
    // One statement, because a render that changes now is seen either with its change or without both.
    let sql = "INSERT INTO render_counts SELECT workspace_id, status, CAST(sum(n) AS BIGINT) FROM (\
               SELECT workspace_id, status, 1 AS n FROM renders WHERE workspace_id = $1 AND deleted_at IS NULL \
               UNION ALL SELECT workspace_id, status, -change FROM render_count_changes WHERE workspace_id = $1) counted \
               GROUP BY workspace_id, status";
    tx.execute(sql, params![workspace]).await.map(drop)
}

/// Waits until no other transaction adds changes. On SQLite there is only one writer.
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
    use crate::{Db, DbError, DbOptions};

    /// Writes as a program does while triggers are switched off: only the numbers of the workspace `w` are there, without rows.
    async fn miscount(db: &Db, numbers: &'static str, changes: &'static str) {
        let writing = db.write(move |tx| {
            Box::pin(async move {
                for sql in [numbers, changes] {
                    tx.execute(sql, params![]).await?;
                }
                Ok::<_, DbError>(())
            })
        });
        writing.await.unwrap();
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn wrong_numbers_are_found_and_corrected() {
        let workspace = WorkspaceId::parse("wwwwwwwwwwww").unwrap();
        for database in [TestDatabase::sqlite(), TestDatabase::postgres()] {
            let db = Db::open(database.address(), DbOptions::default()).await.unwrap();
            miscount(
                &db,
                "INSERT INTO render_counts VALUES ('wwwwwwwwwwww', 'done', 5)",
                "INSERT INTO render_count_changes VALUES ('wwwwwwwwwwww', 'failed', 3)",
            )
            .await;
            let found = async || find_miscounted(&mut db.read().await.unwrap()).await.unwrap();
            let wrong = async |status| count(&mut db.read().await.unwrap(), &workspace, status).await.unwrap();
            assert_eq!(found().await, [workspace.clone()]);
            assert_eq!((wrong(RenderStatus::Done).await, wrong(RenderStatus::Failed).await), (5, 3));
            let recounted = workspace.clone();
            db.write(move |tx| Box::pin(async move { recount(tx, &recounted).await })).await.unwrap();
            assert_eq!(found().await, []);
            assert_eq!((wrong(RenderStatus::Done).await, wrong(RenderStatus::Failed).await), (0, 0));
            // The change is added to the number that makes up for it.
            assert_eq!(db.write(|tx| Box::pin(async move { add_changes(tx).await })).await.unwrap(), 1);
            assert_eq!((found().await, wrong(RenderStatus::Failed).await), (Vec::new(), 0));
        }
    }
}
