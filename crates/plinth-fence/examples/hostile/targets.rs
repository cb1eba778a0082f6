//! Targets of the attacks.

use std::path::PathBuf;

/// Files and folders that the attacks try to access.
pub(crate) struct Targets {
    /// Folder of the attacking job. The job may write to the subfolder `out`.
    pub(crate) own: PathBuf,
    /// Folder of another job. It contains `model.glb`.
    pub(crate) other: PathBuf,
    /// SQLite file of the server.
    pub(crate) database: PathBuf,
    /// A folder that belongs to neither the jobs nor the server.
    pub(crate) outside: PathBuf,
}

impl Targets {
    /// Parses paths that are separated by colons, in the order of the fields.
    pub(crate) fn parse(text: &str) -> Self {
        let [own, other, database, outside] =
            text.split(':').map(PathBuf::from).collect::<Vec<_>>().try_into().unwrap();
        Self { own, other, database, outside }
    }
}
