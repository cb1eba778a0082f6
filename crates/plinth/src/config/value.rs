//! A value together with its source, which error messages name.

use std::path::PathBuf;
use std::str::FromStr;

use crate::cmd::Usage;

/// A value that was found.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(super) text: String,
    /// The flag, variable or key that set it.
    pub(super) place: String,
    /// The folder to which relative paths refer.
    pub(super) folder: PathBuf,
}

impl Found {
    /// Parses the value; `must_be` describes the expected form in the error message.
    pub(super) fn parse<T: FromStr>(&self, must_be: &str) -> Result<T, Usage> {
        self.text.parse().map_err(|_malformed| self.wrong(must_be))
    }

    /// The value as a path.
    pub(super) fn path(&self) -> PathBuf {
        self.folder.join(&self.text)
    }

    /// The error for this value.
    pub(super) fn wrong(&self, must_be: &str) -> Usage {
        Usage(format!("{} must be {must_be}, not '{}'", self.place, self.text))
    }
}
