//! Any error of a job, and the failure code that clients branch on.

use plinth_media::MediaError;
use plinth_model::ModelError;
use plinth_render::{GpuError, RenderError};
use plinth_scene::SceneError;
use plinth_spec::FailureCode;

/// Why a job did not finish.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    /// The model is bad.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The scene cannot be built.
    #[error(transparent)]
    Scene(#[from] SceneError),
    /// There is no device to draw on.
    #[error(transparent)]
    Gpu(#[from] GpuError),
    /// Drawing failed.
    #[error(transparent)]
    Render(#[from] RenderError),
    /// Writing files failed.
    #[error(transparent)]
    Media(MediaError),
    /// Somebody asked to stop.
    #[error("cancelled")]
    Cancelled,
    /// A helper thread died: an error in this program.
    #[error("a thread of the renderer died")]
    Crashed,
}

impl From<MediaError> for JobError {
    fn from(error: MediaError) -> Self {
        match error {
            MediaError::Stopped => Self::Cancelled,
            other => Self::Media(other),
        }
    }
}

/// The failure code of an error.
pub fn failure_code(error: &JobError) -> FailureCode {
    match error {
        JobError::Model(_) | JobError::Scene(SceneError::NoSuchAnimation { .. } | SceneError::NothingVisible) => {
            FailureCode::RendererError
        }
        JobError::Scene(SceneError::NoSuchAsset { .. }) => FailureCode::OverlayMissing,
        JobError::Scene(SceneError::Asset { .. }) => FailureCode::OverlayDownloadFailed,
        JobError::Scene(SceneError::Environment { .. }) => FailureCode::EnvDownloadFailed,
        JobError::Gpu(_) | JobError::Render(RenderError::DeviceLost { .. } | RenderError::DeviceHung { .. }) => {
            FailureCode::DisplayLost
        }
        JobError::Render(_) | JobError::Cancelled | JobError::Crashed => FailureCode::RendererCrash,
        JobError::Media(_) => FailureCode::EncodeFailed,
    }
}
