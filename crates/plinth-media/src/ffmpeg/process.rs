//! A running encoder.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use super::command::{Stream, encode};
use crate::MediaError;

/// Pictures that may wait for the encoder.
const QUEUE: usize = 3;
/// How much of what ffmpeg says is kept.
const TAIL_BYTES: usize = 8192;

/// A running encoder: pictures go in through a queue, a file comes out.
pub(crate) struct Encoder {
    child: Child,
    queue: Option<SyncSender<Vec<u8>>>,
    spare: Receiver<Vec<u8>>,
    writer: Option<JoinHandle<std::io::Result<()>>>,
    reader: Option<JoinHandle<Vec<u8>>>,
    file: PathBuf,
}

impl Encoder {
    /// Starts ffmpeg.
    pub(crate) fn start(program: &Path, stream: Stream, file: &Path) -> Result<Self, MediaError> {
        let mut child = encode(program, stream, file)
            .spawn()
            .map_err(|source| MediaError::FfmpegMissing { program: program.display().to_string(), source })?;
        let (queue, pictures) = sync_channel::<Vec<u8>>(QUEUE);
        let (give_back, spare) = sync_channel(QUEUE + 2);
        let stdin = child.stdin.take();
        let writer = std::thread::spawn(move || {
            let Some(mut stdin) = stdin else { return Ok(()) };
            for picture in pictures {
                stdin.write_all(&picture)?;
                // A full or closed channel only means that this buffer is not used again.
                drop(give_back.try_send(picture));
            }
            Ok(())
        });
        let stderr = child.stderr.take();
        let reader = std::thread::spawn(move || stderr.map_or_else(Vec::new, |mut pipe| tail(&mut pipe)));
        Ok(Self { child, queue: Some(queue), spare, writer: Some(writer), reader: Some(reader), file: file.to_owned() })
    }

    /// A buffer that was used before, if one is free.
    pub(crate) fn spare(&self) -> Vec<u8> {
        self.spare.try_recv().unwrap_or_default()
    }

    /// Queues the next picture; waits while the queue is full.
    pub(crate) fn picture(&mut self, bytes: Vec<u8>) -> Result<(), MediaError> {
        match self.queue.as_ref().map(|queue| queue.send(bytes)) {
            Some(Ok(())) => Ok(()),
            _ => Err(self.failure()),
        }
    }

    /// Ends the stream and waits for the file.
    pub(crate) fn finish(mut self) -> Result<(), MediaError> {
        self.queue = None;
        let written = self.writer.take().map(JoinHandle::join);
        let status = self.child.wait();
        let complete = matches!(written, Some(Ok(Ok(())))) && status.is_ok_and(|s| s.success());
        if complete { Ok(()) } else { Err(self.failure()) }
    }

    fn failure(&mut self) -> MediaError {
        self.queue = None;
        // It may hang rather than exit: end it, then hear what it said.
        drop(self.child.kill());
        drop(self.child.wait());
        let said = self.reader.take().and_then(|r| r.join().ok()).unwrap_or_default();
        let words = String::from_utf8_lossy(&said).trim().replace('\n', "; ");
        let words = if words.is_empty() { "ffmpeg stopped without a word".to_owned() } else { words };
        MediaError::Encoder { file: self.file.clone(), words }
    }
}

impl Drop for Encoder {
    fn drop(&mut self) {
        self.queue = None;
        if matches!(self.child.try_wait(), Ok(None)) {
            drop(self.child.kill());
            drop(self.child.wait());
        }
    }
}

/// Reads to the end and keeps the last bytes.
fn tail(pipe: &mut impl Read) -> Vec<u8> {
    let mut kept = Vec::new();
    let mut chunk = [0; 1024];
    while let Ok(count) = pipe.read(&mut chunk) {
        if count == 0 {
            break;
        }
        kept.extend_from_slice(&chunk[..count]);
        let beyond = kept.len().saturating_sub(TAIL_BYTES);
        kept.drain(..beyond);
    }
    kept
}
