//! The names of H.264 encoders, in ffmpeg and in the configuration.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// An H.264 encoder of ffmpeg.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum H264Encoder {
    /// x264, a software encoder. The same input gives the same file on every machine.
    #[default]
    #[serde(rename = "libx264")]
    Libx264,
    /// NVENC, the hardware encoder of NVIDIA cards.
    #[serde(rename = "h264_nvenc")]
    Nvenc,
    /// VA-API, the interface of Intel's and AMD's hardware encoders on Linux.
    #[serde(rename = "h264_vaapi")]
    Vaapi,
    /// VideoToolbox, the interface of Apple's hardware encoder.
    #[serde(rename = "h264_videotoolbox")]
    VideoToolbox,
}

impl H264Encoder {
    pub const ALL: [Self; 4] = [Self::Libx264, Self::Nvenc, Self::Vaapi, Self::VideoToolbox];

    /// The hardware encoders, in the order in which `auto` tests them. NVENC is first, because a machine with an NVIDIA
    /// card may also have integrated graphics with a slower encoder.
    pub const HARDWARE: [Self; 3] = [Self::Nvenc, Self::VideoToolbox, Self::Vaapi];

    /// Returns the name of the encoder in ffmpeg.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Libx264 => "libx264",
            Self::Nvenc => "h264_nvenc",
            Self::Vaapi => "h264_vaapi",
            Self::VideoToolbox => "h264_videotoolbox",
        }
    }

    /// Returns a message about the hardware and the drivers that the encoder requires.
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
        f.write_str(self.name())
    }
}

/// The H.264 encoder that the user requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum EncoderChoice {
    /// The first hardware encoder that works; libx264 if none does.
    Auto,
    /// A specific encoder. It is an error if this encoder does not work.
    Only(H264Encoder),
}

/// Name of [`EncoderChoice::Auto`] in the configuration.
const AUTO: &str = "auto";

impl EncoderChoice {
    /// Returns all names that the configuration accepts.
    pub fn names() -> impl Iterator<Item = &'static str> {
        std::iter::once(AUTO).chain(H264Encoder::ALL.map(H264Encoder::name))
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
        let named = H264Encoder::ALL.into_iter().find(|encoder| encoder.name() == text);
        named.map(Self::Only).ok_or_else(|| UnknownEncoder(text.to_owned()))
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
        let hardware = H264Encoder::ALL.into_iter().filter(|encoder| encoder.is_hardware());
        assert!(hardware.clone().all(|encoder| H264Encoder::HARDWARE.contains(&encoder)));
        assert_eq!(hardware.count(), H264Encoder::HARDWARE.len());
    }
}
