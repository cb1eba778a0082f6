//! Reads the resource usage of a process from `/proc`.

use std::path::PathBuf;
use std::time::Duration;

/// Clock ticks per second in `/proc/PID/stat`. This unit does not depend on the timer frequency of the kernel.
const TICKS: u64 = 100;

pub(super) struct Process {
    folder: PathBuf,
}

/// Resource usage of a process at one moment.
#[derive(Clone, Copy, Default)]
pub(super) struct Usage {
    /// Resident memory in MB.
    pub(super) memory_mb: f64,
    /// Number of open files and connections.
    pub(super) files: usize,
    pub(super) threads: usize,
}

impl Process {
    pub(super) fn of(pid: u32) -> Self {
        Self { folder: PathBuf::from(format!("/proc/{pid}")) }
    }

    /// Returns the processor time that the process has taken so far.
    pub(super) fn cpu(&self) -> Duration {
        let stat = std::fs::read_to_string(self.folder.join("stat")).unwrap();
        // The second field is the name in parentheses, which may contain spaces.
        let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
        let ticks = |field: usize| fields[field - 3].parse::<u64>().unwrap();
        Duration::from_millis((ticks(14) + ticks(15)) * 1000 / TICKS)
    }

    pub(super) fn usage(&self) -> Usage {
        let status = std::fs::read_to_string(self.folder.join("status")).unwrap();
        let number = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            line.split_whitespace().next().unwrap().parse::<usize>().unwrap()
        };
        Usage {
            memory_mb: number("VmRSS:") as f64 / 1024.0,
            files: std::fs::read_dir(self.folder.join("fd")).unwrap().count(),
            threads: number("Threads:"),
        }
    }
}
