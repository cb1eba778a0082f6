//! Finds and kills the processes of a job. A job runs in its own POSIX session. Its encoders belong to this session,
//! too, even if they have process groups of their own.

use std::collections::BTreeMap;
use std::thread;
use std::time::Duration;

use crate::system::{self, FileId, Process, id_and_bytes, processes_of_session};

/// Maximum number of rounds that kill all processes of a session. One round is not enough if a process forks during the
/// round.
const KILL_ROUNDS: u32 = 100;
const ROUND_PAUSE: Duration = Duration::from_millis(10);

/// A limit that the processes of a session exceed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Excess {
    /// There are too many running processes.
    Processes,
    /// The processes use too much memory.
    Memory,
}

/// Returns which limit the processes of a session exceed, if any. Counts the processes before it measures their memory, because
/// the measurement reads all their open files.
pub(crate) fn find_excess(session: u32, most_processes: usize, most_bytes: u64) -> Option<Excess> {
    let processes = processes_of_session(session);
    if processes.len() > most_processes {
        return Some(Excess::Processes);
    }
    (memory_of(&processes) > most_bytes).then_some(Excess::Memory)
}

/// Returns the memory of all processes of a session.
pub(crate) fn memory_bytes(session: u32) -> u64 {
    memory_of(&processes_of_session(session))
}

/// Returns the resident memory of some processes, and the size of their open files in memory.
fn memory_of(processes: &[Process]) -> u64 {
    let resident_bytes: u64 = processes.iter().map(|process| process.memory_bytes()).sum();
    resident_bytes + unmapped_bytes(processes)
}

/// Returns how much larger the open files in memory of some processes are than the shared memory that the processes map. What is
/// mapped is resident memory already; drivers map such files. A file that is mapped but closed is not found: Linux shows its size
/// only to privileged processes.
fn unmapped_bytes(processes: &[Process]) -> u64 {
    let files = processes.iter().copied().flat_map(system::memory_files);
    let files: BTreeMap<FileId, u64> = files.map(|file| id_and_bytes(&file)).collect();
    let mapped_bytes: u64 = processes.iter().map(|process| process.shared_bytes()).sum();
    files.values().sum::<u64>().saturating_sub(mapped_bytes)
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
    use std::fs::File;
    use std::io::{Read as _, Write as _};
    use std::process::{Child, Command, Stdio};

    use rustix::fs::{MemfdFlags, memfd_create};

    use super::*;

    /// Runs a shell script in a session of its own, and waits until it has written "ready".
    fn spawn(script: &str) -> Child {
        let mut child = Command::new("setsid").args(["sh", "-c", script]).stdout(Stdio::piped()).spawn().unwrap();
        child.stdout.as_mut().unwrap().read_exact(&mut [0; 6]).unwrap();
        child
    }

    #[test]
    fn killing_a_session_ends_all_its_processes() {
        // The name of the inner shell is not UTF-8.
        let inner = r#"sh -c 'printf "\377" >/proc/self/comm; sleep 100; true'"#;
        let mut child = spawn(&format!("{inner} & setsid -w true; echo ready; sleep 100; true"));
        let session = child.id();
        let all_there = (0..KILL_ROUNDS).any(|_look| {
            thread::sleep(ROUND_PAUSE);
            processes_of_session(session).len() >= 4
        });
        assert!(all_there, "the session has two shells, each with a sleep process");
        assert!(memory_bytes(session) > 100_000);
        kill(session);
        assert!(processes_of_session(session).is_empty());
        assert!(!child.wait().unwrap().success());
    }

    #[test]
    fn open_files_in_memory_count_once() {
        // Without `MemfdFlags::CLOEXEC`, both the shell and its child inherit the file.
        let mut file = File::from(memfd_create("file", MemfdFlags::empty()).unwrap());
        file.write_all(&vec![1_u8; 32 << 20]).unwrap();
        let mut child = spawn("sleep 100 & echo ready; sleep 100; true");
        let bytes = memory_bytes(child.id());
        kill(child.id());
        child.wait().unwrap();
        assert!((32 << 20..64 << 20).contains(&bytes), "{bytes}");
    }

    #[test]
    fn processes_are_counted_before_their_memory_is_measured() {
        let mut child = spawn("sleep 100 & echo ready; sleep 100; true");
        let session = child.id();
        let limits = [(1, 0), (100, 0), (100, u64::MAX)];
        let found = limits.map(|(most_processes, most_bytes)| find_excess(session, most_processes, most_bytes));
        kill(session);
        child.wait().unwrap();
        assert_eq!(found, [Some(Excess::Processes), Some(Excess::Memory), None]);
    }
}
