//! Builds command lines of ffmpeg. Every command states the colour space, because ffmpeg otherwise assumes BT.601.

use std::path::Path;
use std::process::{Command, Stdio};

use super::h264::{Effort, H264, H264Encoder};
use crate::system::without_interrupts;

/// Codec of an encoded stream, with its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VideoCodec {
    /// H.264 in MP4 at constant quality.
    H264 {
        /// The encoder that produces the stream.
        encoder: H264Encoder,
        /// Quality, as a constant rate factor (CRF) of x264. Lower values mean higher quality.
        crf: u8,
    },
    /// ProRes 4444 with 16-bit alpha in MOV.
    ProRes4444,
}

impl VideoCodec {
    /// Returns whether a hardware encoder is used.
    pub(crate) const fn is_hardware(self) -> bool {
        matches!(self, Self::H264 { encoder, .. } if encoder.is_hardware())
    }
}

/// A raw video stream, and the codec with which it is encoded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stream {
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) fps: u32,
    pub(crate) codec: VideoCodec,
}

/// Number of encoder threads. It does not depend on the number of cores: each thread takes about 80 MB for 4K video
/// (130 MB for ProRes), and files are only identical on all machines if the number is constant.
pub(super) const THREADS: &str = "4";

/// Returns the command that encodes `stream` to the file `out`.
pub(crate) fn encode(program: &Path, stream: Stream, out: &Path) -> Command {
    let size = format!("{}x{}", stream.width, stream.height);
    let fps = stream.fps.to_string();
    let pixels = match stream.codec {
        VideoCodec::H264 { .. } => "yuv420p",
        VideoCodec::ProRes4444 => "yuva444p10le",
    };
    let mut command = Command::new(program);
    // Without -xerror, the exit status of ffmpeg is 0 even if the end of the file could not be written.
    command.args(["-hide_banner", "-loglevel", "error", "-xerror", "-y"]);
    if let VideoCodec::H264 { encoder, .. } = stream.codec {
        encoder.device(&mut command);
    }
    command.args(["-f", "rawvideo", "-pixel_format", pixels, "-video_size", &size, "-framerate", &fps]);
    command.args(["-color_range", "tv", "-colorspace", "bt709", "-color_primaries", "bt709", "-color_trc", "bt709"]);
    command.args(["-i", "pipe:0", "-an", "-r", &fps, "-threads", THREADS]);
    match stream.codec {
        VideoCodec::H264 { encoder, crf } => {
            if let Some(filter) = encoder.upload_filter() {
                command.args(["-vf", filter]);
            }
            let Stream { width, height, fps, .. } = stream;
            H264 { encoder, width, height, fps, crf, peak_kbit: None, effort: Effort::Low }.output(&mut command);
            command.args(["-video_track_timescale", "30000", "-movflags", "+faststart", "-f", "mp4"]);
        }
        VideoCodec::ProRes4444 => {
            // The encoder prores_ks reads the colour tags from the frames, not from the options.
            command.args(["-vf", "setparams=range=tv:color_primaries=bt709:color_trc=bt709:colorspace=bt709"]);
            command.args(["-c:v", "prores_ks", "-profile:v", "4444", "-alpha_bits", "16", "-vendor", "apl0"]);
            // The quantiser is fixed to its finest value. A search for the best value would give the same bytes, but
            // take five times as long.
            command.args(["-q:v", "1", "-pix_fmt", "yuva444p10le", "-movflags", "+write_colr", "-f", "mov"]);
        }
    }
    command.arg(out).stdin(Stdio::piped());
    supervised(&mut command);
    command
}

/// Redirects the error output of a command to this process, sets its language to English, and prevents Ctrl-C from reaching the
/// command.
pub(crate) fn supervised(command: &mut Command) {
    // Only this process decides whether to stop ffmpeg.
    without_interrupts(command);
    // The message for a full disk is recognized by its English text.
    command.env("LC_ALL", "C").stdout(Stdio::null()).stderr(Stdio::piped());
}
