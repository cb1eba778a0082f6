//! Finds and kills the processes of a job. A job runs in its own POSIX session. Its encoders belong to this session,
//! too, even if they have process groups of their own.

use std::thread;
use std::time::Duration;

use crate::system::{self, processes_of_session};

/// Maximum number of rounds that kill all processes of a session. One round is not enough if a process forks during the
/// round.
const KILL_ROUNDS: u32 = 100;
const ROUND_PAUSE: Duration = Duration::from_millis(10);

/// Number and memory of the processes of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Usage {
    /// Number of running processes.
    pub(crate) processes: usize,
    /// Resident memory of all these processes.
    pub(crate) memory_bytes: u64,
}

/// Measures all processes of a session.
pub(crate) fn usage(session: u32) -> Usage {
    let processes = processes_of_session(session);
    Usage { processes: processes.len(), memory_bytes: processes.iter().map(|process| process.memory_bytes()).sum() }
}

/// Returns the files on disk that processes of a session keep open although they were deleted.
pub(crate) fn deleted_files(session: u32) -> impl Iterator<Item = std::fs::Metadata> {
    processes_of_session(session).into_iter().flat_map(system::deleted_files)
}

/// Kills all processes of a session and waits until they have ended.
pub(crate) fn kill(session: u32) {
    for _look in 0..KILL_ROUNDS {
        let processes = processes_of_session(session);
        if processes.is_empty() {
            return;
        }
        processes.into_iter().for_each(system::kill);
        thread::sleep(ROUND_PAUSE);
    }
    tracing::error!(process.session = session, "processes of a job are still running after they were killed");
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn killing_a_session_ends_all_its_processes() {
        let mut child = Command::new("setsid")
            .args(["sh", "-c", "sh -c 'sleep 100; true' & setsid -w true; echo ready; sleep 100; true"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = [0; 6];
        std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut output).unwrap();
        let session = child.id();
        let all_there = (0..KILL_ROUNDS).any(|_look| {
            thread::sleep(ROUND_PAUSE);
            processes_of_session(session).len() >= 4
        });
        assert!(all_there, "the session has two shells, each with a sleep process");
        let usage = usage(session);
        assert!(usage.memory_bytes > 100_000 && usage.processes >= 4, "{usage:?}");
        kill(session);
        assert!(processes_of_session(session).is_empty());
        assert!(!child.wait().unwrap().success());
    }
}
