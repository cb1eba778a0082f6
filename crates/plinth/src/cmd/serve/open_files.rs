//! The limit of open files of the server process, which also limits the number of its HTTP connections.

use crate::system::{Limit, Resource, limit, set_limit};

/// Number of files that the server may open in addition to its connections: for the database, uploads, checks and jobs.
const RESERVED: u64 = 512;

/// Raises the limit of open files of this process as far as the system allows. Returns the number of HTTP connections
/// that the limit allows, at most `wanted`. Logs a warning if this number is less than `wanted`.
pub(super) fn connections_within_limit(wanted: usize) -> usize {
    let allowed = limit(Resource::OpenFiles);
    let raised = Limit { current: allowed.maximum, ..allowed };
    let limit = if set_limit(Resource::OpenFiles, raised).is_ok() { allowed.maximum } else { allowed.current };
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
    // At least a quarter of the open files is for connections, even if the limit is low.
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
