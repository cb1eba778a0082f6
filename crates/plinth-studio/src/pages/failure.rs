//! Advice for the user about failed renders.

use plinth_spec::FailureCode;

/// Returns advice for a failure code.
pub(super) const fn advice(code: FailureCode) -> &'static str {
    use FailureCode as F;
    match code {
        F::ModelDownloadFailed => {
            "The model's file could not be read from the storage. Order it again; if that fails too, upload the model again."
        }
        F::EnvDownloadFailed => "The environment could not be read. Choose another environment, or upload it again.",
        F::OverlayMissing => {
            "An image of the settings was deleted, or belongs to another workspace. Choose another image."
        }
        F::OverlayDownloadFailed => {
            "An image of the settings could not be read from the storage. Order it again; if that fails too, upload the image again."
        }
        F::RendererError => "The model cannot be drawn. Repair the model as the message says, and upload it again.",
        F::RendererCrash => {
            "The renderer ended unexpectedly. Order it again; if that fails too, use a simpler model or smaller textures."
        }
        F::Timeout => "Order a shorter video or a smaller size, or use a simpler model.",
        F::DisplayLost | F::EncodeFailed | F::UploadFailed | F::Reaped => {
            "The fault lies with the service, not with your model or settings. Order it again."
        }
    }
}
