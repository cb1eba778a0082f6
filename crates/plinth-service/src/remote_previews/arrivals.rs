//! Notifications inside this process: for request handlers that wait for a preview, and for the worker.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::ids::random_text;

const TOKEN_CHARS: usize = 24;

/// The waiting request handlers and the worker of this process.
#[derive(Debug)]
pub(crate) struct Arrivals {
    /// Identifies the worker of this process in leases.
    pub(crate) token: String,
    /// Wakes the worker of this process when a preview may be waiting.
    pub(crate) requested: Notify,
    /// Handlers that wait for a picture, by the identifier of their request.
    waiting: Mutex<BTreeMap<String, Arc<Notify>>>,
    is_listening: AtomicBool,
}

impl Arrivals {
    pub(crate) fn new() -> Self {
        Self {
            token: random_text(TOKEN_CHARS),
            requested: Notify::new(),
            waiting: Mutex::default(),
            is_listening: AtomicBool::new(false),
        }
    }

    /// Returns whether PostgreSQL notifies this process of drawn previews.
    pub(super) fn is_listening(&self) -> bool {
        self.is_listening.load(Ordering::SeqCst)
    }

    /// Remembers whether this process is notified of drawn previews. Wakes all handlers, because notifications may have been
    /// lost before.
    pub(super) fn set_listening(&self, is_listening: bool) {
        self.is_listening.store(is_listening, Ordering::SeqCst);
        for notify in self.waiting().values() {
            notify.notify_one();
        }
    }

    /// Returns the notification for the handler of a request. The notification exists until [`forget`](Self::forget).
    pub(super) fn expect(&self, request_id: &str) -> Arc<Notify> {
        let notify = Arc::new(Notify::new());
        self.waiting().insert(request_id.to_owned(), Arc::clone(&notify));
        notify
    }

    pub(super) fn forget(&self, request_id: &str) {
        self.waiting().remove(request_id);
    }

    /// Wakes the handler of a request, if it is in this process.
    pub(super) fn arrived(&self, request_id: &str) {
        if let Some(notify) = self.waiting().get(request_id) {
            notify.notify_one();
        }
    }

    fn waiting(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Notify>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
