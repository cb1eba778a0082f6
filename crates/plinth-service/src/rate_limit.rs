//! Rate limits of requests and password attempts.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use plinth_db::Db;
use plinth_db::rate_windows::{self, Window};
use plinth_spec::{ErrorCode, limits};

use crate::access::Caller;
use crate::error::{Result, ServiceError};
use crate::hash::sha256_hex;
use crate::service::Service;

/// Length of the window for password attempts, in milliseconds.
const PASSWORDS_MS: i64 = 600_000;

/// A kind of rate limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meter {
    /// All requests of an API key, or of all browser sessions of an account together.
    Requests,
    /// Ingest requests, which count as requests too.
    Ingests,
}

/// State of a rate limit after a request was counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowance {
    /// Maximum number of requests per window.
    pub limit: u32,
    /// Requests left in the current window.
    pub remaining: u32,
    /// Seconds until the next window, rounded up.
    pub reset_secs: u64,
    /// Whether this request exceeds the limit.
    pub is_exceeded: bool,
}

impl Allowance {
    /// Returns an error if the request exceeds the limit.
    pub fn check(self) -> Result<Self> {
        if !self.is_exceeded {
            return Ok(self);
        }
        let message = format!("more than {} requests; try again in {} s", self.limit, self.reset_secs);
        Err(ServiceError {
            retry_after_secs: Some(self.reset_secs),
            ..ServiceError::new(ErrorCode::RateLimited, message)
        })
    }
}

impl Service {
    /// Counts a request of the caller's API key, or of the account if the caller uses a browser session.
    pub async fn count_request(&self, caller: &Caller, meter: Meter) -> Result<Allowance> {
        let (name, limit, window_ms) = match meter {
            Meter::Requests => ("requests", self.options.requests_per_minute, 60_000),
            Meter::Ingests => ("ingests", self.options.ingests_per_10_minutes, 600_000),
        };
        let token = caller.token_id.as_ref();
        let key = token.map_or_else(|| format!("{name}:of:{}", caller.account_id), |token| format!("{name}:{token}"));
        self.count(key, limit, window_ms).await
    }

    /// Counts a password attempt: for this e-mail address, and for all addresses together.
    pub(crate) async fn count_password(&self, email: &str) -> Result<Allowance> {
        let key = format!("password:{}", sha256_hex(email));
        let own = self.count(key, limits::PASSWORDS_PER_ADDRESS, PASSWORDS_MS).await?;
        // A rejected attempt must not use up the limit that all addresses share.
        if own.is_exceeded {
            return Ok(own);
        }
        self.count("passwords".to_owned(), limits::PASSWORDS_IN_ALL, PASSWORDS_MS).await
    }

    /// Counts a request in a window that starts with its first request: in the database if several processes share it, and
    /// otherwise in memory.
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
            // Another request may have started the window after this one read the clock, so the difference needs a clamp.
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

/// Storage of the request counters.
#[derive(Clone, Debug)]
pub(crate) enum Windows {
    /// In the memory of this process, which avoids a disk write per request.
    Memory(Arc<Mutex<HashMap<String, Window>>>),
    /// In the database, shared by all its processes.
    Database,
}

impl Windows {
    pub(crate) fn of(db: &Db) -> Self {
        if db.is_shared() { Self::Database } else { Self::Memory(Arc::default()) }
    }

    /// Removes windows that have ended from memory.
    pub(crate) fn forget_ended(&self, now: i64) {
        if let Self::Memory(windows) = self {
            lock(windows).retain(|_, window| window.ends_at > now);
        }
    }
}

fn lock(windows: &Mutex<HashMap<String, Window>>) -> MutexGuard<'_, HashMap<String, Window>> {
    windows.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Counts a request in the key's current window; starts a new window if that one has ended.
fn count_in(windows: &mut HashMap<String, Window>, key: String, length_ms: i64, now: i64) -> Window {
    let fresh = Window { requests: 0, ends_at: now + length_ms };
    let window = windows.entry(key).or_insert(fresh);
    if window.ends_at <= now {
        *window = fresh;
    }
    window.requests += 1;
    *window
}
