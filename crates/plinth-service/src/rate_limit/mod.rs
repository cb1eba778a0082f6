//! Rate limits of requests and password attempts.

mod shared;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use plinth_db::Db;
use plinth_db::rate_windows::{self, Window};
use plinth_spec::id::AccountId;
use plinth_spec::{ErrorCode, limits};

use crate::access::Caller;
use crate::clock::Clock;
use crate::error::{Result, ServiceError};
use crate::hash::sha256_hex;
use crate::service::Service;
use shared::{Limits, SharedWindows};

/// Length of the window for password attempts, in milliseconds.
const PASSWORDS_MS: i64 = 600_000;
const HOUR_MS: i64 = 3_600_000;

/// A kind of rate limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meter {
    /// All requests of an API key, or of all browser sessions of an account together.
    Requests,
    /// Ingest requests. They count toward the limit of all requests, too.
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
        let message = format!("the limit of {} requests is exceeded; try again in {} s", self.limit, self.reset_secs);
        Err(ServiceError {
            retry_after_secs: Some(self.reset_secs),
            ..ServiceError::new(ErrorCode::RateLimited, message)
        })
    }
}

impl Service {
    /// Counts a request of the caller. For an API key, counts it toward the limit of the key and toward the limit of
    /// the account, which is ten times as high. For a browser session, counts it toward the limit of all sessions of
    /// the account.
    pub async fn count_request(&self, caller: &Caller, meter: Meter) -> Result<Allowance> {
        let (name, limit, window_ms) = match meter {
            Meter::Requests => ("requests", self.options.requests_per_minute, 60_000),
            Meter::Ingests => ("ingests", self.options.ingests_per_10_minutes, 600_000),
        };
        let account = &caller.account_id;
        let keys = match &caller.token_id {
            None => vec![(format!("{name}:of:{account}"), limit)],
            Some(token) => {
                let of_account = limit.saturating_mul(limits::ACCOUNT_FACTOR);
                vec![(format!("{name}:{token}"), limit), (format!("{name}:by:{account}"), of_account)]
            }
        };
        self.count(account.as_str(), keys, window_ms).await
    }

    /// Counts an action of an account in a window that only this kind of action uses. `limit` is the limit of the window.
    /// Errors: `rate_limited` if there were too many actions.
    pub(crate) async fn count_for(&self, account: &AccountId, action: &str, limit: u32, window_ms: i64) -> Result<()> {
        self.count(account.as_str(), vec![(format!("{action}:{account}"), limit)], window_ms).await?.check().map(drop)
    }

    /// Counts a request for a link for a new password. Returns whether a mail may be sent to the address.
    /// Errors: `rate_limited` if the client made too many requests.
    pub(crate) async fn count_recovery(&self, client: &str, is_shared: bool, email: &str) -> Result<bool> {
        let factor = if is_shared { limits::PASSWORDS_PER_UNTRUSTED_PROXY / limits::PASSWORDS_PER_CLIENT } else { 1 };
        let of_client = limits::PASSWORD_LINKS_PER_CLIENT * factor;
        self.count(client, vec![(format!("recovery:{client}"), of_client)], HOUR_MS).await?.check()?;
        let of_address = vec![(format!("recovery:to:{}", sha256_hex(email)), limits::PASSWORD_LINKS_PER_ADDRESS)];
        Ok(!self.count(client, of_address, HOUR_MS).await?.is_exceeded)
    }

    /// Counts an attempt to sign in with a password for an e-mail address. `client` is the network of the client.
    /// `is_shared` says that several clients share this network, because the network belongs to a reverse proxy.
    /// Errors: `rate_limited` if there were too many attempts.
    pub(crate) async fn count_password(&self, client: &str, is_shared: bool, email: &str) -> Result<()> {
        let account = sha256_hex(email);
        let of_client = if is_shared { limits::PASSWORDS_PER_UNTRUSTED_PROXY } else { limits::PASSWORDS_PER_CLIENT };
        let (holder, client) = (client, format!("password:{client}"));
        // The limit of the client is checked before all others. Otherwise a client could create a window for each of an
        // unlimited number of addresses.
        if let Some(allowance) = self.find_exhausted(&client, of_client, PASSWORDS_MS).await? {
            return allowance.check().map(drop);
        }
        // The order matters: an attempt that exceeds one limit is not counted toward the later limits, which are shared
        // with other clients.
        let keys = vec![
            (format!("{client}:{account}"), limits::PASSWORDS_PER_CLIENT_AND_ACCOUNT),
            (client, of_client),
            (format!("password:{account}"), limits::PASSWORDS_PER_ACCOUNT),
        ];
        self.count(holder, keys, PASSWORDS_MS).await?.check().map(drop)
    }

    /// Returns the allowance of a key if its limit is reached, so that the next request would exceed it.
    async fn find_exhausted(&self, key: &str, limit: u32, window_ms: i64) -> Result<Option<Allowance>> {
        let mut conn = self.db.read().await?;
        let now = self.options.clock.now_ms(&mut conn).await?;
        let window = match &self.windows {
            Windows::Memory(windows) => lock(windows).get(key).copied(),
            Windows::Database(_) => rate_windows::find(&mut conn, key).await?,
        };
        let exhausted = window.filter(|window| !window.is_over(now, window_ms) && window.requests >= u64::from(limit));
        Ok(exhausted.map(|window| Allowance { is_exceeded: true, ..allowance(limit, window, window_ms, now) }))
    }

    /// Counts a request of a holder under several keys, each of which has a limit. A window starts with its first request. The
    /// counters are in the database if several processes share it, and otherwise in memory. Stops at the first key whose limit
    /// is exceeded, and returns the allowance of this key. If no limit is exceeded, returns the allowance of the first key.
    async fn count(&self, holder: &str, keys: Vec<(String, u32)>, window_ms: i64) -> Result<Allowance> {
        match &self.windows {
            Windows::Database(shared) => shared.count(Limits { holder: holder.to_owned(), keys, window_ms }).await,
            Windows::Memory(windows) => {
                let now = self.options.clock.read_ms(&self.db).await?;
                let mut windows = lock(windows);
                let counting = keys
                    .into_iter()
                    .map(|(key, limit)| allowance(limit, count_in(&mut windows, key, window_ms, now), window_ms, now));
                first_or_exceeded(counting)
            }
        }
    }
}

fn allowance(limit: u32, window: Window, window_ms: i64, now: i64) -> Allowance {
    let left = u64::from(limit).saturating_sub(window.requests);
    Allowance {
        limit,
        remaining: u32::try_from(left).unwrap_or(limit),
        // The time is clamped, because another request may have started the window after this request read the clock.
        reset_secs: (window.ends_at - now).clamp(1, window_ms).unsigned_abs().div_ceil(1000),
        is_exceeded: window.requests > u64::from(limit),
    }
}

/// Returns the first exceeded allowance, and does not evaluate the rest of the iterator. Returns the first allowance if
/// none is exceeded.
/// Errors: the iterator is empty.
fn first_or_exceeded(mut allowances: impl Iterator<Item = Allowance>) -> Result<Allowance> {
    let first = allowances.next().ok_or_else(|| ServiceError::internal("a request is counted without a limit"))?;
    Ok(if first.is_exceeded { first } else { allowances.find(|one| one.is_exceeded).unwrap_or(first) })
}

/// Storage of the request counters.
#[derive(Clone, Debug)]
pub(crate) enum Windows {
    /// In the memory of this process, which avoids a disk write per request.
    Memory(Arc<Mutex<HashMap<String, Window>>>),
    /// In the database, which all processes share.
    Database(Arc<SharedWindows>),
}

impl Windows {
    pub(crate) fn of(db: &Db, clock: &Clock) -> Self {
        if db.is_shared() {
            Self::Database(Arc::new(SharedWindows::new(db.clone(), clock.clone())))
        } else {
            Self::Memory(Arc::default())
        }
    }

    /// Removes the windows that have ended from memory.
    pub(crate) fn forget_ended(&self, now: i64) {
        match self {
            Self::Memory(windows) => lock(windows).retain(|_, window| window.ends_at > now),
            Self::Database(shared) => shared.forget_ended(now),
        }
    }
}

fn lock<K, V>(map: &Mutex<HashMap<K, V>>) -> MutexGuard<'_, HashMap<K, V>> {
    map.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Counts a request in the key's current window. Starts a new window if the current one is over.
fn count_in(windows: &mut HashMap<String, Window>, key: String, length_ms: i64, now: i64) -> Window {
    let fresh = Window { requests: 0, ends_at: now + length_ms };
    let window = windows.entry(key).or_insert(fresh);
    if window.is_over(now, length_ms) {
        *window = fresh;
    }
    window.requests += 1;
    *window
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_windows_that_have_ended_are_forgotten() {
        let of_key = |ends_at| (format!("until {ends_at}"), Window { requests: 1, ends_at });
        let windows = Arc::new(Mutex::new(HashMap::from([9, 10, 11].map(of_key))));
        Windows::Memory(Arc::clone(&windows)).forget_ended(10);
        assert_eq!(lock(&windows).keys().collect::<Vec<_>>(), ["until 11"]);
    }
}
