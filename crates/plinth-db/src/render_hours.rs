//! The number of renders of each workspace whose last change was in a given hour. Triggers record each change of a number as a new
//! row, for the reason that [`render_counts`](crate::render_counts) gives. That module also adds the recorded changes to the
//! numbers and corrects wrong numbers.

use std::collections::BTreeMap;

use plinth_spec::id::WorkspaceId;
use plinth_spec::page::Total;

use crate::sql::{Sql, params};
use crate::{Conn, Result, Tx};

/// Milliseconds per hour. The SQL of the triggers contains the same number.
const HOUR_MS: i64 = 3_600_000;

/// Maximum number of renders that are counted one by one. A database counts that many in 10 to 25 ms.
pub(crate) const MOST_COUNTED: i64 = 100_000;

/// Returns the number of renders of a workspace that changed at or after `since`. Adds the numbers of whole hours. Of the hour
/// that contains `since`, the statement counts the renders in the shorter part, before or after `since`. If they are more than
/// 100 000, the total is an estimate.
pub(crate) async fn count_since(conn: &mut Conn, workspace: &WorkspaceId, since: i64) -> Result<Total> {
    count_since_reading(conn, workspace, since, MOST_COUNTED).await
}

/// Works like [`count_since`], but counts at most `most` renders one by one. If the shorter part has more renders, assumes that the
/// renders of the hour are evenly spread from its start to the last of them.
async fn count_since_reading(conn: &mut Conn, workspace: &WorkspaceId, since: i64, most: i64) -> Result<Total> {
    let since = since.clamp(0, i64::MAX - HOUR_MS);
    let hour = since / HOUR_MS;
    let (start, end) = (hour * HOUR_MS, (hour + 1) * HOUR_MS);
    let is_before = since - start < end - since;
    let (from, to) = if is_before { (start, since) } else { (since, end) };
    // A single statement sees each change exactly once: as a row, or as part of a number.
    let sql = "SELECT CAST(coalesce(sum(CASE WHEN hour > $2 THEN n END), 0) AS BIGINT) AS later, \
               CAST(coalesce(sum(CASE WHEN hour = $2 THEN n END), 0) AS BIGINT) AS in_hour, \
               (SELECT count(*) FROM (SELECT 1 AS one FROM renders WHERE workspace_id = $1 AND deleted_at IS NULL \
               AND updated_at >= $3 AND updated_at < $4 LIMIT $5) part) AS in_part, \
               (SELECT max(updated_at) FROM renders WHERE workspace_id = $1 AND deleted_at IS NULL AND updated_at < $6) AS last \
               FROM (\
               SELECT hour, renders AS n FROM render_hours WHERE workspace_id = $1 AND hour >= $2 \
               UNION ALL SELECT hour, change FROM render_hour_changes WHERE workspace_id = $1 AND hour >= $2) numbers";
    let row = conn.fetch_one(sql, params![workspace, hour, from, to, most.saturating_add(1), end]).await?;
    let (later, in_hour, in_part) = (row.count("later")?, row.count("in_hour")?, row.count("in_part")?);
    if in_part > most.unsigned_abs() {
        let past_last = row.maybe_int("last")?.map_or(end, |last| last + 1);
        let after = share(in_hour, past_last - since, past_last - start);
        let after = if is_before { after.min(in_hour.saturating_sub(in_part)) } else { after.max(in_part) };
        return Ok(Total::estimate(later + after));
    }
    let after = if is_before { in_hour.saturating_sub(in_part) } else { in_part };
    Ok(Total::exact(later + after))
}

/// Returns `number * part / whole`, rounded down. A negative part counts as 0.
fn share(number: u64, part: i64, whole: i64) -> u64 {
    let [part, whole] = [part.max(0), whole.max(1)].map(|ms| u128::from(ms.unsigned_abs()));
    u64::try_from(u128::from(number) * part / whole).unwrap_or(number)
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

#[cfg(test)]
mod tests {
    use plinth_testkit::TestDatabase;

    use super::*;
    use crate::test_rows::{ACCOUNT, MODEL, RENDERS_OF_MODEL, WORKSPACE, execute};
    use crate::{Db, DbOptions};

    const MINUTE_MS: i64 = 60_000;

    #[tokio::test(flavor = "multi_thread")]
    async fn a_total_is_an_estimate_if_many_renders_changed_in_the_part_of_the_hour() {
        let workspace = WorkspaceId::parse("wwwwwwwwwwww").unwrap();
        for database in [TestDatabase::sqlite(), TestDatabase::postgres()] {
            let db = Db::open(database.address(), DbOptions::default()).await.unwrap();
            execute(&db, &[ACCOUNT, WORKSPACE, MODEL, RENDERS_OF_MODEL]).await;
            let conn = &mut db.read().await.unwrap();
            // In the first hour, one render changed in each of the minutes 1 to 40. Two changed in the next hour.
            for (since, most, total) in [
                (10 * MINUTE_MS, 9, Total::exact(31 + 2)),
                (10 * MINUTE_MS, 8, Total::estimate(40 * 30 / 40 + 2)),
                (40 * MINUTE_MS, 1, Total::exact(1 + 2)),
                (40 * MINUTE_MS, 0, Total::estimate(1 + 2)),
                (60 * MINUTE_MS, 0, Total::exact(2)),
            ] {
                assert_eq!(
                    count_since_reading(conn, &workspace, since, most).await.unwrap(),
                    total,
                    "{most} since {since}"
                );
            }
        }
    }
}
