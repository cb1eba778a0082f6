//! Failure codes of renders. Clients distinguish failures by their code.

use crate::named::named;

/// Declares the failure codes: `Variant = "name", "Advice.";`.
macro_rules! failure_codes {
    ($($(#[doc = $doc:literal])* $code:ident = $name:literal, $advice:expr;)*) => {
        named! {
            /// The reason why a render failed.
            FailureCode { $($(#[doc = $doc])* $code = $name,)* }
        }

        impl FailureCode {
            /// Returns what the customer can do about the failure.
            pub const fn advice(self) -> &'static str {
                match self { $(Self::$code => $advice,)* }
            }

            /// Returns what the failure code means.
            const fn meaning(self) -> &'static str {
                match self { $(Self::$code => concat!($($doc),*),)* }
            }
        }
    };
}

/// Advice for failures that neither the model nor the settings caused.
const ORDER_AGAIN: &str = "The fault lies with the service, not with your model or settings. Order it again.";

failure_codes! {
    /// The model could not be fetched.
    ModelDownloadFailed = "model_download_failed", "Order it again; if that fails too, upload the model again.";
    /// The environment could not be fetched or read.
    EnvDownloadFailed = "env_download_failed", "Choose another environment, or upload it again.";
    /// An image of the settings was deleted or belongs to another workspace.
    OverlayMissing = "overlay_missing", "Choose another image.";
    /// An image of the settings could not be fetched.
    OverlayDownloadFailed = "overlay_download_failed", "Order it again; if that fails too, upload the image again.";
    /// The renderer ended unexpectedly.
    RendererCrash = "renderer_crash", "Order it again; if that fails too, use a simpler model or smaller textures.";
    /// The model cannot be drawn.
    RendererError = "renderer_error", "Repair the model as the message says, and upload it again.";
    /// The render took too long.
    Timeout = "timeout", "Order a shorter video or a smaller size, or use a simpler model.";
    /// The graphics device was lost.
    DisplayLost = "display_lost", ORDER_AGAIN;
    /// A file could not be encoded.
    EncodeFailed = "encode_failed", ORDER_AGAIN;
    /// A finished file could not be stored.
    UploadFailed = "upload_failed", ORDER_AGAIN;
    /// The workers that processed the render stopped responding, could not render, or had full disks.
    Reaped = "reaped", ORDER_AGAIN;
}

impl FailureCode {
    /// Returns whether a render that failed with this code is refunded. Every failed render is refunded, unless its
    /// model caused the failure.
    pub const fn is_refunded(self) -> bool {
        !matches!(self, Self::RendererError)
    }

    /// Returns all failure codes with their meaning, advice and refund as a Markdown table.
    pub fn markdown_table() -> String {
        let row = |code: &Self| {
            let refunded = if code.is_refunded() { "yes" } else { "no" };
            let (name, meaning, advice) = (code.as_str(), code.meaning().trim(), code.advice());
            format!("| `{name}` | {meaning} | {advice} | {refunded} |\n")
        };
        let rows: String = Self::ALL.iter().map(row).collect();
        format!("| code | meaning | advice | refunded |\n|---|---|---|---|\n{rows}")
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
