//! Request counters of the rate limits. Each key has one fixed time window.

use std::fmt::Write as _;

use crate::sql::{Param, Sql, now_ms, params};
use crate::{Conn, DbError, Result, Tx};

/// Maximum time in milliseconds by which a window may start after the time at which a request read the clock. While the request
/// waited for a lock, another request may have started the window; a statement ends after this time
/// ([`TimeLimits::statement`](crate::TimeLimits)). A window that starts later is from before the clock was set back.
const MAX_AHEAD_MS: i64 = 30_000;

/// State of a window after requests were counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Number of requests in this window, including the requests that were just counted.
    pub requests: u64,
    /// End of the window.
    pub ends_at: i64,
}

impl Window {
    /// Returns whether requests are no longer counted in this window, whose length is `length_ms`: it has ended, or the clock was set
    /// back since it started.
    pub const fn is_over(self, now: i64, length_ms: i64) -> bool {
        self.ends_at <= now || self.ends_at - length_ms > now + MAX_AHEAD_MS
    }
}

/// Result of [`count`] for one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    /// The key's window, which includes all requests that were counted.
    pub window: Window,
    /// How many of the requests were counted under this key.
    pub requests: u64,
}

/// Counts several requests under several keys, each given with its limit, in the current window of each key. Starts a new
/// window if the current one is over ([`Window::is_over`]). A request that exceeds the limit of a key is not counted under the
/// keys after it. Returns the result for each key under which a request was counted, and the current time. `now` is the current
/// time; `None` means the time of the database's clock.
///
/// Runs a single statement, because every request to the API waits for it. The commit does not wait for the disk, so the
/// counts of the last second may be lost if the database crashes.
/// Errors: the database is SQLite. Services on SQLite keep their counters in memory.
pub async fn count(
    conn: &mut Conn,
    keys: &[(String, u32)],
    requests: u64,
    length_ms: i64,
    now: Option<i64>,
) -> Result<(Vec<Counted>, i64)> {
    let (mut steps, mut columns, mut joins) = (String::new(), String::new(), String::new());
    let requests = i64::try_from(requests).unwrap_or(i64::MAX);
    let mut values = vec![Param::from(now), Param::from(length_ms), Param::from(requests)];
    // The SQL of `Window::is_over`.
    let is_over = format!("w.ends_at <= excluded.started_at OR w.started_at > excluded.started_at + {MAX_AHEAD_MS}");
    for (n, (key, limit)) in keys.iter().enumerate() {
        let (key_number, limit_number) = (values.len() + 1, values.len() + 2);
        values.extend([Param::from(key.as_str()), Param::from(i64::from(*limit))]);
        // Each step counts the requests that the step before has let pass, so the steps are executed in order.
        let (counted, source) = n.checked_sub(1).map_or_else(
            || ("CAST($3 AS BIGINT)".to_owned(), "FROM clock".to_owned()),
            |before| {
                let passed = format!("(SELECT passed FROM step{before})");
                let source = format!("FROM clock, step{before} WHERE step{before}.passed > 0");
                (passed, source)
            },
        );
        let _never_fails = write!(
            steps,
            ", step{n} AS (INSERT INTO rate_windows AS w (key, started_at, ends_at, requests) \
             SELECT ${key_number}, clock.now, clock.now + CAST($2 AS BIGINT), {counted} {source} \
             ON CONFLICT (key) DO UPDATE SET \
             requests = CASE WHEN {is_over} THEN excluded.requests ELSE w.requests + excluded.requests END, \
             started_at = CASE WHEN {is_over} THEN excluded.started_at ELSE w.started_at END, \
             ends_at = CASE WHEN {is_over} THEN excluded.ends_at ELSE w.ends_at END \
             RETURNING requests, ends_at, {counted} AS counted, \
             LEAST({counted}, GREATEST(0, CAST(${limit_number} AS BIGINT) - (requests - {counted}))) AS passed)"
        );
        let _never_fails = write!(
            columns,
            ", step{n}.requests AS requests{n}, step{n}.ends_at AS ends_at{n}, step{n}.counted AS counted{n}"
        );
        let _never_fails = write!(joins, " LEFT JOIN step{n} ON true");
    }
    let sql = format!(
        "WITH clock AS MATERIALIZED (SELECT coalesce(CAST($1 AS BIGINT), {now}) AS now, \
         set_config('synchronous_commit', 'off', true) AS commits){steps} \
         SELECT clock.now, clock.commits{columns} FROM clock{joins}",
        now = now_ms!(postgres)
    );
    let rows = conn.fetch_all_built(&sql, &values).await?;
    let row = rows.first().ok_or(DbError::Corrupt { column: "now", value: String::new() })?;
    let mut results = Vec::with_capacity(keys.len());
    for &(requests, ends_at, counted) in COLUMNS.iter().take(keys.len()) {
        let Some(requests) = row.maybe_int(requests)? else { break };
        let window = Window { requests: requests.unsigned_abs(), ends_at: row.int(ends_at)? };
        results.push(Counted { window, requests: row.count(counted)? });
    }
    Ok((results, row.int("now")?))
}

/// Names of the result columns for each key. A request has at most three keys.
const COLUMNS: [(&str, &str, &str); 3] = [
    ("requests0", "ends_at0", "counted0"),
    ("requests1", "ends_at1", "counted1"),
    ("requests2", "ends_at2", "counted2"),
];

/// Returns the key's window, which may have ended; `None` if the key has none.
pub async fn find(conn: &mut Conn, key: &str) -> Result<Option<Window>> {
    let sql = "SELECT requests, ends_at FROM rate_windows WHERE key = $1";
    let row = conn.fetch_optional(sql, params![key]).await?;
    row.map(|row| Ok(Window { requests: row.count("requests")?, ends_at: row.int("ends_at")? })).transpose()
}

/// Deletes windows that have ended, except those in which other transactions count requests. Returns the number of deleted windows.
///
/// The transaction should do nothing else. It locks windows in any order, so if it also waited for a lock, it could deadlock with
/// a request that counts under several keys.
pub async fn delete_ended(tx: &mut Tx, now: i64) -> Result<u64> {
    let sql = Sql {
        sqlite: "DELETE FROM rate_windows WHERE ends_at <= $1",
        postgres: "WITH ended AS MATERIALIZED (SELECT key FROM rate_windows WHERE ends_at <= $1 FOR UPDATE SKIP LOCKED) \
                   DELETE FROM rate_windows WHERE key IN (SELECT key FROM ended)",
    };
    tx.execute(sql, params![now]).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TimeLimits;

    #[test]
    fn a_window_is_over_after_its_end_or_if_the_clock_was_set_back() {
        let window = Window { requests: 1, ends_at: 160_000 };
        let is_over = |now| window.is_over(now, 60_000);
        assert!(is_over(160_000) && !is_over(159_999) && !is_over(100_000));
        assert!(!is_over(70_000) && is_over(69_999), "it starts at 100 s");
    }

    #[test]
    fn a_window_may_start_while_a_statement_waits() {
        assert_eq!(TimeLimits::default().statement.as_millis(), u128::from(MAX_AHEAD_MS.unsigned_abs()));
    }
}
