//! A configuration value, together with its source for error messages.

use std::path::PathBuf;
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

    /// Returns the error for an invalid value.
    pub(super) fn wrong(&self, must_be: &str) -> Usage {
        Usage(format!("{} must be {must_be}, not '{}'", self.place, self.text))
    }
}
