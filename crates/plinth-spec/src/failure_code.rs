//! Failure codes of renders. Clients distinguish failures by their code.

use crate::named::named;

named! {
    /// The reason why a render failed.
    FailureCode {
        /// The model could not be fetched.
        ModelDownloadFailed = "model_download_failed",
        /// The environment could not be fetched or read.
        EnvDownloadFailed = "env_download_failed",
        /// An overlay was deleted or belongs to another workspace.
        OverlayMissing = "overlay_missing",
        /// An overlay could not be fetched.
        OverlayDownloadFailed = "overlay_download_failed",
        /// The renderer crashed.
        RendererCrash = "renderer_crash",
        /// The model cannot be rendered.
        RendererError = "renderer_error",
        /// The render took too long.
        Timeout = "timeout",
        /// The graphics device was lost.
        DisplayLost = "display_lost",
        /// A file could not be encoded.
        EncodeFailed = "encode_failed",
        /// A finished file could not be stored.
        UploadFailed = "upload_failed",
        /// The workers that processed the render stopped responding.
        Reaped = "reaped",
    }
}

impl FailureCode {
    /// Returns whether a render that failed with this code is refunded. Every failed render is refunded, unless its
    /// model caused the failure.
    pub const fn is_refunded(self) -> bool {
        !matches!(self, Self::RendererError)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_failure_is_refunded_unless_the_model_is_the_cause() {
        for code in FailureCode::ALL {
            assert_eq!(code.is_refunded(), *code != FailureCode::RendererError, "{}", code.as_str());
            assert_eq!(FailureCode::from_name(code.as_str()), Some(*code));
        }
    }
}
