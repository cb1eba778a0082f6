//! Finds and kills the processes of a job. A job runs in its own POSIX session. Its encoders belong to this session,
//! too, even if they have process groups of their own.

use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

/// Maximum number of rounds that kill all processes of a session. One round is not enough if a process forks during the
/// round.
const KILL_ROUNDS: u32 = 100;
const ROUND_PAUSE: Duration = Duration::from_millis(10);

/// A running process of a session.
struct Member {
    pid: Pid,
    memory_pages: u64,
}

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
    let members = members(session);
    let pages: u64 = members.iter().map(|member| member.memory_pages).sum();
    Usage { processes: members.len(), memory_bytes: pages * rustix::param::page_size() as u64 }
}

/// Returns the files on disk that processes of a session keep open although they were deleted.
pub(crate) fn deleted_files(session: u32) -> impl Iterator<Item = std::fs::Metadata> {
    let folders = members(session).into_iter().map(|member| format!("/proc/{}/fd", member.pid.as_raw_nonzero()));
    folders.filter_map(|folder| std::fs::read_dir(folder).ok()).flatten().flatten().filter_map(|entry| {
        let place = std::fs::read_link(entry.path()).ok()?;
        let place = place.to_str()?;
        // Files in memory use no disk space.
        let is_deleted = place.ends_with(" (deleted)") && !place.starts_with("/memfd:") && !place.starts_with("/dev/");
        let about = std::fs::metadata(entry.path()).ok().filter(|_about| is_deleted)?;
        about.is_file().then_some(about)
    })
}

/// Kills all processes of a session and waits until they have ended.
pub(crate) fn kill(session: u32) {
    for _look in 0..KILL_ROUNDS {
        let members = members(session);
        if members.is_empty() {
            return;
        }
        for member in members {
            let _ended_meanwhile = kill_process(member.pid, Signal::KILL);
        }
        thread::sleep(ROUND_PAUSE);
    }
    tracing::error!(process.session = session, "processes of a job are still running after they were killed");
}

/// Lists the running processes of a session. The list is empty on systems without /proc.
fn members(session: u32) -> Vec<Member> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let names = entries.flatten().filter_map(|entry| entry.file_name().to_str().map(str::to_owned));
    names.filter_map(|name| name.parse().ok()).filter_map(|pid| member(pid, session)).collect()
}

fn member(pid: i32, session: u32) -> Option<Member> {
    // The file does not exist if the process has ended in the meantime.
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (state, of, memory_pages) = parse(&stat)?;
    (of == session && !matches!(state, "Z" | "X")).then_some(())?;
    Some(Member { pid: Pid::from_raw(pid)?, memory_pages })
}

/// Parses the state, the session and the number of resident pages of a process (proc_pid_stat(5), fields 3, 6 and 24).
fn parse(stat: &str) -> Option<(&str, u32, u64)> {
    // Field 2, the process name in parentheses, may contain any character, including parentheses.
    let (_name, rest) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let state = *fields.first()?;
    Some((state, fields.get(3)?.parse().ok()?, fields.get(21)?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn process_names_with_parentheses_are_parsed() {
        let stat = "7 (a) Z 1 (b) S 1 7 5 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 99 1000 42 18446744073709551615 0";
        assert_eq!(parse(stat), Some(("S", 5, 42)));
        assert_eq!(parse("7 (a) S 1"), None);
    }

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
            members(session).len() >= 4
        });
        assert!(all_there, "the session has two shells, each with a sleep process");
        let usage = usage(session);
        assert!(usage.memory_bytes > 100_000 && usage.processes >= 4, "{usage:?}");
        kill(session);
        assert!(members(session).is_empty());
        assert!(!child.wait().unwrap().success());
    }
}
