//! A running encoder.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::command::{Stream, encode};
use crate::MediaError;

/// Pictures that may wait for the encoder.
const QUEUE: usize = 3;
/// How much of what ffmpeg says is kept.
const TAIL_BYTES: usize = 8192;
/// An encoder that takes no picture for this long hangs.
const STALL: Duration = Duration::from_mins(2);
/// How many lines of that a message has.
const LAST_LINES: usize = 4;
/// How long a failed encoder may take for its last words.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// Pause between two looks at a busy encoder.
const PAUSE: Duration = Duration::from_millis(2);

/// A running encoder: pictures go in through a queue, a file comes out.
pub(crate) struct Encoder {
    child: Child,
    queue: Option<SyncSender<Vec<u8>>>,
    spare: Receiver<Vec<u8>>,
    said: Arc<Mutex<Vec<u8>>>,
    listener: JoinHandle<()>,
    file: PathBuf,
    target: PathBuf,
}

impl Encoder {
    /// Starts ffmpeg, which writes `file`; messages name it `target`.
    pub(crate) fn start(program: &Path, stream: Stream, file: &Path, target: &Path) -> Result<Self, MediaError> {
        let mut child = encode(program, stream, file)
            .spawn()
            .map_err(|source| MediaError::FfmpegMissing { program: program.display().to_string(), source })?;
        let (queue, pictures) = sync_channel::<Vec<u8>>(QUEUE);
        let (give_back, spare) = sync_channel(QUEUE + 2);
        let stdin = child.stdin.take();
        std::thread::spawn(move || {
            let Some(mut stdin) = stdin else { return };
            for picture in pictures {
                // A closed pipe ends this thread and with it the queue, which whoever sends the next picture notices.
                if stdin.write_all(&picture).is_err() {
                    return;
                }
                // A full or closed channel only means that this buffer is not used again.
                drop(give_back.try_send(picture));
            }
        });
        let said = Arc::new(Mutex::new(Vec::new()));
        let (stderr, kept) = (child.stderr.take(), Arc::clone(&said));
        let listener = std::thread::spawn(move || {
            if let Some(mut pipe) = stderr {
                listen(&mut pipe, &kept);
            }
        });
        let (file, target) = (file.to_owned(), target.to_owned());
        Ok(Self { child, queue: Some(queue), spare, said, listener, file, target })
    }

    /// A buffer that was used before, if one is free.
    pub(crate) fn spare(&self) -> Vec<u8> {
        self.spare.try_recv().unwrap_or_default()
    }

    /// Queues the next picture; waits while the queue is full.
    /// Errors: the encoder stopped, hangs, or `stop` became true.
    pub(crate) fn picture(&mut self, mut bytes: Vec<u8>, stop: &AtomicBool) -> Result<(), MediaError> {
        let begin = Instant::now();
        while let Some(queue) = &self.queue {
            bytes = match queue.try_send(bytes) {
                Ok(()) => return Ok(()),
                Err(TrySendError::Disconnected(_)) => break,
                Err(TrySendError::Full(bytes)) => bytes,
            };
            if stop.load(Ordering::Relaxed) {
                return Err(MediaError::Stopped);
            }
            if begin.elapsed() > STALL {
                break;
            }
            std::thread::sleep(PAUSE);
        }
        Err(self.failure())
    }

    /// Ends the stream and waits for the file.
    /// Errors: the encoder failed, or `stop` became true.
    pub(crate) fn finish(mut self, stop: &AtomicBool) -> Result<(), MediaError> {
        self.queue = None;
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) if status.success() => return Ok(()),
                Ok(None) if stop.load(Ordering::Relaxed) => return Err(MediaError::Stopped),
                Ok(None) => std::thread::sleep(PAUSE),
                _ => return Err(self.failure()),
            }
        }
    }

    fn failure(&mut self) -> MediaError {
        self.queue = None;
        let deadline = Instant::now() + LAST_WORDS;
        let status = self.end_by(deadline);
        while !self.listener.is_finished() && Instant::now() < deadline {
            std::thread::sleep(PAUSE);
        }
        let said = String::from_utf8_lossy(&self.said.lock().unwrap_or_else(PoisonError::into_inner)).into_owned();
        let said = said.replace(&*self.file.to_string_lossy(), &self.target.to_string_lossy());
        let words = last_words(&said);
        let words = match (words.is_empty(), status) {
            (false, _) => words,
            (true, Some(status)) => format!("ffmpeg ended early and without a word ({status})"),
            (true, None) => "ffmpeg hangs".to_owned(),
        };
        MediaError::Encoder { file: self.target.clone(), words }
    }

    /// How the process ended by itself; after the deadline it is made to.
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
        // Both fail only where the process is gone already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl Drop for Encoder {
    fn drop(&mut self) {
        self.queue = None;
        if matches!(self.child.try_wait(), Ok(None)) {
            self.kill();
        }
    }
}

/// The last lines in one.
fn last_words(said: &str) -> String {
    let lines: Vec<&str> =
        said.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with("Last message repeated")).collect();
    lines[lines.len().saturating_sub(LAST_LINES)..].join("; ")
}

/// Reads to the end and keeps the last bytes.
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
    fn the_last_lines_are_quoted_in_their_order() {
        let said = "a\nb\nwrite: disk full\n    Last message repeated 17 times\n\nno trailer\nc\nd\n";
        assert_eq!(last_words(said), "write: disk full; no trailer; c; d");
        assert_eq!(last_words(""), "");
    }
}
