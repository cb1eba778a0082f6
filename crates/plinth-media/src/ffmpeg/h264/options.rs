//! Options of each H.264 encoder. All encoders produce files with the same properties: High profile, 8-bit 4:2:0,
//! BT.709 in limited range, and one closed group of pictures (GOP) per second. Only [`Effort::Medium`] of libx264
//! reorders frames. Files without reordered frames need no edit list, which would shift timestamps.

use std::process::Command;

use super::choice::H264Encoder;
use super::level::level;

/// How much CPU time libx264 may use. Hardware encoders ignore this value, because they hardly use the CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effort {
    /// For encoding while the renderer uses the CPU, too.
    Low,
    /// For files that are downloaded many times, for which a smaller size is worth more CPU time.
    Medium,
}

impl Effort {
    /// Returns an x264 preset, and options that override parts of the preset.
    ///
    /// `Low` is the preset `ultrafast` plus those tools that save many bits in little time. Compared with the preset
    /// `veryfast` at equal SSIM, encoding takes 0.33 to 0.45 times as long, and files are 1.13 to 1.21 times as large
    /// (`bench/encoders.sh`). `Medium` is the preset `veryfast` without the tools that save few bits for their time.
    /// Compared with `veryfast` at equal SSIM, decoding a 1080p video and encoding all its variants takes 0.49 to 0.6
    /// times as long, and files are 1.09 to 1.1 times as large.
    const fn options(self) -> (&'static str, &'static str) {
        match self {
            Self::Low => {
                ("ultrafast", "cabac=1:8x8dct=1:deblock=0,0:aq-mode=1:partitions=i8x8,i4x4:mbtree=1:rc-lookahead=10:")
            }
            Self::Medium => ("veryfast", "subme=1:me=dia:weightp=0:b-adapt=0:bframes=1:"),
        }
    }
}

/// Parameters of an H.264 stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct H264 {
    pub(crate) encoder: H264Encoder,
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) fps: u32,
    /// Quality, as a constant rate factor (CRF) of x264. Lower values mean higher quality.
    pub(crate) crf: u8,
    /// Peak bit rate in kbit/s; `None` means no limit.
    pub(crate) peak_kbit: Option<u32>,
    pub(crate) effort: Effort,
}

impl H264Encoder {
    /// Adds the options that open the hardware device. They must precede the first input.
    pub(crate) fn device(self, command: &mut Command) {
        if self == Self::Vaapi {
            // Without a device name, ffmpeg opens the first render node that works.
            command.args(["-init_hw_device", "vaapi=gpu", "-filter_hw_device", "gpu"]);
        }
    }

    /// Returns the filter that uploads frames to the hardware device. It must be the last filter before the encoder.
    pub(crate) const fn upload_filter(self) -> Option<&'static str> {
        match self {
            Self::Vaapi => Some("format=nv12,hwupload"),
            Self::Libx264 | Self::Nvenc | Self::VideoToolbox => None,
        }
    }
}

impl H264 {
    /// Adds the options of the encoder.
    pub(crate) fn output(&self, command: &mut Command) {
        match self.encoder {
            H264Encoder::Libx264 => self.libx264(command),
            H264Encoder::Nvenc => self.nvenc(command),
            H264Encoder::Vaapi => self.vaapi(command),
            H264Encoder::VideoToolbox => self.videotoolbox(command),
        }
        command.args([
            "-color_range",
            "tv",
            "-colorspace",
            "bt709",
            "-color_primaries",
            "bt709",
            "-color_trc",
            "bt709",
            // Position of the chroma samples. If it is missing, players that use it assume that chroma belongs to the
            // left of each pair of columns (ITU-T H.264, annex E.2.1). Browsers always assume the middle.
            "-chroma_sample_location",
            "center",
        ]);
    }

    fn libx264(&self, command: &mut Command) {
        let gop = self.fps.to_string();
        let (preset, tools) = self.effort.options();
        command.args(["-crf", &self.crf.to_string()]);
        self.peak(command);
        command.args(["-c:v", "libx264", "-profile:v", "high", "-preset", preset, "-pix_fmt", "yuv420p"]);
        command.args(["-g", &gop, "-keyint_min", &gop, "-sc_threshold", "0"]);
        let colour = "colorprim=bt709:transfer=bt709:colormatrix=bt709:range=tv";
        command.args(["-x264-params", &format!("{tools}open-gop=0:force-cfr=1:{colour}")]);
    }

    /// Adds the options of NVENC. `cq` is the target quantiser for variable bit rates, on the same scale as x264's CRF.
    fn nvenc(&self, command: &mut Command) {
        command.args(["-c:v", "h264_nvenc", "-preset", "p5", "-tune", "hq", "-pix_fmt", "yuv420p"]);
        command.args(["-rc", "vbr", "-cq", &self.crf.to_string(), "-b:v", "0", "-spatial-aq", "1"]);
        self.peak(command);
        self.level(command);
        // All GOPs are closed, because B-frames are disabled.
        command.args(["-no-scenecut", "1", "-forced-idr", "1"]);
        // ffmpeg does not pass the position of the chroma samples to NVENC, so a bitstream filter writes it. Type 1 is the centre
        // (ITU-T H.264, figure E-1).
        command.args(["-bsf:v", "h264_metadata=chroma_sample_loc_type=1"]);
        self.groups(command);
    }

    /// Adds the options of VA-API. All drivers support constant quantisers (CQP). With a peak bit rate, quality-defined
    /// variable bit rate (QVBR) is needed.
    fn vaapi(&self, command: &mut Command) {
        let crf = self.crf.to_string();
        command.args(["-c:v", "h264_vaapi"]);
        match self.peak_kbit {
            None => command.args(["-rc_mode", "CQP", "-qp", &crf]),
            Some(kbit) => command.args(["-rc_mode", "QVBR", "-global_quality", &crf, "-b:v", &format!("{kbit}k")]),
        };
        self.peak(command);
        self.level(command);
        self.groups(command);
    }

    /// Adds the options of VideoToolbox. Its quality scale ranges from 1 to 100.
    fn videotoolbox(&self, command: &mut Command) {
        let quality = 100_u8.saturating_sub(self.crf.saturating_mul(2)).max(1);
        command.args(["-c:v", "h264_videotoolbox", "-allow_sw", "0", "-realtime", "0", "-pix_fmt", "yuv420p"]);
        command.args(["-q:v", &quality.to_string()]);
        self.peak(command);
        self.groups(command);
    }

    /// Limits the peak bit rate, which is averaged over one and a half seconds.
    fn peak(&self, command: &mut Command) {
        if let Some(kbit) = self.peak_kbit {
            command.args(["-maxrate", &format!("{kbit}k"), "-bufsize", &format!("{}k", kbit * 3 / 2)]);
        }
    }

    /// Sets the H.264 level explicitly, because drivers would choose different levels.
    fn level(&self, command: &mut Command) {
        if let Some(level) = level(self.width, self.height, self.fps) {
            command.args(["-level", &level.to_string()]);
        }
    }

    /// Sets the High profile and one GOP per second, without additional key frames at scene changes. B-frames are
    /// disabled, because some hardware does not support them.
    fn groups(&self, command: &mut Command) {
        let gop = self.fps.to_string();
        command.args(["-profile:v", "high", "-g", &gop, "-bf", "0"]);
        command.args(["-force_key_frames", &format!("expr:not(mod(n,{gop}))")]);
    }
}
