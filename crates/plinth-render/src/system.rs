//! Calls of the operating system that differ between systems. The rest of this crate calls none.

use std::fs::Metadata;

/// Returns the time of the last change of a file's inode (its content, name or attributes) in seconds and nanoseconds
/// since 1970. No program can set this time. Returns (0, 0) on systems that are not Unix.
#[cfg(unix)]
pub(crate) fn inode_change_time(file: &Metadata) -> (i64, i64) {
    use std::os::unix::fs::MetadataExt as _;
    (file.ctime(), file.ctime_nsec())
}

#[cfg(not(unix))]
pub(crate) fn inode_change_time(_file: &Metadata) -> (i64, i64) {
    (0, 0)
}

#[cfg(all(test, unix))]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;

    #[test]
    fn a_constant_modification_time_does_not_hide_when_a_file_was_written() {
        let file = tempfile::tempfile().unwrap();
        file.set_modified(UNIX_EPOCH).unwrap();
        let about = file.metadata().unwrap();
        assert_eq!(about.modified().unwrap(), UNIX_EPOCH);
        assert!(inode_change_time(&about).0 > 1_000_000_000);
    }
}
