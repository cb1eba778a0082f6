//! Remembers for a minute that something has happened.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Time for which an event counts as recent.
const MINUTE: Duration = Duration::from_mins(1);

/// Whether an event has happened within the last minute.
#[derive(Debug, Default)]
pub(crate) struct LastMinute {
    until: Mutex<Option<Instant>>,
}

impl LastMinute {
    /// Notes that the event has happened at the time `now`.
    pub(crate) fn note(&self, now: Instant) {
        *self.until.lock().unwrap_or_else(PoisonError::into_inner) = Some(now + MINUTE);
    }

    /// Returns whether the event has happened in the minute before `now`.
    pub(crate) fn is_recent(&self, now: Instant) -> bool {
        self.until.lock().unwrap_or_else(PoisonError::into_inner).is_some_and(|until| now < until)
    }

    /// Returns whether an event has happened and was not forgotten.
    pub(crate) fn is_noted(&self) -> bool {
        self.until.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    pub(crate) fn forget(&self) {
        *self.until.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Forgets an event that has happened more than a minute before `now`. Returns whether there was one.
    pub(crate) fn forget_past(&self, now: Instant) -> bool {
        self.until.lock().unwrap_or_else(PoisonError::into_inner).take_if(|until| *until <= now).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_recent_for_a_minute() {
        let (event, begin) = (LastMinute::default(), Instant::now());
        let after = |secs: u64| begin + Duration::from_secs(secs);
        assert!(!event.is_recent(begin));
        event.note(begin);
        assert!(event.is_recent(begin) && event.is_recent(after(59)));
        assert!(!event.is_recent(after(60)));
        event.note(after(50));
        assert!(event.is_recent(after(109)) && !event.is_recent(after(110)));
    }

    #[test]
    fn an_event_is_noted_until_it_is_forgotten() {
        let (event, begin) = (LastMinute::default(), Instant::now());
        assert!(!event.is_noted());
        event.note(begin);
        assert!(event.is_noted() && !event.is_recent(begin + Duration::from_mins(2)));
        event.forget();
        assert!(!event.is_noted() && !event.is_recent(begin));
    }

    #[test]
    fn an_event_is_forgotten_once_and_not_while_it_is_recent() {
        let (event, begin) = (LastMinute::default(), Instant::now());
        let after = |secs: u64| begin + Duration::from_secs(secs);
        assert!(!event.forget_past(begin));
        event.note(begin);
        assert!(!event.forget_past(after(59)) && event.is_recent(after(59)));
        assert!(event.forget_past(after(60)) && !event.forget_past(after(60)));
    }
}
