//! A configuration value, together with its source for error messages.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::cmd::Usage;

/// A configuration value that is set or has a default.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(super) text: String,
    /// The flag, environment variable or key that contains the value.
    pub(super) place: String,
    /// The folder to which the value refers if it is a relative path.
    pub(super) folder: PathBuf,
}

impl Found {
    /// Parses the value. `must_be` describes the expected form in the error message.
    pub(super) fn parse<T: FromStr>(&self, must_be: &str) -> Result<T, Usage> {
        self.text.parse().map_err(|_malformed| self.wrong(must_be))
    }

    pub(super) fn path(&self) -> PathBuf {
        self.folder.join(&self.text)
    }

    /// Returns the path of a program. A name without a folder is searched for in `PATH`, so it is not joined with a folder.
    pub(super) fn program(&self) -> PathBuf {
        if Path::new(&self.text).components().count() > 1 { self.path() } else { PathBuf::from(&self.text) }
    }

    /// Returns a URL, with the path of a local file or folder as an absolute one if the value comes from a file.
    pub(super) fn url(&self) -> String {
        let local = ["sqlite://", "file://"].into_iter().find_map(|kind| Some((kind, self.text.strip_prefix(kind)?)));
        local.map_or_else(|| self.text.clone(), |(kind, path)| format!("{kind}{}", self.folder.join(path).display()))
    }

    /// Returns the error for an invalid value.
    pub(super) fn wrong(&self, must_be: &str) -> Usage {
        Usage(format!("{} must be {must_be}, not '{}'", self.place, self.text))
    }
}
