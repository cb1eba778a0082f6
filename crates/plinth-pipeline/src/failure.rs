//! Any error of a job, and the failure code that clients branch on.

use std::error::Error;
use std::io::ErrorKind;

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

impl JobError {
    /// Whether an image that the settings name is at fault, not the model.
    pub const fn names_an_asset(&self) -> bool {
        matches!(self, Self::Scene(SceneError::Asset { .. } | SceneError::NoSuchAsset { .. }))
    }
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
        JobError::Model(_) | JobError::Scene(SceneError::NothingVisible | SceneError::NoCameraFacesTheModel) => {
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

/// An error with its causes in one line, for people. A full disk is named first: it says what to do.
pub fn failure_message(error: &(dyn Error + 'static)) -> String {
    let mut parts: Vec<String> = Vec::new();
    let (mut cause, mut is_full) = (Some(error), false);
    while let Some(one) = cause {
        let words = one.to_string();
        is_full |= words.contains(NO_SPACE) || is_full_disk(one);
        // Many errors say their cause already.
        if !parts.iter().any(|known| known.contains(&words)) {
            parts.push(words);
        }
        cause = one.source();
    }
    let words = parts.join(": ");
    if is_full { format!("the disk of the render node is full: {words}") } else { words }
}

/// What ffmpeg says of a full disk.
const NO_SPACE: &str = "No space left on device";

fn is_full_disk(error: &(dyn Error + 'static)) -> bool {
    let kind = error.downcast_ref::<std::io::Error>().map(std::io::Error::kind);
    matches!(kind, Some(ErrorKind::StorageFull | ErrorKind::QuotaExceeded))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn a_full_disk_is_named_whoever_found_it() {
        let file = PathBuf::from("out/video.mp4");
        let ours = MediaError::File { file: file.clone(), source: ErrorKind::StorageFull.into() };
        let ffmpegs = MediaError::Encoder { file, words: "av_write: No space left on device".to_owned() };
        for error in [ours, ffmpegs] {
            let error = JobError::from(error);
            let words = failure_message(&error);
            assert!(
                words.starts_with("the disk of the render node is full: ") && words.contains("video.mp4"),
                "{words}"
            );
            assert_eq!(failure_code(&error), FailureCode::EncodeFailed);
        }
    }

    #[test]
    fn causes_are_said_once() {
        let missing = MediaError::FfmpegMissing { program: "ffmpeg".to_owned(), source: ErrorKind::NotFound.into() };
        let words = failure_message(&JobError::from(missing));
        assert!(words.ends_with(": entity not found"), "{words}");
        assert_eq!(failure_message(&JobError::Crashed), "a thread of the renderer died");
    }
}
