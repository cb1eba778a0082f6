//! The limit of open files, on which the number of connections depends.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files that the server opens besides its connections: database, uploads, checks, jobs.
const RESERVED: u64 = 512;

/// Raises this process' limit of open files as far as the system allows, and returns how many connections fit into it: `wanted`,
/// or fewer, with a warning.
pub(super) fn connections_within_limit(wanted: usize) -> usize {
    let allowed = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: allowed.maximum, ..allowed };
    let limit = if setrlimit(Resource::Nofile, raised).is_ok() { allowed.maximum } else { allowed.current };
    let fitting = fitting(limit, wanted);
    if fitting < wanted {
        tracing::warn!(
            wanted,
            connections = fitting,
            open_files = limit,
            "fewer connections than --max-connections are accepted, because the limit of open files is too low"
        );
    }
    fitting
}

fn fitting(limit: Option<u64>, wanted: usize) -> usize {
    let Some(limit) = limit else { return wanted };
    // At least a quarter of the files are for connections, however few there are.
    let most = limit.saturating_sub(RESERVED).max(limit / 4).max(1);
    wanted.min(usize::try_from(most).unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_files_to_the_rest_of_the_server() {
        assert_eq!(fitting(None, 8192), 8192);
        assert_eq!(fitting(Some(1 << 20), 8192), 8192);
        assert_eq!(fitting(Some(4096), 8192), 3584);
        assert_eq!(fitting(Some(256), 8192), 64);
        assert_eq!(fitting(Some(4096), 10), 10);
    }
}
