//! Limits how many streams of events an account has open at the same time, because each reads the database once a second.

use std::time::Duration;

use plinth_spec::{ErrorCode, limits};

use crate::access::Caller;
use crate::error::{Result, ServiceError};
use crate::fair_semaphore::FairPermit;
use crate::service::Service;

/// Time that a new stream waits for another one to end.
const WAIT: Duration = Duration::from_secs(2);
/// Time in seconds after which a rejected client may try again.
const RETRY_SECS: u64 = 15;

/// Permit for one stream of events. The stream must own it as long as it is open.
#[derive(Debug)]
pub struct EventStreamPermit {
    #[expect(dead_code, reason = "the permit is released on drop")]
    permit: FairPermit,
}

impl Service {
    /// Permits the caller's account to open another stream of events.
    /// Errors: `rate_limited` if the account has too many streams, or all accounts together.
    pub async fn event_stream(&self, caller: &Caller) -> Result<EventStreamPermit> {
        let waiting = self.event_streams.acquire(&caller.account_id, 1);
        let Ok(permit) = tokio::time::timeout(WAIT, waiting).await else {
            let message = format!(
                "an account can follow renders on {} pages at the same time; close other pages, or try again later",
                limits::EVENT_STREAMS_AT_ONCE
            );
            let error = ServiceError::new(ErrorCode::RateLimited, message);
            return Err(ServiceError { retry_after_secs: Some(RETRY_SECS), ..error });
        };
        Ok(EventStreamPermit { permit: permit? })
    }
}
