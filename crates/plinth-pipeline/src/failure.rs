//! Errors of jobs and their failure codes.

use std::error::Error;
use std::io;

use plinth_media::{MediaError, is_full_disk};
use plinth_model::ModelError;
use plinth_render::{GpuError, RenderError};
use plinth_scene::SceneError;
use plinth_spec::FailureCode;

use crate::environment::EnvironmentError;

/// Error of a job.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    /// The model is not valid.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The scene cannot be built.
    #[error(transparent)]
    Scene(#[from] SceneError),
    /// The environment cannot be read.
    #[error("the environment cannot be read")]
    Environment(#[from] EnvironmentError),
    /// No graphics device is available.
    #[error(transparent)]
    Gpu(#[from] GpuError),
    /// Rendering failed.
    #[error(transparent)]
    Render(#[from] RenderError),
    /// Encoding or writing files failed.
    #[error(transparent)]
    Media(MediaError),
    #[error("cancelled")]
    Cancelled,
    /// A thread panicked, which is a bug in this program.
    #[error("a thread of the renderer panicked")]
    Crashed,
}

impl JobError {
    /// Returns the ID of the image that caused the error. Returns `None` if no image of the settings caused the error;
    /// then the model may have caused it.
    pub fn asset_id(&self) -> Option<&str> {
        match self {
            Self::Scene(SceneError::Asset { id, .. } | SceneError::NoSuchAsset { id }) => Some(id),
            _ => None,
        }
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

/// Returns the failure code of an error.
pub fn failure_code(error: &JobError) -> FailureCode {
    match error {
        JobError::Model(_)
        | JobError::Scene(SceneError::NothingVisible | SceneError::TooFarAway | SceneError::NoCameraFacesTheModel) => {
            FailureCode::RendererError
        }
        JobError::Scene(SceneError::NoSuchAsset { .. }) => FailureCode::OverlayMissing,
        JobError::Scene(SceneError::Asset { .. }) => FailureCode::OverlayDownloadFailed,
        JobError::Scene(SceneError::Environment { .. }) | JobError::Environment(_) => FailureCode::EnvDownloadFailed,
        JobError::Gpu(_) | JobError::Render(RenderError::DeviceLost { .. } | RenderError::DeviceHung { .. }) => {
            FailureCode::DisplayLost
        }
        JobError::Render(_) | JobError::Cancelled | JobError::Crashed => FailureCode::RendererCrash,
        JobError::Media(_) => FailureCode::EncodeFailed,
    }
}

/// Returns whether the model, the settings or an asset caused an error. Otherwise the cause is the machine or a bug in this
/// program.
pub(crate) const fn is_of_request(error: &JobError) -> bool {
    match error {
        JobError::Model(_)
        | JobError::Scene(_)
        | JobError::Environment(EnvironmentError::Content { .. })
        | JobError::Render(
            RenderError::OutOfMemory { .. }
            | RenderError::PictureTooLarge { .. }
            | RenderError::GeometryTooLarge { .. }
            | RenderError::TooManyParts { .. },
        ) => true,
        JobError::Environment(EnvironmentError::File { .. })
        | JobError::Gpu(_)
        | JobError::Render(_)
        | JobError::Media(_)
        | JobError::Cancelled
        | JobError::Crashed => false,
    }
}

/// Returns a message for the customer if only the operator of the machine can fix the error. The error's own message is
/// for the operator: it names the programs and drivers to install.
pub(crate) const fn customer_message(error: &JobError) -> Option<&'static str> {
    match error {
        JobError::Gpu(_) => Some("the render node has no working graphics adapter; please try again"),
        JobError::Media(
            MediaError::FfmpegMissing { .. } | MediaError::SoftwareEncoder { .. } | MediaError::EncoderUnusable { .. },
        ) => Some("the render node cannot encode videos; please try again"),
        _ => None,
    }
}

/// Formats an error with its causes in one line. If the disk is full, the message begins with this fact, because the
/// operator can then act on it.
pub fn failure_message(error: &(dyn Error + 'static)) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut cause = Some(error);
    while let Some(one) = cause {
        let message = one.to_string();
        // The messages of many errors already contain the messages of their causes, so repeated messages are skipped.
        if !parts.iter().any(|known| known.contains(&message)) {
            parts.push(message);
        }
        cause = one.source();
    }
    let message = parts.join(": ");
    if is_of_full_disk(error) { format!("the disk of the render node is full: {message}") } else { message }
}

/// Returns whether the cause of an error is that the disk is full, or that the disk quota of the user is exhausted. The messages
/// of the error are not considered, because they can contain names from the model.
pub(crate) fn is_of_full_disk(error: &(dyn Error + 'static)) -> bool {
    let is_of_output = |error: &MediaError| error.file_on_full_disk().is_some();
    std::iter::successors(Some(error), |&one| one.source()).any(|one| {
        one.downcast_ref::<io::Error>().is_some_and(is_full_disk)
            || one.downcast_ref::<MediaError>().is_some_and(is_of_output)
            // The sources of a job error skip the media error in it.
            || matches!(one.downcast_ref::<JobError>(), Some(JobError::Media(error)) if is_of_output(error))
    })
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn messages_name_a_full_disk_for_errors_of_every_component() {
        let file = PathBuf::from("out/video.mp4");
        let ours = MediaError::File { file: file.clone(), source: ErrorKind::StorageFull.into() };
        let ffmpegs = MediaError::DiskFull { file: file.clone(), message: "it is truncated".to_owned() };
        let encoders = MediaError::Encoder { file, message: "av_write: No space left on device".to_owned() };
        for (error, expected) in [(ours, true), (ffmpegs, true), (encoders, false)] {
            let error = JobError::from(error);
            let message = failure_message(&error);
            assert_eq!(is_of_full_disk(&error), expected, "{message}");
            assert_eq!(message.starts_with("the disk of the render node is full: "), expected, "{message}");
            assert!(message.contains("video.mp4"), "{message}");
            assert_eq!(failure_code(&error), FailureCode::EncodeFailed);
        }
    }

    #[test]
    fn customers_do_not_read_what_to_install() {
        let missing = MediaError::FfmpegMissing { program: "ffmpeg".to_owned(), source: ErrorKind::NotFound.into() };
        for error in [JobError::Gpu(GpuError::NoAdapter), JobError::from(missing)] {
            assert!(failure_message(&error).contains("install"), "{error}");
            let message = customer_message(&error).unwrap();
            assert!(message.starts_with("the render node ") && !message.contains("install"), "{message}");
        }
        assert_eq!(customer_message(&JobError::Crashed), None);
    }

    #[test]
    fn errors_of_the_request_differ_from_errors_of_the_machine() {
        let no_model = ModelError::Container { problem: "it is empty".to_owned() };
        let no_panorama = SceneError::Environment { problem: "it has no pixels".to_owned() };
        let of_request: [JobError; 6] = [
            no_model.into(),
            SceneError::NothingVisible.into(),
            SceneError::NoSuchAsset { id: "k3Jd92LmQx7a".to_owned() }.into(),
            EnvironmentError::Content { files: "night.hdr".to_owned(), source: no_panorama }.into(),
            RenderError::GeometryTooLarge { bytes: 2, limit: 1 }.into(),
            RenderError::OutOfMemory { message: "no room".to_owned() }.into(),
        ];
        for error in of_request {
            assert!(is_of_request(&error), "{error}");
        }
        let file = PathBuf::from("night.hdr");
        let of_machine: [JobError; 6] = [
            EnvironmentError::File { file: file.clone(), source: ErrorKind::PermissionDenied.into() }.into(),
            GpuError::NoAdapter.into(),
            RenderError::DeviceLost { message: "reset".to_owned() }.into(),
            RenderError::Shader { name: "dof".to_owned(), message: "syntax".to_owned() }.into(),
            MediaError::File { file, source: ErrorKind::StorageFull.into() }.into(),
            JobError::Crashed,
        ];
        for error in of_machine {
            assert!(!is_of_request(&error), "{error}");
        }
    }

    #[test]
    fn an_invalid_environment_is_named_once() {
        let source = SceneError::Environment { problem: "it has no pixels".to_owned() };
        let error = JobError::from(EnvironmentError::Content { files: "night.hdr".to_owned(), source });
        assert_eq!(
            failure_message(&error),
            "the environment cannot be read: night.hdr: the environment cannot be read: it has no pixels"
        );
    }

    #[test]
    fn causes_are_printed_once() {
        let missing = MediaError::FfmpegMissing { program: "ffmpeg".to_owned(), source: ErrorKind::NotFound.into() };
        let message = failure_message(&JobError::from(missing));
        assert!(message.ends_with(": entity not found"), "{message}");
        assert_eq!(failure_message(&JobError::Crashed), "a thread of the renderer panicked");
    }
}
