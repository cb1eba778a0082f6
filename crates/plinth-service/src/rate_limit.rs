//! How often a token may call.

use plinth_db::rate_windows;
use plinth_spec::ErrorCode;
use plinth_spec::id::TokenId;

use crate::error::{Result, ServiceError};
use crate::service::Service;

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meter {
    /// Every request of a token.
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
    /// Counts a request of a token: on all machines together, in windows that begin with the first request.
    pub async fn count_request(&self, token: &TokenId, meter: Meter) -> Result<Allowance> {
        let (name, limit, window_ms) = match meter {
            Meter::Requests => ("requests", self.options.requests_per_minute, 60_000),
            Meter::Ingests => ("ingests", self.options.ingests_per_10_minutes, 600_000),
        };
        let key = format!("{name}:{token}");
        let clock = self.options.clock.clone();
        let counted = self.db.write(move |tx| {
            Box::pin(async move {
                let now = clock.now_ms(tx).await?;
                let window = rate_windows::count(tx, &key, window_ms, now).await?;
                Ok::<_, ServiceError>((window, now))
            })
        });
        let (window, now) = counted.await?;
        let left = u64::from(limit).saturating_sub(window.requests);
        Ok(Allowance {
            limit,
            remaining: u32::try_from(left).unwrap_or(limit),
            reset_secs: u64::try_from(window.ends_at - now).unwrap_or(0).div_ceil(1000).max(1),
            is_exceeded: window.requests > u64::from(limit),
        })
    }
}
