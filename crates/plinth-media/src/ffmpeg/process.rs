//! A running ffmpeg process.

use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use crate::MediaError;
use crate::full_disk::{lacks_room, names_full_disk};
use crate::partial::folder;
use crate::system::spawn;

/// Number of bytes at the end of the error output that are kept for messages.
const TAIL_BYTES: usize = 8192;
/// Maximum number of error output lines that a message quotes.
const LAST_LINES: usize = 4;
/// Time that a failed process gets to finish its error output before it is killed.
const OUTPUT_TIMEOUT: Duration = Duration::from_secs(2);
/// Interval at which the state of a process is checked.
pub(super) const PAUSE: Duration = Duration::from_millis(2);
/// Longest step in which [`Stall`] counts time.
const LONGEST_STEP: Duration = Duration::from_secs(1);

/// A hardware encoder that neither accepts a frame nor writes to its file for this long is considered hung. Drivers may
/// wait forever for a device that was lost.
pub(crate) const DEVICE_STALL: Duration = Duration::from_secs(30);

/// Measures how long ffmpeg makes no progress. A step that is much longer than [`PAUSE`] means that this process was
/// stopped meanwhile, for example by Ctrl-Z. It then passed no frames to ffmpeg, so most of such a step does not count.
pub(super) struct Stall {
    limit: Duration,
    waited: Duration,
    last: Instant,
}

impl Stall {
    pub(super) fn new(limit: Duration) -> Self {
        Self { limit, waited: Duration::ZERO, last: Instant::now() }
    }

    /// Waits for the interval [`PAUSE`].
    pub(super) fn pause(&mut self) {
        std::thread::sleep(PAUSE);
        let passed = self.last.elapsed();
        self.last += passed;
        self.count(passed);
    }

    fn count(&mut self, passed: Duration) {
        self.waited += passed.min(LONGEST_STEP);
    }

    /// Returns whether the limit is exceeded.
    pub(super) fn is_over(&self) -> bool {
        self.waited > self.limit
    }
}

/// A running ffmpeg process. It is killed when this value is dropped. On Linux, it is also killed when the thread that
/// started it ends.
pub(crate) struct Process {
    child: Child,
    output: Arc<Mutex<Vec<u8>>>,
    listener: JoinHandle<()>,
    file: PathBuf,
    target: PathBuf,
    is_hardware: bool,
}

impl Process {
    /// Starts a command that writes to `file`. Error messages name `target`, the final path of the file. `is_hardware` is whether the
    /// command uses a hardware encoder.
    pub(crate) fn start(command: Command, file: &Path, target: &Path, is_hardware: bool) -> Result<Self, MediaError> {
        let program = command.get_program().to_string_lossy().into_owned();
        let mut child = spawn(command).map_err(|source| MediaError::FfmpegMissing { program, source })?;
        let output = Arc::new(Mutex::new(Vec::new()));
        let (stderr, kept) = (child.stderr.take(), Arc::clone(&output));
        let listener = std::thread::spawn(move || {
            if let Some(mut pipe) = stderr {
                listen(&mut pipe, &kept);
            }
        });
        Ok(Self { child, output, listener, file: file.to_owned(), target: target.to_owned(), is_hardware })
    }

    /// Returns the standard input of the process, or `None` if it was already taken.
    pub(super) fn take_stdin(&mut self) -> Option<ChildStdin> {
        self.child.stdin.take()
    }

    /// Returns whether the process has exited.
    pub(super) fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Waits until the process exits.
    /// Errors: if the process failed, or `stop` became true.
    pub(crate) fn wait(&mut self, stop: &AtomicBool) -> Result<(), MediaError> {
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) if status.success() => return Ok(()),
                Ok(None) if stop.load(Ordering::Relaxed) => return Err(MediaError::Stopped),
                Ok(None) => std::thread::sleep(PAUSE),
                _ => return Err(self.failure()),
            }
        }
    }

    /// Waits until the process exits. The process counts as hung if none of `files` changes for the duration `limit`.
    /// Errors: if the process failed or hangs, or `stop` became true.
    pub(crate) fn wait_while_writing(
        &mut self,
        files: &[&Path],
        limit: Duration,
        stop: &AtomicBool,
    ) -> Result<(), MediaError> {
        let (mut written, mut stall) = (last_written(files), Stall::new(limit));
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) if status.success() => return Ok(()),
                Ok(None) if stop.load(Ordering::Relaxed) => return Err(MediaError::Stopped),
                Ok(None) if stall.is_over() => {
                    let now = last_written(files);
                    if now == written {
                        return Err(self.failure());
                    }
                    (written, stall) = (now, Stall::new(limit));
                }
                Ok(None) => stall.pause(),
                _ => return Err(self.failure()),
            }
        }
    }

    /// Returns an error that quotes the end of the process's error output. Must only be called if the process has
    /// failed, and before its output file is deleted, because the disk may only be full while this file exists.
    pub(super) fn failure(&mut self) -> MediaError {
        let deadline = Instant::now() + OUTPUT_TIMEOUT;
        let status = self.end_by(deadline);
        let output = self.output_by(deadline);
        let output = output.replace(&*self.file.to_string_lossy(), &self.target.to_string_lossy());
        let message = last_lines(&output);
        let message = match (message.is_empty(), status) {
            (false, _) => message,
            (true, Some(status)) => format!("ffmpeg ended early without a message ({status})"),
            (true, None) => "ffmpeg hangs".to_owned(),
        };
        let error = MediaError::Encoder { file: self.target.clone(), message };
        // Drivers of hardware encoders also report a lack of their own memory as "No space left on device".
        let is_named = !self.is_hardware && names_full_disk(&output);
        error.or_disk_full(|| is_named || lacks_room(folder(&self.file)))
    }

    /// Returns the end of the error output. Must only be called after the process has exited.
    pub(crate) fn output(&self) -> String {
        self.output_by(Instant::now() + OUTPUT_TIMEOUT)
    }

    fn output_by(&self, deadline: Instant) -> String {
        while !self.listener.is_finished() && Instant::now() < deadline {
            std::thread::sleep(PAUSE);
        }
        String::from_utf8_lossy(&self.output.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    }

    /// Waits until the process exits, or kills it at the deadline. Returns `None` if it was killed.
    fn end_by(&mut self, deadline: Instant) -> Option<ExitStatus> {
        while Instant::now() < deadline {
            match self.child.try_wait() {
                Ok(None) => std::thread::sleep(PAUSE),
                ended => return ended.ok().flatten(),
            }
        }
        self.kill();
        None
    }

    fn kill(&mut self) {
        // Both calls fail only if the process has already exited, so their errors are ignored.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if !self.has_ended() {
            self.kill();
        }
    }
}

/// Runs a program without input, and returns its standard output, whatever its exit status is.
/// Errors: if the program cannot be started, or does not exit within the time limit.
pub(super) fn printed(mut command: Command, limit: Duration) -> std::io::Result<String> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = spawn(command)?;
    let (sender, receiver) = sync_channel(1);
    if let Some(mut stdout) = child.stdout.take() {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            // If reading fails, the part of the output that was already read is used.
            drop(stdout.read_to_end(&mut bytes));
            drop(sender.send(bytes));
        });
    }
    let bytes = receiver.recv_timeout(limit).map_err(|_late| ErrorKind::TimedOut.into());
    // Both calls fail only if the process has already exited, so their errors are ignored.
    drop(child.kill());
    drop(child.wait());
    bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns the size and the modification time of each file. If any of them changes, the process is still writing.
fn last_written(files: &[&Path]) -> Vec<Option<(u64, Option<SystemTime>)>> {
    let state = |file: &&Path| std::fs::metadata(file).ok().map(|about| (about.len(), about.modified().ok()));
    files.iter().map(state).collect()
}

/// Joins the last lines of the error output to a single line.
fn last_lines(output: &str) -> String {
    let lines: Vec<&str> =
        output.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with("Last message repeated")).collect();
    lines[lines.len().saturating_sub(LAST_LINES)..].join("; ")
}

/// Reads a pipe to its end, and keeps the last bytes.
fn listen(pipe: &mut impl Read, output: &Mutex<Vec<u8>>) {
    let mut chunk = [0; 1024];
    while let Ok(count) = pipe.read(&mut chunk) {
        if count == 0 {
            break;
        }
        let mut kept = output.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend_from_slice(&chunk[..count]);
        let beyond = kept.len().saturating_sub(TAIL_BYTES);
        kept.drain(..beyond);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_for_which_this_process_was_stopped_does_not_count() {
        let mut stall = Stall::new(Duration::from_mins(2));
        stall.count(Duration::from_hours(1));
        assert!(!stall.is_over());
        for _ in 0..120 {
            stall.count(LONGEST_STEP);
        }
        assert!(stall.is_over());
    }

    #[test]
    fn messages_quote_the_last_lines_in_order() {
        let output = "a\nb\nwrite: disk full\n    Last message repeated 17 times\n\nno trailer\nc\nd\n";
        assert_eq!(last_lines(output), "write: disk full; no trailer; c; d");
        assert_eq!(last_lines(""), "");
    }
}
