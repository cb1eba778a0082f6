//! Counters of the rate limits in the database, which several processes share.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use plinth_db::Db;
use plinth_db::rate_windows::{self, Counted, Window};
use tokio::sync::oneshot;

use super::{Allowance, allowance, first_or_exceeded, lock};
use crate::clock::Clock;
use crate::error::{Result, ServiceError};
use crate::fair_semaphore::FairSemaphore;

/// The limits that a request counts toward.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Limits {
    /// Account or client that sent the request.
    pub(super) holder: String,
    /// Key of each limit, and the maximum number of requests per window.
    pub(super) keys: Vec<(String, u32)>,
    pub(super) window_ms: i64,
}

type Response = oneshot::Sender<Result<Allowance>>;

/// Counts requests in the database. Statements that count under the same key wait for each other, each with a connection.
/// Therefore each process counts with at most one statement per holder at the same time, and counts all requests that wait for
/// this statement with the next one. Otherwise one holder could use up the connections.
// Source: decision 0070 in `docs/decisions`.
#[derive(Debug)]
pub(crate) struct SharedWindows {
    db: Db,
    clock: Clock,
    /// Requests that wait until they are counted.
    waiting: Mutex<HashMap<Limits, Vec<Response>>>,
    /// Permits for counting, one per holder.
    turns: FairSemaphore<String>,
    /// Windows whose limit is exceeded, by key.
    exceeded: Mutex<HashMap<String, Exceeded>>,
}

/// A window whose limit is exceeded. Further requests are rejected until the window ends.
#[derive(Clone, Copy, Debug)]
struct Exceeded {
    window: Window,
    /// Time of the database's clock at the instant `at`.
    now: i64,
    at: Instant,
}

impl SharedWindows {
    pub(super) fn new(db: Db, clock: Clock) -> Self {
        let turns = FairSemaphore::new(u64::MAX, 1);
        Self { db, clock, waiting: Mutex::default(), turns, exceeded: Mutex::default() }
    }

    /// Counts a request. Does not use the database if a limit is known to be exceeded.
    pub(super) async fn count(self: &Arc<Self>, limits: Limits) -> Result<Allowance> {
        if let Some(exceeded) = self.find_exceeded(&limits) {
            return Ok(exceeded);
        }
        let (response, counted) = oneshot::channel();
        let is_first = {
            let mut waiting = lock(&self.waiting);
            let group = waiting.entry(limits.clone()).or_default();
            group.push(response);
            group.len() == 1
        };
        if is_first {
            // A task of its own counts the group, because the client of the first request may disconnect.
            tokio::spawn(Arc::clone(self).count_group(limits));
        }
        counted.await.map_err(ServiceError::internal)?
    }

    /// Waits for the holder's turn, and then counts all requests that wait with the same limits.
    async fn count_group(self: Arc<Self>, limits: Limits) {
        let turn = self.turns.acquire(&limits.holder, 1).await;
        let mut group = lock(&self.waiting).remove(&limits).unwrap_or_default();
        group.retain(|response| !response.is_closed());
        if group.is_empty() {
            return;
        }
        let counted = match turn {
            Ok(_turn) => self.count_requests(&limits, group.len()).await,
            Err(error) => Err(error),
        };
        match counted {
            Ok(allowances) => {
                for (response, allowance) in group.into_iter().zip(allowances) {
                    let _client_has_left = response.send(allowance);
                }
            }
            Err(error) => {
                let error = Arc::new(error);
                for response in group {
                    let _client_has_left = response.send(Err(ServiceError::internal(Arc::clone(&error))));
                }
            }
        }
    }

    /// Counts several requests. Returns the allowance of each.
    async fn count_requests(&self, limits: &Limits, requests: usize) -> Result<Vec<Result<Allowance>>> {
        // While these requests waited, another request may have exceeded a limit.
        if let Some(exceeded) = self.find_exceeded(limits) {
            return Ok((0..requests).map(|_request| Ok(exceeded)).collect());
        }
        let requests = requests as u64;
        let mut conn = self.db.read().await?;
        let set_ms = self.clock.set_ms();
        let (counted, now) = rate_windows::count(&mut conn, &limits.keys, requests, limits.window_ms, set_ms).await?;
        drop(conn);
        for ((key, limit), Counted { window, .. }) in limits.keys.iter().zip(&counted) {
            if window.requests > u64::from(*limit) {
                lock(&self.exceeded).insert(key.clone(), Exceeded { window: *window, now, at: Instant::now() });
            }
        }
        Ok((1..=requests).map(|number| first_or_exceeded(each_limit(limits, &counted, number, now))).collect())
    }

    /// Returns the allowance of the first limit that is known to be exceeded.
    fn find_exceeded(&self, limits: &Limits) -> Option<Allowance> {
        let exceeded = lock(&self.exceeded);
        limits.keys.iter().find_map(|(key, limit)| {
            let known = exceeded.get(key)?;
            let now = self.clock.since_ms(known.now, known.at);
            (!known.window.is_over(now, limits.window_ms))
                .then(|| allowance(*limit, known.window, limits.window_ms, now))
        })
    }

    /// Forgets the windows that have ended.
    pub(super) fn forget_ended(&self, now: i64) {
        lock(&self.exceeded).retain(|_, known| known.window.ends_at > now);
    }
}

/// Returns the allowance under each limit of the request with this number among the requests that were counted together. The
/// first request has the number 1.
fn each_limit(limits: &Limits, counted: &[Counted], number: u64, now: i64) -> impl Iterator<Item = Allowance> {
    limits.keys.iter().zip(counted).map(move |((_key, limit), Counted { window, requests })| {
        let window = Window { requests: window.requests.saturating_sub(*requests) + number, ..*window };
        allowance(*limit, window, limits.window_ms, now)
    })
}

#[cfg(test)]
mod tests {
    use plinth_db::DbOptions;
    use plinth_testkit::TestDatabase;

    use super::*;

    #[test]
    fn requests_that_are_counted_together_have_successive_allowances() {
        let keys = vec![("key".to_owned(), 10), ("account".to_owned(), 100)];
        let limits = Limits { holder: "account".to_owned(), keys, window_ms: 60_000 };
        // Five requests were counted, of which two exceeded the first limit and were not counted under the second one.
        let counted = |requests, total| Counted { window: Window { requests: total, ends_at: 60_000 }, requests };
        let counted = [counted(5, 12), counted(3, 43)];
        let remaining =
            |number| each_limit(&limits, &counted, number, 0).map(|a| (a.remaining, a.is_exceeded)).collect();
        let of_requests: Vec<Vec<_>> = (1..=4).map(remaining).collect();
        assert_eq!(of_requests[0], [(2, false), (59, false)]);
        assert_eq!(of_requests[2], [(0, false), (57, false)]);
        assert_eq!(of_requests[3][0], (0, true));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn only_windows_that_have_ended_are_forgotten() {
        let database = TestDatabase::postgres();
        let db = Db::open(database.address(), DbOptions::default()).await.unwrap();
        let windows = SharedWindows::new(db, Clock::Database);
        for ends_at in [9, 10, 11] {
            let window = Window { requests: 1, ends_at };
            lock(&windows.exceeded).insert(format!("until {ends_at}"), Exceeded { window, now: 0, at: Instant::now() });
        }
        windows.forget_ended(10);
        assert_eq!(lock(&windows.exceeded).keys().collect::<Vec<_>>(), ["until 11"]);
    }
}
