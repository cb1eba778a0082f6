//! What a child process tells, one JSON object a line.

use plinth_media::EncoderFound;
use plinth_spec::FailureCode;
use serde::{Deserialize, Serialize};

use crate::manifest::Manifest;
use crate::progress::Stage;

/// What a child process tells. The last one of a task is its result; a process that ends without it has crashed.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "camelCase")]
pub enum ChildEvent {
    /// How far it is.
    Progress {
        /// What it is doing.
        stage: Stage,
        /// Frames that are done.
        frame: u32,
        /// Frames in all.
        frames: u32,
    },
    /// The posters are there under their names.
    PostersWritten,
    /// All files of a render are there. The last of its task.
    Rendered {
        /// What was made.
        manifest: Box<Manifest>,
    },
    /// All files of a packaging are there. The last of its task.
    Packaged {
        /// Their names, relative to the folder that was asked for.
        files: Vec<String>,
        /// Why libx264 had to encode instead of the hardware encoder; `None`: it did not have to.
        hardware_failure: Option<String>,
    },
    /// What a render would take. The last of its task.
    Probed(MachineFound),
    /// The task cannot be done. The last of any task.
    Failed(ChildFailure),
}

/// What a render would take.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MachineFound {
    /// The adapter's name.
    pub adapter: String,
    /// Whether it draws on the processor.
    pub is_software: bool,
    /// The H.264 encoder, and what was tried to find it.
    pub encoder: EncoderFound,
}

/// Why a task cannot be done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChildFailure {
    /// What clients branch on.
    pub code: FailureCode,
    /// What people read.
    pub message: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_one_line_and_reads_back() {
        let failure = ChildFailure { code: FailureCode::DisplayLost, message: "two\nlines".to_owned() };
        let line = serde_json::to_string(&ChildEvent::Failed(failure.clone())).unwrap();
        assert_eq!(line, r#"{"event":"failed","code":"display_lost","message":"two\nlines"}"#);
        match serde_json::from_str(&line).unwrap() {
            ChildEvent::Failed(read) => assert_eq!(read, failure),
            other => panic!("{other:?}"),
        }
        let unknown = line.replace("display_lost", "bad_weather");
        assert!(serde_json::from_str::<ChildEvent>(&unknown).is_err());
    }
}
