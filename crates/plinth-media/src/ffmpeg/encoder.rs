//! A running encoder of frames.

use std::io::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::{Duration, Instant};

use super::command::{Stream, encode};
use super::process::{PAUSE, Process};
use crate::MediaError;

/// Pictures that may wait for the encoder.
const QUEUE: usize = 3;
/// An encoder that takes no picture for this long hangs.
const STALL: Duration = Duration::from_mins(2);

/// A running encoder: pictures go in through a queue, a file comes out.
pub(crate) struct Encoder {
    // Before the process: the end of its input comes before its end.
    queue: Option<SyncSender<Vec<u8>>>,
    spare: Receiver<Vec<u8>>,
    process: Process,
}

impl Encoder {
    /// Starts ffmpeg, which writes `file`; messages name it `target`.
    pub(crate) fn start(program: &Path, stream: Stream, file: &Path, target: &Path) -> Result<Self, MediaError> {
        let mut process = Process::start(encode(program, stream, file), file, target)?;
        let (queue, pictures) = sync_channel::<Vec<u8>>(QUEUE);
        let (give_back, spare) = sync_channel(QUEUE + 2);
        let stdin = process.take_stdin();
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
        Ok(Self { queue: Some(queue), spare, process })
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
        self.queue = None;
        Err(self.process.failure())
    }

    /// Ends the stream and waits for the file.
    /// Errors: the encoder failed, or `stop` became true.
    pub(crate) fn finish(mut self, stop: &AtomicBool) -> Result<(), MediaError> {
        self.queue = None;
        self.process.wait(stop)
    }
}
