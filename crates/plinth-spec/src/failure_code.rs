//! Why a render failed, as clients branch on it.

/// Why a render failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FailureCode {
    /// The model could not be fetched.
    ModelDownloadFailed,
    /// The environment could not be fetched or read.
    EnvDownloadFailed,
    /// An overlay is gone or belongs to somebody else.
    OverlayMissing,
    /// An overlay could not be fetched.
    OverlayDownloadFailed,
    /// The renderer died.
    RendererCrash,
    /// The model is bad.
    RendererError,
    /// It took too long.
    Timeout,
    /// The graphics device was lost.
    DisplayLost,
    /// A file could not be encoded.
    EncodeFailed,
    /// A finished file could not be stored.
    UploadFailed,
    /// The node that worked on it stopped responding.
    Reaped,
}

impl FailureCode {
    /// Every code.
    pub const ALL: [Self; 11] = [
        Self::ModelDownloadFailed,
        Self::EnvDownloadFailed,
        Self::OverlayMissing,
        Self::OverlayDownloadFailed,
        Self::RendererCrash,
        Self::RendererError,
        Self::Timeout,
        Self::DisplayLost,
        Self::EncodeFailed,
        Self::UploadFailed,
        Self::Reaped,
    ];

    /// The code as it stands in the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ModelDownloadFailed => "model_download_failed",
            Self::EnvDownloadFailed => "env_download_failed",
            Self::OverlayMissing => "overlay_missing",
            Self::OverlayDownloadFailed => "overlay_download_failed",
            Self::RendererCrash => "renderer_crash",
            Self::RendererError => "renderer_error",
            Self::Timeout => "timeout",
            Self::DisplayLost => "display_lost",
            Self::EncodeFailed => "encode_failed",
            Self::UploadFailed => "upload_failed",
            Self::Reaped => "reaped",
        }
    }

    /// Whether the charge is returned: always, except where the model itself is at fault.
    pub const fn is_refunded(self) -> bool {
        !matches!(self, Self::RendererError)
    }

    /// The code of a text.
    pub fn from_text(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|code| code.as_str() == text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_models_own_fault_is_not_refunded() {
        for code in FailureCode::ALL {
            assert_eq!(code.is_refunded(), code != FailureCode::RendererError, "{}", code.as_str());
            assert_eq!(FailureCode::from_text(code.as_str()), Some(code));
        }
    }
}
