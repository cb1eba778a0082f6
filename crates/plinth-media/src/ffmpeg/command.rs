//! Command lines of ffmpeg. They always name the colour space, because ffmpeg otherwise assumes BT.601.

use std::path::Path;
use std::process::{Command, Stdio};

use super::h264::{Effort, H264, H264Encoder};

/// Encoding of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VideoCodec {
    /// H.264 in MP4 at constant quality.
    H264 {
        /// Encoder.
        encoder: H264Encoder,
        /// Quality as x264 constant rate factor (CRF).
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

/// Raw video stream and its encoding.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stream {
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) fps: u32,
    pub(crate) codec: VideoCodec,
}

/// Number of encoder threads. Each takes about 80 MB in 4K (ProRes: 130 MB), so it does not depend on the number of cores. This
/// also makes files identical on all machines.
pub(super) const THREADS: &str = "4";

/// Returns the command that encodes `stream` to `out`.
pub(crate) fn encode(program: &Path, stream: Stream, out: &Path) -> Command {
    let size = format!("{}x{}", stream.width, stream.height);
    let fps = stream.fps.to_string();
    let pixels = match stream.codec {
        VideoCodec::H264 { .. } => "yuv420p",
        VideoCodec::ProRes4444 => "yuva444p10le",
    };
    let mut command = Command::new(program);
    // Without -xerror, ffmpeg exits with success even if the end of the file could not be written.
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
            // prores_ks reads colour tags from the frames, not from the options.
            command.args(["-vf", "setparams=range=tv:color_primaries=bt709:color_trc=bt709:colorspace=bt709"]);
            command.args(["-c:v", "prores_ks", "-profile:v", "4444", "-alpha_bits", "16", "-vendor", "apl0"]);
            // A fixed finest quantizer: the search for one gives the same bytes in five times the time.
            command.args(["-q:v", "1", "-pix_fmt", "yuva444p10le", "-movflags", "+write_colr", "-f", "mov"]);
        }
    }
    command.arg(out).stdin(Stdio::piped());
    supervised(&mut command);
    command
}

/// Sends the output of a command to the parent, and leaves its termination to the parent.
pub(crate) fn supervised(command: &mut Command) {
    // A terminal sends Ctrl-C to the whole process group, but only the parent decides whether an encoder stops.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
}
