//! Names of the files of an environment that are in the folder of a job.

use std::path::PathBuf;

use plinth_pipeline::EnvironmentFiles;
use plinth_spec::EnvPart;

/// Returns the file name of one part of an environment.
pub(crate) fn environment_file(part: EnvPart) -> String {
    format!("env.{}", part.file_name())
}

/// Returns the paths of the files of an environment. Each path begins with `prefix`.
pub(crate) fn environment_files(prefix: &str) -> EnvironmentFiles {
    let path = |part| PathBuf::from(format!("{prefix}{}", environment_file(part)));
    EnvironmentFiles::GainMap {
        sdr: path(EnvPart::Sdr),
        gain_map: path(EnvPart::GainMap),
        metadata: path(EnvPart::Metadata),
    }
}
