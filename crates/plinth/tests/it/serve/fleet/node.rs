//! A server or a worker on a host of its own, with a small disk and a clock that can be changed.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use plinth_testkit::{Host, ffmpeg};
use tokio::task::block_in_place;

/// Size of the disk of a host.
const DISK: &str = "256m";
/// Port of the servers, and of the health checks of workers.
pub(super) const PORT: u16 = 8080;

/// A host with one process.
pub(super) struct Node {
    pub(super) host: Host,
    args: Vec<String>,
    variables: Vec<(String, String)>,
    /// Folder that contains the disk, the clock and the log.
    folder: PathBuf,
    program: Mutex<PathBuf>,
    process: Mutex<Option<Child>>,
    /// Held while a fault is injected, so that each node suffers one fault at a time.
    pub(super) strike: tokio::sync::Mutex<()>,
}

impl Node {
    /// Creates a node without starting its process. `args` are the arguments of the program.
    pub(super) fn new(host: Host, folder: &Path, args: &[&str], variables: &[(String, String)]) -> Self {
        let folder = folder.join(host.name());
        std::fs::create_dir_all(folder.join("disk")).unwrap();
        let node = Self {
            host,
            args: args.iter().map(|arg| (*arg).to_owned()).collect(),
            variables: variables.to_vec(),
            folder,
            program: Mutex::new(super::program()),
            process: Mutex::new(None),
            strike: tokio::sync::Mutex::new(()),
        };
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={DISK}"), "tmpfs"]).arg(node.disk());
        assert!(mount.status().unwrap().success(), "the disk of {}", node.host.name());
        std::fs::create_dir(node.disk().join("tmp")).unwrap();
        node.set_clock(0);
        node
    }

    pub(super) fn is_server(&self) -> bool {
        self.args.iter().any(|arg| arg == "serve")
    }

    fn disk(&self) -> PathBuf {
        self.folder.join("disk")
    }

    pub(super) fn start(&self) {
        let log = File::options().create(true).append(true).open(self.log_file()).unwrap();
        let mut command = self.host.command();
        let program = self.program.lock().unwrap_or_else(PoisonError::into_inner).clone();
        command.arg(program).args(&self.args).current_dir(self.disk()).stdout(Stdio::null()).stderr(log);
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.env("PLINTH_FFMPEG", ffmpeg()).env("PLINTH_CACHE_MB", "0");
        command.env("PLINTH_DATA_DIR", self.disk().join("data")).env("PLINTH_WORKER_DIR", self.disk().join("work"));
        command.env("TMPDIR", self.disk().join("tmp"));
        // The default reserve is larger than the disk.
        command.env("PLINTH_DISK_RESERVE_MB", "100");
        command.env("LD_PRELOAD", clock_library()).env("FAKETIME_TIMESTAMP_FILE", self.clock_file());
        command.env("FAKETIME_CACHE_DURATION", "1").env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
        *self.process() = Some(command.spawn().unwrap());
    }

    /// Makes later starts of the node use another version of the program.
    pub(super) fn use_program(&self, program: &Path) {
        program.clone_into(&mut self.program.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Starts the process again if it has ended by itself. Returns how it ended.
    pub(super) fn restart_if_ended(&self) -> Option<ExitStatus> {
        let status = self.process().as_mut()?.try_wait().unwrap()?;
        self.start();
        Some(status)
    }

    pub(super) fn kill(&self) {
        if let Some(mut process) = self.process().take() {
            let _gone = process.kill();
            let _waited = block_in_place(|| process.wait());
        }
    }

    /// Tells the process to stop, and waits for its end.
    pub(super) fn stop(&self) -> Option<ExitStatus> {
        let mut process = self.process().take()?;
        // The ID of a process that has ended may already belong to another process.
        if process.try_wait().unwrap().is_none() {
            signal(&process, "TERM");
        }
        Some(block_in_place(|| process.wait()).unwrap())
    }

    /// Sends a signal to the process. Does nothing if it has ended.
    pub(super) fn signal(&self, name: &str) {
        if let Some(process) = self.process().as_ref() {
            signal(process, name);
        }
    }

    /// Returns whether no process is running. `stop` can still return the exit status afterwards.
    pub(super) fn has_ended(&self) -> bool {
        self.process().as_mut().is_none_or(|process| process.try_wait().unwrap().is_some())
    }

    pub(super) fn is_running(&self) -> bool {
        self.process().is_some()
    }

    fn process(&self) -> MutexGuard<'_, Option<Child>> {
        self.process.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the clock of the process to this many seconds ahead of the right time.
    pub(super) fn set_clock(&self, seconds: i64) {
        let new = self.folder.join("clock.new");
        std::fs::write(&new, format!("{seconds:+}")).unwrap();
        std::fs::rename(new, self.clock_file()).unwrap();
    }

    fn clock_file(&self) -> PathBuf {
        self.folder.join("clock")
    }

    fn log_file(&self) -> PathBuf {
        self.folder.join("log")
    }

    pub(super) fn log(&self) -> String {
        std::fs::read_to_string(self.log_file()).unwrap_or_default()
    }

    pub(super) fn fill_disk(&self) {
        let mut file = File::create(self.disk().join("full")).unwrap();
        let piece = vec![0; 64 << 10];
        while file.write_all(&piece).is_ok() {}
    }

    pub(super) fn free_disk(&self) {
        std::fs::remove_file(self.disk().join("full")).unwrap();
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        if let Some(mut process) = self.process().take() {
            let _gone = process.kill();
            let _waited = process.wait();
        }
        let _unmounted = Command::new("umount").arg("--lazy").arg(self.disk()).status();
    }
}

/// Returns the library that changes the clock of a process.
fn clock_library() -> PathBuf {
    let folders = std::fs::read_dir("/usr/lib").unwrap().flatten();
    let mut files = folders.map(|folder| folder.path().join("faketime/libfaketimeMT.so.1"));
    files.find(|file| file.exists()).expect("libfaketime, which make faults installs")
}

fn signal(process: &Child, name: &str) {
    let _ended = Command::new("kill").args(["-s", name, &process.id().to_string()]).status();
}
