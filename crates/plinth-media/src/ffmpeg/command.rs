//! Arguments, explicit about colour: what ffmpeg is not told it guesses, and guesses BT.601.

use std::path::Path;
use std::process::{Command, Stdio};

/// How a stream is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VideoCodec {
    /// H.264 High, 8-bit 4:2:0, in MP4; constant quality.
    H264 {
        /// x264's constant rate factor.
        crf: u8,
    },
    /// ProRes 4444 with 16-bit alpha in MOV.
    ProRes4444,
}

/// A raw video stream and what becomes of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stream {
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) fps: u32,
    pub(crate) codec: VideoCodec,
}

/// How much of the processor H.264 may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effort {
    /// Beside a renderer that wants the same cores.
    Low,
    /// For files that are sent many times.
    Usual,
}

impl Effort {
    /// x264's preset, and what is different from it. Low is `ultrafast` with the tools that save more than they cost: at
    /// equal SSIM it takes 0.33 to 0.45 of the time of `veryfast` for 1.13 to 1.21 of its bytes (`bench/encoders.sh`).
    const fn options(self) -> (&'static str, &'static str) {
        match self {
            Self::Low => {
                ("ultrafast", "cabac=1:8x8dct=1:deblock=0,0:aq-mode=1:partitions=i8x8,i4x4:mbtree=1:rc-lookahead=10:")
            }
            Self::Usual => ("veryfast", ""),
        }
    }
}

/// Pictures that an encoder works on at a time. Each costs it some 80 MB in 4K (ProRes: 130), so this is not left to the
/// number of cores; and files come out the same on any machine.
pub(super) const THREADS: &str = "4";

/// The whole command.
pub(crate) fn encode(program: &Path, stream: Stream, out: &Path) -> Command {
    let size = format!("{}x{}", stream.width, stream.height);
    let fps = stream.fps.to_string();
    let pixels = match stream.codec {
        VideoCodec::H264 { .. } => "yuv420p",
        VideoCodec::ProRes4444 => "yuva444p10le",
    };
    let mut command = Command::new(program);
    // Without -xerror it ends well even where the end of a file could not be written.
    command.args(["-hide_banner", "-loglevel", "error", "-xerror", "-y"]);
    command.args(["-f", "rawvideo", "-pixel_format", pixels, "-video_size", &size, "-framerate", &fps]);
    command.args(["-color_range", "tv", "-colorspace", "bt709", "-color_primaries", "bt709", "-color_trc", "bt709"]);
    command.args(["-i", "pipe:0", "-an", "-r", &fps, "-threads", THREADS]);
    match stream.codec {
        VideoCodec::H264 { crf } => {
            command.args(["-crf", &crf.to_string()]);
            h264(&mut command, stream.fps, Effort::Low);
            command.args(["-video_track_timescale", "30000", "-movflags", "+faststart", "-f", "mp4"]);
        }
        VideoCodec::ProRes4444 => {
            // prores_ks takes its tags from the frames, not from the options.
            command.args(["-vf", "setparams=range=tv:color_primaries=bt709:color_trc=bt709:colorspace=bt709"]);
            command.args(["-c:v", "prores_ks", "-profile:v", "4444", "-alpha_bits", "16", "-vendor", "apl0"]);
            // The finest quantiser from the start: the search for it gives the same bytes in five times the time.
            command.args(["-q:v", "1", "-pix_fmt", "yuva444p10le", "-movflags", "+write_colr", "-f", "mov"]);
        }
    }
    command.arg(out).stdin(Stdio::piped());
    supervised(&mut command);
    command
}

/// H.264 High as all videos have it: a closed group of pictures each second, so that streams cut cleanly there.
pub(super) fn h264(command: &mut Command, fps: u32, effort: Effort) {
    let gop = fps.to_string();
    let (preset, tools) = effort.options();
    command.args(["-c:v", "libx264", "-profile:v", "high", "-preset", preset, "-pix_fmt", "yuv420p"]);
    command.args(["-g", &gop, "-keyint_min", &gop, "-sc_threshold", "0"]);
    let colour = "colorprim=bt709:transfer=bt709:colormatrix=bt709:range=tv";
    command.args(["-x264-params", &format!("{tools}open-gop=0:force-cfr=1:{colour}")]);
    command.args(["-color_range", "tv", "-colorspace", "bt709", "-color_primaries", "bt709", "-color_trc", "bt709"]);
}

/// Words go to the parent, and so does the say over its end.
pub(super) fn supervised(command: &mut Command) {
    // Ctrl-C on a terminal goes to the whole group of processes; whether an encoder stops is for its parent to say.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
}
