//! Limits how many requests an account has open at the same time, and how many downloads of a file by signed links, because each
//! uses a connection and memory.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use plinth_spec::id::AccountId;
use plinth_spec::{ErrorCode, limits};

use crate::access::Caller;
use crate::delivery::Delivery;
use crate::error::{Result, ServiceError};
use crate::service::Service;

/// Time in seconds after which a rejected client may try again.
const RETRY_SECS: u64 = 1;

/// Requests that are counted together.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Group {
    /// The requests of an account.
    Account(AccountId),
    /// The downloads of a file by signed links, which name no account. The file is identified by its path in the store.
    File(String),
}

impl Group {
    /// Returns how many of the requests may be open.
    const fn most(&self) -> u32 {
        match self {
            Self::Account(_) => limits::REQUESTS_AT_ONCE,
            Self::File(_) => limits::DOWNLOADS_PER_FILE,
        }
    }
}

/// The number of open requests of each group. All clones share these numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct OpenRequests(Arc<Mutex<HashMap<Group, u32>>>);

impl OpenRequests {
    fn lock(&self) -> MutexGuard<'_, HashMap<Group, u32>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a request.
    /// Errors: `rate_limited`, with the message `too_many`, if too many requests of the group are open.
    fn begin(&self, group: Group, too_many: impl FnOnce(u32) -> String) -> Result<OpenRequest> {
        let most = group.most();
        let mut open = self.lock();
        let number = open.entry(group.clone()).or_default();
        if *number >= most {
            let error = ServiceError::new(ErrorCode::RateLimited, too_many(most));
            return Err(ServiceError { retry_after_secs: Some(RETRY_SECS), ..error });
        }
        *number += 1;
        Ok(OpenRequest(Arc::new(Counted { open: self.clone(), group })))
    }
}

/// An open request. The request counts as open until the last clone is dropped, so the body of the response
/// must own a clone until the body is sent.
#[derive(Clone, Debug)]
pub struct OpenRequest(#[expect(dead_code, reason = "the request ends when the last clone is dropped")] Arc<Counted>);

#[derive(Debug)]
struct Counted {
    open: OpenRequests,
    group: Group,
}

impl Drop for Counted {
    fn drop(&mut self) {
        let mut open = self.open.lock();
        if let Some(number) = open.get_mut(&self.group) {
            *number -= 1;
            if *number == 0 {
                open.remove(&self.group);
            }
        }
    }
}

impl Service {
    /// Counts a request of the caller's account, which has just been authenticated.
    /// Errors: `rate_limited` if the account has too many open requests.
    pub fn open_request(&self, caller: &Caller) -> Result<OpenRequest> {
        self.open_requests.begin(Group::Account(caller.account_id.clone()), |most| {
            format!("the account has {most} requests open at the same time; wait until some have ended")
        })
    }

    /// Counts a download by a signed link, which has just been checked.
    /// Errors: `rate_limited` if too many downloads of this file are in progress.
    pub fn open_download(&self, file: &Delivery) -> Result<OpenRequest> {
        self.open_requests.begin(Group::File(file.path.clone()), |most| {
            format!("this file is being downloaded {most} times at the moment; wait until some downloads have ended")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_of_one_group_are_limited_until_one_ends() {
        let account = |c: &str| Group::Account(AccountId::parse(&c.repeat(plinth_spec::id::LENGTH)).unwrap());
        let file = |path: &str| Group::File(path.to_owned());
        for (group, other, most) in
            [(account("a"), account("b"), limits::REQUESTS_AT_ONCE), (file("a"), file("b"), limits::DOWNLOADS_PER_FILE)]
        {
            let open = OpenRequests::default();
            let begin = |group: &Group| open.begin(group.clone(), |most| most.to_string());
            let mut all: Vec<_> = (0..most).map(|_request| begin(&group).unwrap()).collect();
            assert_eq!(begin(&group).unwrap_err().message, most.to_string());
            assert!(begin(&other).is_ok());
            let body = all.pop();
            let clone = body.clone();
            drop(body);
            assert!(begin(&group).is_err(), "the body of its response is not sent yet");
            drop(clone);
            assert!(begin(&group).is_ok());
            drop(all);
            assert!(open.lock().is_empty());
        }
    }

    #[test]
    fn a_key_can_send_its_requests_of_a_minute_at_the_same_time() {
        let open = OpenRequests::default();
        let account = Group::Account(AccountId::parse(&"a".repeat(plinth_spec::id::LENGTH)).unwrap());
        let begin = |_request| open.begin(account.clone(), |most| most.to_string());
        let all: Result<Vec<OpenRequest>> = (0..limits::REQUESTS_PER_MINUTE).map(begin).collect();
        assert!(all.is_ok());
    }
}
