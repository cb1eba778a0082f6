//! Options of each encoder. With every encoder files have the same properties: High profile, 8-bit 4:2:0, BT.709 in
//! limited range, a closed group of pictures (GOP) per second, and no reordering or edit list that shifts timestamps.

use std::process::Command;

use super::choice::H264Encoder;
use super::level::level;

/// How much CPU time libx264 may use. Hardware encoders use hardly any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effort {
    /// For encoding in parallel to a renderer that uses the same cores.
    Low,
    /// For files that are downloaded many times.
    Usual,
}

impl Effort {
    /// Returns x264's preset and the options that differ from it. `Low` is `ultrafast` with those tools that save more
    /// than they cost: at equal SSIM it takes 0.33 to 0.45 of the time of `veryfast` and 1.13 to 1.21 of its bytes
    /// (`bench/encoders.sh`).
    const fn options(self) -> (&'static str, &'static str) {
        match self {
            Self::Low => {
                ("ultrafast", "cabac=1:8x8dct=1:deblock=0,0:aq-mode=1:partitions=i8x8,i4x4:mbtree=1:rc-lookahead=10:")
            }
            Self::Usual => ("veryfast", ""),
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
    /// Quality as x264 constant rate factor (CRF); smaller is better.
    pub(crate) crf: u8,
    /// Peak bit rate in kbit/s; `None`: unlimited.
    pub(crate) peak_kbit: Option<u32>,
    pub(crate) effort: Effort,
}

impl H264Encoder {
    /// Adds the options before the first input: the device.
    pub(crate) fn device(self, command: &mut Command) {
        if self == Self::Vaapi {
            // Without a name ffmpeg uses the first render node that works.
            command.args(["-init_hw_device", "vaapi=gpu", "-filter_hw_device", "gpu"]);
        }
    }

    /// Returns the last filter before the encoder, which uploads frames to the device.
    pub(crate) const fn upload_filter(self) -> Option<&'static str> {
        match self {
            Self::Vaapi => Some("format=nv12,hwupload"),
            Self::Libx264 | Self::Nvenc | Self::VideoToolbox => None,
        }
    }
}

impl H264 {
    /// Adds the options of the output.
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

    /// `cq` is the target quantiser of the variable rate, on x264's scale.
    fn nvenc(&self, command: &mut Command) {
        command.args(["-c:v", "h264_nvenc", "-preset", "p5", "-tune", "hq", "-pix_fmt", "yuv420p"]);
        command.args(["-rc", "vbr", "-cq", &self.crf.to_string(), "-b:v", "0", "-spatial-aq", "1"]);
        self.peak(command);
        self.level(command);
        // GOPs are closed, because there are no B-frames.
        command.args(["-no-scenecut", "1", "-forced-idr", "1"]);
        self.groups(command);
    }

    /// All drivers support constant quantisers; a limited bit rate needs quality-defined variable bit rate (QVBR).
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

    /// The quality scale of VideoToolbox is 1 to 100.
    fn videotoolbox(&self, command: &mut Command) {
        let quality = 100_u8.saturating_sub(self.crf.saturating_mul(2)).max(1);
        command.args(["-c:v", "h264_videotoolbox", "-allow_sw", "0", "-realtime", "0", "-pix_fmt", "yuv420p"]);
        command.args(["-q:v", &quality.to_string()]);
        self.peak(command);
        self.groups(command);
    }

    /// Limits the bit rate over one and a half seconds.
    fn peak(&self, command: &mut Command) {
        if let Some(kbit) = self.peak_kbit {
            command.args(["-maxrate", &format!("{kbit}k"), "-bufsize", &format!("{}k", kbit * 3 / 2)]);
        }
    }

    /// Sets the level, because drivers choose different ones.
    fn level(&self, command: &mut Command) {
        if let Some(level) = level(self.width, self.height, self.fps) {
            command.args(["-level", &level.to_string()]);
        }
    }

    /// Sets the High profile and a GOP per second, without additional key frames at scene changes. B-frames are off,
    /// because some hardware does not support them.
    fn groups(&self, command: &mut Command) {
        let gop = self.fps.to_string();
        command.args(["-profile:v", "high", "-g", &gop, "-bf", "0"]);
        command.args(["-force_key_frames", &format!("expr:not(mod(n,{gop}))")]);
    }
}
