//! Checks uploaded model files and reads their contents.

use plinth_model::conversion_advice;
use plinth_spec::ErrorCode;
use plinth_spec::id::AccountId;
use plinth_spec::wire::Animation;
use tracing::Instrument as _;

use super::contents::ModelContents;
use super::incoming::{ReceivedFile, new_file};
use crate::check::{CheckError, FileReport};
use crate::error::{Result, ServiceError};
use crate::service::Service;

/// A file that passed the check, with the contents of its model.
#[derive(Debug)]
pub(crate) struct Checked {
    pub glb: ReceivedFile,
    pub animations: Vec<Animation>,
    pub mesh_names: Vec<String>,
    pub material_names: Vec<String>,
    pub contents: Box<ModelContents>,
}

/// File format of an upload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Glb,
    Zip,
}

impl Format {
    /// Returns the format that belongs to the extension of a file name.
    pub(crate) fn of_name(name: &str, zip_conversion: bool) -> Result<Self> {
        let extension = name.rsplit_once('.').map(|(_, e)| e.to_ascii_lowercase()).unwrap_or_default();
        match extension.as_str() {
            "glb" => Ok(Self::Glb),
            "zip" if zip_conversion => Ok(Self::Zip),
            _ => {
                let accepted = if zip_conversion { ".glb or .zip" } else { ".glb" };
                let advice = conversion_advice(&extension, zip_conversion);
                let message = format!("the file's name must end in {accepted}; {advice}");
                Err(ServiceError::new(ErrorCode::InvalidFormat, message))
            }
        }
    }
}

impl Service {
    /// Checks a file by reading it as the renderer does. A ZIP is converted to a GLB first. The check runs in a
    /// separate process if a checker is configured. The number of concurrent checks is limited, because each check
    /// needs about as much memory as the size of the model.
    /// Errors: `code`, with status 422 for a file that is not a model, and 400 for a ZIP whose unpacked data is too
    /// large.
    pub(super) async fn check_model(
        &self,
        payer: &AccountId,
        file: ReceivedFile,
        format: Format,
        code: ErrorCode,
    ) -> Result<Checked> {
        let checking = tracing::info_span!(target: plinth_trace::TARGET, "check model");
        let converted = (format == Format::Zip).then(|| new_file(&self.options.incoming)).transpose()?;
        let to = converted.iter().map(|to| to.path().to_owned()).collect();
        let report =
            self.check(payer, file.path().to_owned(), to).instrument(checking).await?.map_err(|error| match error {
                CheckError::TooMuch(message) => ServiceError::new(code, message).with_status(422),
                CheckError::Interrupted => CheckError::interrupted(code),
                CheckError::Failed(cause) => broken(code).with_cause(cause),
            })?;
        match report {
            FileReport::Rejected { status, message } => Err(ServiceError::new(code, message).with_status(status)),
            FileReport::Model { animations, mesh_names, material_names, contents } => {
                let glb = match converted {
                    Some(converted) => {
                        let hashing = tokio::task::spawn_blocking(move || ReceivedFile::from_file(converted));
                        hashing.await.map_err(ServiceError::internal)??
                    }
                    None => file,
                };
                Ok(Checked { glb, animations, mesh_names, material_names, contents })
            }
        }
    }
}

fn broken(code: ErrorCode) -> ServiceError {
    ServiceError::new(code, "the file could not be processed").with_status(500)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_names_are_rejected_with_advice() {
        for (name, zip_conversion, message) in [
            ("a.GLTF", true, "must end in .glb or .zip; pack it with its buffers and textures into one .glb"),
            ("a.obj", true, "must end in .glb or .zip; put the OBJ, its MTL and its textures into one .zip"),
            ("a.obj", false, "must end in .glb; export the model as .glb"),
            ("a.zip", false, "must end in .glb; export the model as .glb"),
        ] {
            let error = Format::of_name(name, zip_conversion).unwrap_err();
            assert_eq!((error.code, error.status), (ErrorCode::InvalidFormat, 400));
            assert!(error.message.contains(message), "{name}: {}", error.message);
        }
    }
}
