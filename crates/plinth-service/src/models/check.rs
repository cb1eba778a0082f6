//! Whether a file is a model, and what is in it.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use plinth_spec::ErrorCode;
use plinth_spec::wire::Animation;
use tempfile::NamedTempFile;

use super::file_report::{FileReport, check_file};
use super::incoming::{Arrived, new_file};
use crate::error::{Result, ServiceError};
use crate::memory::is_out_of_memory;
use crate::service::{Checker, Service};

/// A file that is a model.
#[derive(Debug)]
pub(crate) struct Checked {
    pub glb: Arrived,
    pub animations: Vec<Animation>,
    pub mesh_names: Vec<String>,
    pub material_names: Vec<String>,
}

/// What a file claims to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Glb,
    Zip,
}

impl Format {
    /// By the name's extension.
    pub(crate) fn of_name(name: &str, zip_conversion: bool) -> Result<Self> {
        let extension = name.rsplit_once('.').map(|(_, e)| e.to_ascii_lowercase()).unwrap_or_default();
        match extension.as_str() {
            "glb" => Ok(Self::Glb),
            "zip" if zip_conversion => Ok(Self::Zip),
            _ => {
                let accepted = if zip_conversion { ".glb or .zip" } else { ".glb" };
                Err(ServiceError::new(ErrorCode::InvalidFormat, format!("the file's name must end in {accepted}")))
            }
        }
    }
}

impl Service {
    /// Reads a file as a renderer will, converting a ZIP first. Few at a time: each takes memory as large as the model,
    /// in a process of its own where one is set.
    /// Errors: `code`, 422 for a file that is no model, 400 for a ZIP that unpacks to too much.
    pub(super) async fn check_model(&self, file: Arrived, format: Format, code: ErrorCode) -> Result<Checked> {
        let permit = Arc::clone(&self.checks).acquire_owned().await.map_err(ServiceError::internal)?;
        let (folder, checker) = (self.options.incoming.clone(), self.options.checker.clone());
        // The permit goes along: a caller that goes away does not let more in while this one still works.
        let checking = tokio::task::spawn_blocking(move || {
            let checked = check(file, format, code, &folder, checker.as_ref());
            drop(permit);
            checked
        });
        // A reader that panics is a bug, and the file that found it is refused.
        checking.await.map_err(|panic| broken(code).with_cause(panic))?
    }
}

fn check(file: Arrived, format: Format, code: ErrorCode, folder: &Path, checker: Option<&Checker>) -> Result<Checked> {
    let converted = (format == Format::Zip).then(|| new_file(folder)).transpose()?;
    let to = converted.as_ref().map(NamedTempFile::path);
    let report = match checker {
        Some(checker) => check_in_process(checker, file.path(), to, code)?,
        None => check_file(file.path(), to)?,
    };
    match report {
        FileReport::Refused { status, message } => Err(ServiceError::new(code, message).with_status(status)),
        FileReport::Model { animations, mesh_names, material_names } => {
            let glb = converted.map_or(Ok(file), Arrived::from_file)?;
            Ok(Checked { glb, animations, mesh_names, material_names })
        }
    }
}

fn check_in_process(checker: &Checker, file: &Path, to: Option<&Path>, code: ErrorCode) -> Result<FileReport> {
    let mut command = Command::new(&checker.program);
    command.arg("check-file").arg("--memory-bytes").arg(checker.memory_bytes.to_string()).arg(file).args(to);
    // It reads what strangers sent: it gets none of this process' secrets.
    let output = command.env_clear().stdin(Stdio::null()).output()?;
    let report = serde_json::from_slice(&output.stdout);
    report.map_err(|unreadable| {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        if is_out_of_memory(&said) {
            let most = checker.memory_bytes >> 20;
            let words = format!("the model needs more than {most} MB of memory to be read; simplify it");
            return ServiceError::new(code, words).with_status(422);
        }
        broken(code).with_cause(format!("the check ended with {}: {unreadable}; {said}", output.status))
    })
}

fn broken(code: ErrorCode) -> ServiceError {
    ServiceError::new(code, "the file could not be processed").with_status(500)
}
