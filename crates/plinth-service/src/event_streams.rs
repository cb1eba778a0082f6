//! Limits how many streams of events an account has open at the same time. Each stream reads the database once a second.

use std::time::Duration;

use plinth_spec::{ErrorCode, limits};

use crate::access::Caller;
use crate::error::{Result, ServiceError};
use crate::fair_semaphore::FairPermit;
use crate::service::Service;

/// Time that a new stream waits for another stream to end.
const WAIT: Duration = Duration::from_secs(2);
/// Time in seconds after which a rejected client may try again.
const RETRY_SECS: u64 = 15;

/// Permit for one stream of events. The stream must own the permit as long as the stream is open.
#[derive(Debug)]
pub struct EventStreamPermit {
    #[expect(dead_code, reason = "the permit is released on drop")]
    permit: FairPermit,
}

impl Service {
    /// Waits for a permit for another stream of events of the caller's account.
    /// Errors: `rate_limited` if the account has too many streams, or if all accounts together have too many streams.
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
