//! How often somebody may call, or try a password.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use plinth_db::Db;
use plinth_db::rate_windows::{self, Window};
use plinth_spec::{ErrorCode, limits};

use crate::access::Caller;
use crate::error::{Result, ServiceError};
use crate::hash::sha256_hex;
use crate::service::Service;

/// Attempts with passwords are counted over this time.
const PASSWORDS_MS: i64 = 600_000;

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meter {
    /// Every request of a key, or of an account's browsers.
    Requests,
    /// Its ingests, on top of that.
    Ingests,
}

/// What is left of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowance {
    /// Requests per window.
    pub limit: u32,
    /// Requests that are left in this one.
    pub remaining: u32,
    /// Seconds until the next one, rounded up.
    pub reset_secs: u64,
    /// Whether this request is over the limit.
    pub is_exceeded: bool,
}

impl Allowance {
    /// Refuses a request that is over the limit.
    pub fn check(self) -> Result<Self> {
        if !self.is_exceeded {
            return Ok(self);
        }
        let words = format!("more than {} requests; try again in {} s", self.limit, self.reset_secs);
        Err(ServiceError {
            retry_after_secs: Some(self.reset_secs),
            ..ServiceError::new(ErrorCode::RateLimited, words)
        })
    }
}

impl Service {
    /// Counts a request of a key, or of an account's browsers together.
    pub async fn count_request(&self, caller: &Caller, meter: Meter) -> Result<Allowance> {
        let (name, limit, window_ms) = match meter {
            Meter::Requests => ("requests", self.options.requests_per_minute, 60_000),
            Meter::Ingests => ("ingests", self.options.ingests_per_10_minutes, 600_000),
        };
        let token = caller.token_id.as_ref();
        let key = token.map_or_else(|| format!("{name}:of:{}", caller.account_id), |token| format!("{name}:{token}"));
        self.count(key, limit, window_ms).await
    }

    /// Counts an attempt with a password: for one address, and for all together.
    pub(crate) async fn count_password(&self, email: &str) -> Result<Allowance> {
        let key = format!("password:{}", sha256_hex(email));
        let own = self.count(key, limits::PASSWORDS_PER_ADDRESS, PASSWORDS_MS).await?;
        // What is refused already uses up nothing of what others may try.
        if own.is_exceeded {
            return Ok(own);
        }
        self.count("passwords".to_owned(), limits::PASSWORDS_IN_ALL, PASSWORDS_MS).await
    }

    /// Counts in windows that begin with the first request: on all machines together where they share a database, else in
    /// this process, which is the only one.
    async fn count(&self, key: String, limit: u32, window_ms: i64) -> Result<Allowance> {
        let (window, now) = match &self.windows {
            Windows::Memory(windows) => {
                let now = self.options.clock.now_ms(&mut self.db.read().await?).await?;
                (count_in(&mut lock(windows), key, window_ms, now), now)
            }
            Windows::Database => self.count_in_database(key, window_ms).await?,
        };
        let left = u64::from(limit).saturating_sub(window.requests);
        Ok(Allowance {
            limit,
            remaining: u32::try_from(left).unwrap_or(limit),
            // Another request may have begun the window after this one looked at the clock.
            reset_secs: (window.ends_at - now).clamp(1, window_ms).unsigned_abs().div_ceil(1000),
            is_exceeded: window.requests > u64::from(limit),
        })
    }

    async fn count_in_database(&self, key: String, window_ms: i64) -> Result<(Window, i64)> {
        let counted = self.write_at(move |tx, now| {
            Box::pin(async move {
                let window = rate_windows::count(tx, &key, window_ms, now).await?;
                Ok::<_, ServiceError>((window, now))
            })
        });
        counted.await
    }
}

/// Where requests are counted.
#[derive(Clone, Debug)]
pub(crate) enum Windows {
    /// Here. A request costs no write, which waits for the disk.
    Memory(Arc<Mutex<HashMap<String, Window>>>),
    /// In the database, for all processes on it together.
    Database,
}

impl Windows {
    pub(crate) fn of(db: &Db) -> Self {
        if db.is_shared() { Self::Database } else { Self::Memory(Arc::default()) }
    }

    /// Forgets windows in memory that have ended.
    pub(crate) fn forget_ended(&self, now: i64) {
        if let Self::Memory(windows) = self {
            lock(windows).retain(|_, window| window.ends_at > now);
        }
    }
}

fn lock(windows: &Mutex<HashMap<String, Window>>) -> MutexGuard<'_, HashMap<String, Window>> {
    windows.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Counts a request: in the current window, or in a new one when that has ended.
fn count_in(windows: &mut HashMap<String, Window>, key: String, length_ms: i64, now: i64) -> Window {
    let fresh = Window { requests: 0, ends_at: now + length_ms };
    let window = windows.entry(key).or_insert(fresh);
    if window.ends_at <= now {
        *window = fresh;
    }
    window.requests += 1;
    *window
}
