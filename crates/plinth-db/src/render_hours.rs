//! The number of renders of each workspace whose last change was in a given hour. Triggers record each change of a number as a new
//! row, for the reason that [`render_counts`](crate::render_counts) gives. That module also adds the recorded changes to the
//! numbers and corrects wrong numbers.

use std::collections::BTreeMap;

use plinth_spec::id::WorkspaceId;

use crate::sql::{Sql, params};
use crate::{Conn, Result, Tx};

/// Milliseconds per hour. The SQL of the triggers contains the same number.
const HOUR_MS: i64 = 3_600_000;

// Builds a single statement, which sees each change exactly once: as a row, or as part of a number. The parameters are the
// workspace, the hour, and the start and end of the time for which renders are counted one by one.
macro_rules! numbers {
    ($hours:literal, $sign:literal) => {
        concat!(
            "SELECT CAST(coalesce(sum(n), 0) AS BIGINT) ",
            $sign,
            " (SELECT count(*) FROM renders WHERE workspace_id = $1 AND deleted_at IS NULL \
             AND updated_at >= $3 AND updated_at < $4) AS n FROM (\
             SELECT renders AS n FROM render_hours WHERE workspace_id = $1 AND hour ",
            $hours,
            " $2 UNION ALL SELECT change FROM render_hour_changes WHERE workspace_id = $1 AND hour ",
            $hours,
            " $2) numbers"
        )
    };
}

/// Returns the number of renders of a workspace that changed at or after `since`. Adds the numbers of whole hours. Of the hour
/// that contains `since`, the statement counts the renders in the shorter part, before or after `since`, and subtracts or adds
/// them.
pub(crate) async fn count_since(conn: &mut Conn, workspace: &WorkspaceId, since: i64) -> Result<u64> {
    let since = since.clamp(0, i64::MAX - HOUR_MS);
    let hour = since / HOUR_MS;
    let (start, end) = (hour * HOUR_MS, (hour + 1) * HOUR_MS);
    let (sql, from, to) = if since - start < end - since {
        (numbers!(">=", "-"), start, since)
    } else {
        (numbers!(">", "+"), since, end)
    };
    conn.fetch_one(sql, params![workspace, hour, from, to]).await?.count("n")
}

/// Adds at most `limit` recorded changes to the numbers. Returns the number of added changes. Only one transaction at a time may
/// call this function.
pub(crate) async fn add_changes(tx: &mut Tx, limit: u64) -> Result<u64> {
    macro_rules! take {
        ($address:literal) => {
            concat!(
                "DELETE FROM render_hour_changes WHERE ",
                $address,
                " IN (SELECT ",
                $address,
                " FROM render_hour_changes LIMIT $1) RETURNING workspace_id, hour, change"
            )
        };
    }
    let sql = Sql { sqlite: take!("rowid"), postgres: take!("ctid") };
    let changes = tx.fetch_all(sql, params![limit.cast_signed()]).await?;
    let mut sums = BTreeMap::<(String, i64), i64>::new();
    for row in &changes {
        *sums.entry((row.text("workspace_id")?, row.int("hour")?)).or_default() += row.int("change")?;
    }
    let sql = "INSERT INTO render_hours (workspace_id, hour, renders) VALUES ($1, $2, $3) \
               ON CONFLICT (workspace_id, hour) DO UPDATE SET renders = render_hours.renders + excluded.renders";
    for ((workspace, hour), sum) in &sums {
        tx.execute(sql, params![workspace.as_str(), *hour, *sum]).await?;
    }
    Ok(changes.len() as u64)
}

/// Returns whether a number of a workspace differs from the renders in the database.
pub(crate) async fn is_miscounted(conn: &mut Conn, workspace: &WorkspaceId) -> Result<bool> {
    let sql = "SELECT hour FROM (\
               SELECT updated_at / 3600000 AS hour, count(*) AS n FROM renders WHERE workspace_id = $1 AND deleted_at IS NULL \
               GROUP BY updated_at / 3600000 \
               UNION ALL SELECT hour, -renders FROM render_hours WHERE workspace_id = $1 \
               UNION ALL SELECT hour, -change FROM render_hour_changes WHERE workspace_id = $1) counted \
               GROUP BY hour HAVING sum(n) <> 0 LIMIT 1";
    Ok(conn.fetch_optional(sql, params![workspace]).await?.is_some())
}

/// Counts the renders of a workspace again and sets its numbers. Only one transaction at a time may call this function.
pub(crate) async fn recount(tx: &mut Tx, workspace: &WorkspaceId) -> Result<()> {
    tx.execute("DELETE FROM render_hours WHERE workspace_id = $1", params![workspace]).await?;
    // A single statement sees a render that changes at this moment either together with its recorded change, or without.
    let sql = "INSERT INTO render_hours SELECT workspace_id, hour, CAST(sum(n) AS BIGINT) FROM (\
               SELECT workspace_id, updated_at / 3600000 AS hour, 1 AS n FROM renders \
               WHERE workspace_id = $1 AND deleted_at IS NULL \
               UNION ALL SELECT workspace_id, hour, -change FROM render_hour_changes WHERE workspace_id = $1) counted \
               GROUP BY workspace_id, hour";
    tx.execute(sql, params![workspace]).await.map(drop)
}
