//! Files of environments in the folders of jobs.

use std::path::PathBuf;

use plinth_pipeline::EnvironmentFiles;
use plinth_store::EnvPart;

/// Parts of an environment that are needed for rendering, with the names of their files.
pub(crate) const ENVIRONMENT_FILES: [(EnvPart, &str); 3] =
    [(EnvPart::Sdr, "env.sdr.webp"), (EnvPart::GainMap, "env.gainmap.webp"), (EnvPart::Metadata, "env.metadata.json")];

/// Returns the files of an environment. `prefix`: the beginning of their names.
pub(crate) fn environment_files(prefix: &str) -> EnvironmentFiles {
    let [sdr, gain_map, metadata] = ENVIRONMENT_FILES.map(|(_part, name)| PathBuf::from(format!("{prefix}{name}")));
    EnvironmentFiles::GainMap { sdr, gain_map, metadata }
}
