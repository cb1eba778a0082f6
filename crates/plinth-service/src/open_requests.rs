//! Limits how many requests an account has open at the same time, because each request uses a connection and memory.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use plinth_spec::id::AccountId;
use plinth_spec::{ErrorCode, limits};

use crate::access::Caller;
use crate::error::{Result, ServiceError};
use crate::service::Service;

/// Time in seconds after which a rejected client may try again.
const RETRY_SECS: u64 = 1;

/// The number of open requests of each account. All clones share these numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct OpenRequests(Arc<Mutex<HashMap<AccountId, u32>>>);

impl OpenRequests {
    fn lock(&self) -> MutexGuard<'_, HashMap<AccountId, u32>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a request. Returns `None` if the account has too many open requests.
    fn begin(&self, account: &AccountId) -> Option<OpenRequest> {
        let mut open = self.lock();
        let number = open.entry(account.clone()).or_default();
        if *number >= limits::REQUESTS_AT_ONCE {
            return None;
        }
        *number += 1;
        Some(OpenRequest(Arc::new(Counted { open: self.clone(), account: account.clone() })))
    }
}

/// An open request of an account. The request counts as open until the last clone is dropped, so the body of the response
/// must own a clone until the body is sent.
#[derive(Clone, Debug)]
pub struct OpenRequest(#[expect(dead_code, reason = "the request ends when the last clone is dropped")] Arc<Counted>);

#[derive(Debug)]
struct Counted {
    open: OpenRequests,
    account: AccountId,
}

impl Drop for Counted {
    fn drop(&mut self) {
        let mut open = self.open.lock();
        if let Some(number) = open.get_mut(&self.account) {
            *number -= 1;
            if *number == 0 {
                open.remove(&self.account);
            }
        }
    }
}

impl Service {
    /// Counts a request of the caller's account, which has just been authenticated.
    /// Errors: `rate_limited` if the account has too many open requests.
    pub fn open_request(&self, caller: &Caller) -> Result<OpenRequest> {
        self.open_requests.begin(&caller.account_id).ok_or_else(|| {
            let message = format!(
                "the account has {} requests open at the same time; wait until some have ended",
                limits::REQUESTS_AT_ONCE
            );
            let error = ServiceError::new(ErrorCode::RateLimited, message);
            ServiceError { retry_after_secs: Some(RETRY_SECS), ..error }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_of_one_account_are_limited_until_one_ends() {
        let open = OpenRequests::default();
        let [account, other] = ["a", "b"].map(|c| AccountId::parse(&c.repeat(plinth_spec::id::LENGTH)).unwrap());
        let mut all: Vec<_> = (0..limits::REQUESTS_AT_ONCE).map(|_request| open.begin(&account).unwrap()).collect();
        assert!(open.begin(&account).is_none() && open.begin(&other).is_some());
        let body = all.pop();
        let clone = body.clone();
        drop(body);
        assert!(open.begin(&account).is_none(), "the body of its response is not sent yet");
        drop(clone);
        assert!(open.begin(&account).is_some());
        drop(all);
        assert!(open.lock().is_empty());
    }
}
