//! Names of the files of an environment in the folder of a job.

use std::path::PathBuf;

use plinth_pipeline::EnvironmentFiles;
use plinth_store::EnvPart;

/// The parts of an environment that the renderer needs, with the names of their files.
pub(crate) const ENVIRONMENT_FILES: [(EnvPart, &str); 3] =
    [(EnvPart::Sdr, "env.sdr.webp"), (EnvPart::GainMap, "env.gainmap.webp"), (EnvPart::Metadata, "env.metadata.json")];

/// Returns the paths of the files of an environment. Each path begins with `prefix`.
pub(crate) fn environment_files(prefix: &str) -> EnvironmentFiles {
    let [sdr, gain_map, metadata] = ENVIRONMENT_FILES.map(|(_part, name)| PathBuf::from(format!("{prefix}{name}")));
    EnvironmentFiles::GainMap { sdr, gain_map, metadata }
}
