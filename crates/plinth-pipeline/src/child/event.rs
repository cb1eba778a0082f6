//! Events of a child process. The process prints each event as a line of JSON.

use std::error::Error;

use plinth_media::EncoderFound;
use plinth_spec::FailureCode;
use plinth_spec::preview::PreviewAnswer;
use serde::{Deserialize, Serialize};

use crate::failure::{JobError, customer_message, failure_code, failure_message, is_of_full_disk, is_of_request};
use crate::manifest::Manifest;
use crate::progress::Stage;

/// Event of a child process. The last event of a task is its result. If a process exits without a result, it has
/// crashed.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "camelCase")]
pub enum ChildEvent {
    /// The task has progressed.
    Progress {
        stage: Stage,
        /// Number of finished frames.
        frame: u32,
        /// Total number of frames.
        frames: u32,
    },
    /// All posters have been written.
    PostersWritten,
    /// The last event of a render: all its files have been written.
    Rendered {
        /// Files, sizes and timings of the render.
        manifest: Box<Manifest>,
    },
    /// The last event of a packaging: all its files have been written.
    Packaged {
        /// File names, relative to the output folder.
        files: Vec<String>,
        /// Error of the hardware encoder, if libx264 replaced a hardware encoder that failed.
        hardware_failure: Option<String>,
    },
    /// The last event of a probe: the adapter and the encoder that were found.
    Probed(MachineFound),
    /// The model of a preview has been loaded.
    PreviewReady,
    /// A frame of a preview has been written.
    Previewed {
        /// Warnings about the settings, such as material names that the model does not have.
        warnings: Vec<String>,
    },
    /// A question about a frame of a preview has been answered.
    PreviewAnswered { answer: Box<PreviewAnswer> },
    /// A frame of a preview could not be drawn, or a question about it could not be answered. Later requests may still
    /// succeed.
    PreviewRejected(ChildFailure),
    /// The last event of a failed task.
    Failed(ChildFailure),
}

/// Graphics adapter and encoder of this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MachineFound {
    /// Name of the adapter.
    pub adapter: String,
    /// Whether the adapter is a software driver.
    pub is_software: bool,
    /// The selected H.264 encoder, and the result of testing each encoder.
    pub encoder: EncoderFound,
}

/// Reason why a task failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChildFailure {
    /// Failure code, which programs evaluate.
    pub code: FailureCode,
    /// Message, which people read.
    pub message: String,
    /// Message for the customer. It is only set if `message` is meant for the operator of the machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub customer_message: Option<String>,
    /// Whether the model, the settings or an asset caused the failure. Otherwise the cause is the machine or a bug.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_of_request: bool,
    /// Whether the cause is that the disk of the machine is full. The same task may then succeed later, or on another machine.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_of_full_disk: bool,
}

impl ChildFailure {
    /// Returns a failure of the machine or of this program, whose message is meant for the operator and for customers.
    pub const fn new(code: FailureCode, message: String) -> Self {
        Self { code, message, customer_message: None, is_of_request: false, is_of_full_disk: false }
    }

    /// Returns a failure that the model, the settings or an asset caused.
    pub const fn of_request(code: FailureCode, message: String) -> Self {
        Self { code, message, customer_message: None, is_of_request: true, is_of_full_disk: false }
    }

    /// Returns a failure that `error` caused. Its message is meant for customers, who do not read the message of the error.
    pub fn of_error(code: FailureCode, message: String, error: &(dyn Error + 'static)) -> Self {
        Self { is_of_full_disk: is_of_full_disk(error), ..Self::new(code, message) }
    }

    pub(crate) fn of_job(error: &JobError) -> Self {
        Self {
            code: failure_code(error),
            message: failure_message(error),
            customer_message: customer_message(error).map(str::to_owned),
            is_of_request: is_of_request(error),
            is_of_full_disk: is_of_full_disk(error),
        }
    }

    /// Returns the message that customers may read.
    pub fn for_customer(&self) -> &str {
        self.customer_message.as_deref().unwrap_or(&self.message)
    }
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;

    use plinth_media::MediaError;
    use plinth_scene::SceneError;

    use super::*;

    #[test]
    fn a_failure_is_one_line_and_round_trips() {
        let failure = ChildFailure::new(FailureCode::DisplayLost, "two\nlines".to_owned());
        let line = serde_json::to_string(&ChildEvent::Failed(failure.clone())).unwrap();
        assert_eq!(line, r#"{"event":"failed","code":"display_lost","message":"two\nlines"}"#);
        match serde_json::from_str(&line).unwrap() {
            ChildEvent::Failed(read) => assert_eq!(read, failure),
            other => panic!("{other:?}"),
        }
        let unknown = line.replace("display_lost", "bad_weather");
        assert!(serde_json::from_str::<ChildEvent>(&unknown).is_err());
    }

    #[test]
    fn a_failure_tells_whether_the_request_caused_it() {
        for (error, expected) in [(SceneError::NothingVisible.into(), true), (JobError::Crashed, false)] {
            let line = serde_json::to_string(&ChildFailure::of_job(&error)).unwrap();
            assert_eq!(serde_json::from_str::<ChildFailure>(&line).unwrap().is_of_request, expected, "{line}");
        }
    }

    #[test]
    fn a_failure_tells_whether_the_disk_is_full() {
        let of_file = |kind: ErrorKind| MediaError::File { file: "a.zip".into(), source: kind.into() };
        let of_ffmpeg = MediaError::DiskFull { file: "a.mp4".into(), message: "it is truncated".to_owned() };
        for (error, expected) in
            [(of_ffmpeg, true), (of_file(ErrorKind::StorageFull), true), (of_file(ErrorKind::PermissionDenied), false)]
        {
            let line = serde_json::to_string(&ChildFailure::of_job(&error.into())).unwrap();
            assert_eq!(serde_json::from_str::<ChildFailure>(&line).unwrap().is_of_full_disk, expected, "{line}");
        }
    }
}
