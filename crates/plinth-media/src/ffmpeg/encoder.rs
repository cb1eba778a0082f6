//! A running video encoder.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::Duration;

use super::command::{Stream, encode};
use super::process::{DEVICE_STALL, Process, Stall};
use crate::MediaError;
use crate::system::enlarge;

/// Maximum number of frames in the queue to the encoder.
const QUEUE: usize = 3;
/// A software encoder that accepts no frame for this long is considered hung.
const STALL: Duration = Duration::from_mins(2);

/// A running encoder with a queue of frames and an output file.
pub(crate) struct Encoder {
    // Fields are dropped in the order of their declaration. The queue must be closed before the process is dropped.
    queue: Option<SyncSender<Vec<u8>>>,
    spare: Receiver<Vec<u8>>,
    process: Process,
    file: PathBuf,
    stall: Duration,
    is_hardware: bool,
}

impl Encoder {
    /// Starts ffmpeg, which writes to `file`. Error messages name `target`, the final path of the file.
    pub(crate) fn start(program: &Path, stream: Stream, file: &Path, target: &Path) -> Result<Self, MediaError> {
        let is_hardware = stream.codec.is_hardware();
        let mut process = Process::start(encode(program, stream, file), file, target, is_hardware)?;
        let (queue, pictures) = sync_channel::<Vec<u8>>(QUEUE);
        let (give_back, spare) = sync_channel(QUEUE + 2);
        let stdin = process.take_stdin().inspect(enlarge);
        std::thread::spawn(move || {
            let Some(mut stdin) = stdin else { return };
            for picture in pictures {
                // When the encoder closes the pipe, this thread ends, which closes the queue. The caller then gets an
                // error when it queues the next frame.
                if stdin.write_all(&picture).is_err() {
                    return;
                }
                // Returns the buffer for reuse. If the channel is full or closed, the buffer is dropped.
                drop(give_back.try_send(picture));
            }
        });
        let stall = if is_hardware { DEVICE_STALL } else { STALL };
        Ok(Self { queue: Some(queue), spare, process, file: file.to_owned(), stall, is_hardware })
    }

    /// Returns a buffer of an encoded frame for reuse, or a new buffer if there is none.
    pub(crate) fn spare(&self) -> Vec<u8> {
        self.spare.try_recv().unwrap_or_default()
    }

    /// Queues the next frame. Blocks while the queue is full.
    /// Errors: if the encoder failed or hangs, or `stop` became true.
    pub(crate) fn picture(&mut self, mut bytes: Vec<u8>, stop: &AtomicBool) -> Result<(), MediaError> {
        let mut stall = Stall::new(self.stall);
        while let Some(queue) = &self.queue {
            bytes = match queue.try_send(bytes) {
                Ok(()) => return Ok(()),
                Err(TrySendError::Disconnected(_)) => break,
                Err(TrySendError::Full(bytes)) => bytes,
            };
            if stop.load(Ordering::Relaxed) {
                return Err(MediaError::Stopped);
            }
            if stall.is_over() {
                break;
            }
            stall.pause();
        }
        self.queue = None;
        Err(self.process.failure())
    }

    /// Checks that ffmpeg has not ended yet.
    /// Errors: with the message of ffmpeg.
    pub(crate) fn check_running(&mut self) -> Result<(), MediaError> {
        if self.process.has_ended() { Err(self.process.failure()) } else { Ok(()) }
    }

    /// Ends the stream, and waits until the file is complete.
    /// Errors: if the encoder failed, or `stop` became true.
    pub(crate) fn finish(mut self, stop: &AtomicBool) -> Result<(), MediaError> {
        self.queue = None;
        if self.is_hardware {
            return self.process.wait_while_writing(&[&self.file], self.stall, stop);
        }
        self.process.wait(stop)
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;
    use std::time::Instant;

    use super::*;
    use crate::ffmpeg::process::PAUSE;
    use crate::ffmpeg::{H264Encoder, VideoCodec};

    /// Starts a shell script as if it were a hardware encoder, with a short time limit.
    fn scripted(folder: &Path, lines: &str) -> Encoder {
        let (program, file) = (folder.join("ffmpeg.sh"), folder.join("a.mp4"));
        std::fs::write(&program, format!("#!/bin/bash\n{lines}\n")).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let codec = VideoCodec::H264 { encoder: H264Encoder::Nvenc, crf: 17 };
        let mut encoder =
            Encoder::start(&program, Stream { width: 640, height: 360, fps: 30, codec }, &file, &file).unwrap();
        assert_eq!((encoder.stall, encoder.is_hardware), (DEVICE_STALL, true));
        encoder.stall = Duration::from_millis(300);
        encoder
    }

    #[test]
    fn a_hardware_encoder_that_accepts_no_frames_fails() {
        let folder = tempfile::tempdir().unwrap();
        let never = AtomicBool::new(false);
        let mut encoder = scripted(folder.path(), "head -c 400000 >/dev/null; exec sleep 100");
        let error = (0..20).find_map(|_| encoder.picture(vec![0; 640 * 360 * 3 / 2], &never).err());
        assert!(error.unwrap().to_string().contains("ffmpeg hangs"));
    }

    #[test]
    fn an_encoder_that_ends_while_it_waits_for_frames_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let mut encoder = scripted(folder.path(), "sleep 0.1; echo 'a library is missing' >&2; exit 127");
        encoder.check_running().unwrap();
        let begin = Instant::now();
        while encoder.check_running().is_ok() {
            assert!(begin.elapsed() < STALL);
            std::thread::sleep(PAUSE);
        }
        let error = encoder.check_running().unwrap_err().to_string();
        assert!(error.contains("a library is missing"), "{error}");
    }

    #[test]
    fn a_hardware_encoder_without_memory_is_not_taken_for_a_full_disk() {
        let folder = tempfile::tempdir().unwrap();
        let lines = "cat >/dev/null; echo 'Cannot open the session: No space left on device' >&2; exit 1";
        let error = scripted(folder.path(), lines).finish(&AtomicBool::new(false)).unwrap_err();
        assert!(matches!(error, MediaError::Encoder { .. }), "{error}");
    }

    #[test]
    fn a_hardware_encoder_that_hangs_at_the_end_fails_once_its_file_stops_growing() {
        let folder = tempfile::tempdir().unwrap();
        let never = AtomicBool::new(false);
        let writes = "cat >/dev/null; for i in {1..12}; do sleep 0.1; echo x >>\"${@: -1}\"; done";
        scripted(folder.path(), writes).finish(&never).unwrap();
        let error = scripted(folder.path(), &format!("{writes}; exec sleep 100")).finish(&never).unwrap_err();
        assert!(error.to_string().contains("ffmpeg hangs"), "{error}");
        assert_eq!(std::fs::read(folder.path().join("a.mp4")).unwrap().len(), 2 * 24);
    }
}
