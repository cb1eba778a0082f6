//! Remembers that a job has found the disk full.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Time for which the disk counts as full after a job has found it full.
const PAUSE: Duration = Duration::from_mins(1);

/// Whether a job has recently found the disk full. The free space that the system reports does not tell it if the disk quota of the
/// user is exhausted, if the file system has no free inodes, or if the job has deleted its files since then.
#[derive(Debug, Default)]
pub(crate) struct FullDisk {
    until: Mutex<Option<Instant>>,
}

impl FullDisk {
    /// Notes that a job has found the disk full at the time `now`.
    pub(crate) fn note(&self, now: Instant) {
        *self.until.lock().unwrap_or_else(PoisonError::into_inner) = Some(now + PAUSE);
    }

    /// Returns whether a job has found the disk full shortly before `now`.
    pub(crate) fn is_recent(&self, now: Instant) -> bool {
        self.until.lock().unwrap_or_else(PoisonError::into_inner).is_some_and(|until| now < until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_disk_counts_as_full_for_a_minute_after_each_job_that_finds_it_full() {
        let (disk, begin) = (FullDisk::default(), Instant::now());
        let after = |secs: u64| begin + Duration::from_secs(secs);
        assert!(!disk.is_recent(begin));
        disk.note(begin);
        assert!(disk.is_recent(begin) && disk.is_recent(after(59)));
        assert!(!disk.is_recent(after(60)));
        disk.note(after(50));
        assert!(disk.is_recent(after(109)) && !disk.is_recent(after(110)));
    }
}
