//! The names of H.264 encoders in ffmpeg and in the configuration.

use std::fmt;
use std::str::FromStr;

use plinth_spec::named;
use serde::{Deserialize, Serialize};

named! {
    /// An H.264 encoder of ffmpeg.
    H264Encoder, default Libx264 {
        /// x264, a software encoder. It writes the same file for the same input on every machine.
        Libx264 = "libx264",
        /// NVENC, the hardware encoder of NVIDIA cards.
        Nvenc = "h264_nvenc",
        /// VA-API, the interface of Intel's and AMD's hardware encoders on Linux.
        Vaapi = "h264_vaapi",
        /// VideoToolbox, the interface of Apple's hardware encoder.
        VideoToolbox = "h264_videotoolbox",
    }
}

impl H264Encoder {
    /// The hardware encoders, in the order in which [`EncoderChoice::Auto`] tests them. NVENC is first, because a
    /// machine with an NVIDIA card may also have integrated graphics, whose encoder is slower.
    pub const HARDWARE: [Self; 3] = [Self::Nvenc, Self::VideoToolbox, Self::Vaapi];

    /// Returns a message that names the hardware and the drivers that the encoder requires.
    pub(crate) const fn needs(self) -> &'static str {
        match self {
            Self::Libx264 => "nothing",
            Self::Nvenc => "an NVIDIA card with an encoder, and its driver with libcuda and libnvidia-encode",
            Self::Vaapi => "a device /dev/dri/renderD* that this user may open, and its VA-API driver",
            Self::VideoToolbox => "a Mac with Apple silicon",
        }
    }

    /// Returns whether the encoder needs hardware, which may be missing or fail.
    pub const fn is_hardware(self) -> bool {
        !matches!(self, Self::Libx264)
    }
}

impl fmt::Display for H264Encoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The H.264 encoder that the user requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum EncoderChoice {
    /// The first hardware encoder that works, or libx264 if none works.
    Auto,
    /// A specific encoder. It is an error if this encoder does not work.
    Only(H264Encoder),
}

/// Name of [`EncoderChoice::Auto`] in the configuration.
const AUTO: &str = "auto";

impl EncoderChoice {
    /// Returns all names that the configuration accepts.
    pub fn names() -> impl Iterator<Item = &'static str> {
        std::iter::once(AUTO).chain(H264Encoder::NAMES.iter().copied())
    }
}

impl Default for EncoderChoice {
    fn default() -> Self {
        Self::Only(H264Encoder::default())
    }
}

impl fmt::Display for EncoderChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str(AUTO),
            Self::Only(encoder) => encoder.fmt(f),
        }
    }
}

impl From<EncoderChoice> for String {
    fn from(choice: EncoderChoice) -> Self {
        choice.to_string()
    }
}

/// Error for a name that is neither `auto` nor the name of an encoder.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no H.264 encoder '{0}'")]
pub struct UnknownEncoder(String);

impl FromStr for EncoderChoice {
    type Err = UnknownEncoder;

    fn from_str(text: &str) -> Result<Self, UnknownEncoder> {
        if text == AUTO {
            return Ok(Self::Auto);
        }
        H264Encoder::from_name(text).map(Self::Only).ok_or_else(|| UnknownEncoder(text.to_owned()))
    }
}

impl TryFrom<String> for EncoderChoice {
    type Error = UnknownEncoder;

    fn try_from(text: String) -> Result<Self, UnknownEncoder> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_round_trips() {
        for name in EncoderChoice::names() {
            let choice: EncoderChoice = name.parse().unwrap();
            assert_eq!(choice.to_string(), name);
            let json = serde_json::to_string(&choice).unwrap();
            assert_eq!(serde_json::from_str::<EncoderChoice>(&json).unwrap(), choice);
        }
        for encoder in H264Encoder::ALL {
            assert_eq!(serde_json::to_string(&encoder).unwrap(), format!("\"{encoder}\""));
        }
        assert!("x264".parse::<EncoderChoice>().is_err());
    }

    #[test]
    fn auto_tries_every_hardware_encoder() {
        let hardware = H264Encoder::ALL.iter().filter(|encoder| encoder.is_hardware());
        assert!(hardware.clone().all(|encoder| H264Encoder::HARDWARE.contains(encoder)));
        assert_eq!(hardware.count(), H264Encoder::HARDWARE.len());
    }
}
