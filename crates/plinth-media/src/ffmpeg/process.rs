//! Running ffmpeg process.

use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use crate::MediaError;

/// Number of bytes of error output that are kept.
const TAIL_BYTES: usize = 8192;
/// Number of lines of error output in a message.
const LAST_LINES: usize = 4;
/// Time that a failed process gets to finish its error output.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// Polling interval of a process.
pub(super) const PAUSE: Duration = Duration::from_millis(2);

/// A hardware encoder that accepts no frame and writes nothing for this long is considered hung. Drivers wait for ever for a lost
/// device.
pub(crate) const DEVICE_STALL: Duration = Duration::from_secs(30);

/// Running ffmpeg process. It is killed when dropped, and on Linux when the thread that started it ends.
pub(crate) struct Process {
    child: Child,
    said: Arc<Mutex<Vec<u8>>>,
    listener: JoinHandle<()>,
    file: PathBuf,
    target: PathBuf,
}

impl Process {
    /// Starts a command with the output `file`. Error messages use `target`, its final path.
    pub(crate) fn start(command: Command, file: &Path, target: &Path) -> Result<Self, MediaError> {
        let program = command.get_program().to_string_lossy().into_owned();
        let mut child = spawn(command).map_err(|source| MediaError::FfmpegMissing { program, source })?;
        let said = Arc::new(Mutex::new(Vec::new()));
        let (stderr, kept) = (child.stderr.take(), Arc::clone(&said));
        let listener = std::thread::spawn(move || {
            if let Some(mut pipe) = stderr {
                listen(&mut pipe, &kept);
            }
        });
        Ok(Self { child, said, listener, file: file.to_owned(), target: target.to_owned() })
    }

    /// Takes the stdin of the process. Works once.
    pub(super) fn take_stdin(&mut self) -> Option<ChildStdin> {
        self.child.stdin.take()
    }

    /// Waits for the process to exit.
    /// Errors: the process failed, or `stop` became true.
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

    /// Waits for the process to exit, as long as its files change at least every `stall`.
    /// Errors: the process failed or hangs, or `stop` became true.
    pub(crate) fn wait_while_writing(
        &mut self,
        files: &[&Path],
        stall: Duration,
        stop: &AtomicBool,
    ) -> Result<(), MediaError> {
        let (mut written, mut since) = (last_written(files), Instant::now());
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) if status.success() => return Ok(()),
                Ok(None) if stop.load(Ordering::Relaxed) => return Err(MediaError::Stopped),
                Ok(None) if since.elapsed() > stall => {
                    let now = last_written(files);
                    if now == written {
                        return Err(self.failure());
                    }
                    (written, since) = (now, Instant::now());
                }
                Ok(None) => std::thread::sleep(PAUSE),
                _ => return Err(self.failure()),
            }
        }
    }

    /// Returns the error of the failed process, with the end of its error output.
    pub(super) fn failure(&mut self) -> MediaError {
        let deadline = Instant::now() + LAST_WORDS;
        let status = self.end_by(deadline);
        let said = self.said_by(deadline);
        let said = said.replace(&*self.file.to_string_lossy(), &self.target.to_string_lossy());
        let message = last_words(&said);
        let message = match (message.is_empty(), status) {
            (false, _) => message,
            (true, Some(status)) => format!("ffmpeg ended early without a message ({status})"),
            (true, None) => "ffmpeg hangs".to_owned(),
        };
        MediaError::Encoder { file: self.target.clone(), message }
    }

    /// Returns the end of the error output after the process has exited.
    pub(crate) fn said(&self) -> String {
        self.said_by(Instant::now() + LAST_WORDS)
    }

    fn said_by(&self, deadline: Instant) -> String {
        while !self.listener.is_finished() && Instant::now() < deadline {
            std::thread::sleep(PAUSE);
        }
        String::from_utf8_lossy(&self.said.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    }

    /// Waits until the deadline for the process to exit, then kills it. Returns the status of a regular exit.
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
        // Both calls fail only if the process has exited already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            self.kill();
        }
    }
}

/// Runs a program without input and returns its output, whatever its exit status.
/// Errors: the program cannot be started, or does not exit within the time limit.
pub(super) fn printed(mut command: Command, limit: Duration) -> std::io::Result<String> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = spawn(command)?;
    let (tell, told) = sync_channel(1);
    if let Some(mut stdout) = child.stdout.take() {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            // After a read error, the output so far is used.
            drop(stdout.read_to_end(&mut bytes));
            drop(tell.send(bytes));
        });
    }
    let bytes = told.recv_timeout(limit).map_err(|_late| ErrorKind::TimedOut.into());
    // Both calls fail only if the process has exited already.
    drop(child.kill());
    drop(child.wait());
    bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns sizes and modification times of files, to detect changes.
fn last_written(files: &[&Path]) -> Vec<Option<(u64, Option<SystemTime>)>> {
    let state = |file: &&Path| std::fs::metadata(file).ok().map(|about| (about.len(), about.modified().ok()));
    files.iter().map(state).collect()
}

/// Starts a process that the kernel kills when the thread that started it ends, even if this process is killed.
#[cfg(target_os = "linux")]
fn spawn(command: Command) -> std::io::Result<Child> {
    ur_taking_me_with_you::spawn_dying_with_parent(command)
}

/// Starts a process. Other systems do not kill it with its parent, but closed pipes usually end it.
#[cfg(not(target_os = "linux"))]
fn spawn(mut command: Command) -> std::io::Result<Child> {
    command.spawn()
}

/// Joins the last lines into one.
fn last_words(said: &str) -> String {
    let lines: Vec<&str> =
        said.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with("Last message repeated")).collect();
    lines[lines.len().saturating_sub(LAST_LINES)..].join("; ")
}

/// Reads a pipe to its end and keeps the last bytes.
fn listen(pipe: &mut impl Read, said: &Mutex<Vec<u8>>) {
    let mut chunk = [0; 1024];
    while let Ok(count) = pipe.read(&mut chunk) {
        if count == 0 {
            break;
        }
        let mut kept = said.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend_from_slice(&chunk[..count]);
        let beyond = kept.len().saturating_sub(TAIL_BYTES);
        kept.drain(..beyond);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_quote_the_last_lines_in_order() {
        let said = "a\nb\nwrite: disk full\n    Last message repeated 17 times\n\nno trailer\nc\nd\n";
        assert_eq!(last_words(said), "write: disk full; no trailer; c; d");
        assert_eq!(last_words(""), "");
    }
}
