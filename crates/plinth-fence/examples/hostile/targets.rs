//! What is attacked.

use std::path::PathBuf;

/// What is attacked.
pub(crate) struct Targets {
    /// The job's own folder, where it may write to `out`.
    pub(crate) own: PathBuf,
    /// Another job's folder, with a file `model.glb`.
    pub(crate) other: PathBuf,
    /// The server's SQLite file.
    pub(crate) database: PathBuf,
    /// A folder outside of all.
    pub(crate) outside: PathBuf,
}

impl Targets {
    /// Reads paths that are separated by colons, in the order of the fields.
    pub(crate) fn parse(text: &str) -> Self {
        let [own, other, database, outside] =
            text.split(':').map(PathBuf::from).collect::<Vec<_>>().try_into().unwrap();
        Self { own, other, database, outside }
    }
}
