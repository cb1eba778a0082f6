//! Calls of the operating system that differ between systems. The rest of this crate calls none.

use std::fs::Metadata;
use std::io;

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

/// Returns the metadata of the program that this process runs. On Linux, also if its file was replaced or deleted since the process
/// started.
/// Errors: the program cannot be found, for example because `/proc` is not mounted.
pub(crate) fn own_program() -> io::Result<Metadata> {
    if cfg!(target_os = "linux") {
        std::fs::metadata("/proc/self/exe")
    } else {
        std::fs::metadata(std::env::current_exe()?)
    }
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

    /// Runs itself in a copy of this test program, which it deletes.
    #[cfg(target_os = "linux")]
    #[test]
    fn the_own_program_is_found_after_its_file_was_deleted() {
        use std::process::Command;

        const IN_COPY: &str = "PLINTH_TEST_IN_COPY";
        let program = std::env::current_exe().unwrap();
        if std::env::var_os(IN_COPY).is_some() {
            let length = std::fs::metadata(&program).unwrap().len();
            std::fs::remove_file(program).unwrap();
            assert_eq!(own_program().unwrap().len(), length);
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let copy = folder.path().join("copy");
        // A hard link would change the inode that other tests read meanwhile. Another process copies the program, because a file that
        // any process has open for writing cannot be run.
        assert!(Command::new("cp").arg(&program).arg(&copy).status().unwrap().success());
        let mut test = Command::new(copy);
        test.args(["--exact", "system::tests::the_own_program_is_found_after_its_file_was_deleted"]).env(IN_COPY, "");
        let done = test.output().unwrap();
        assert!(String::from_utf8_lossy(&done.stdout).contains("1 passed"), "{done:?}");
    }
}
