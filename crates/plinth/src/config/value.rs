//! A value that was found, and where: messages name the place that must be changed.

use std::path::PathBuf;
use std::str::FromStr;

use crate::cmd::Usage;

/// A value.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(super) text: String,
    /// The flag, variable or key that said it.
    pub(super) place: String,
    /// Where relative paths begin.
    pub(super) folder: PathBuf,
}

impl Found {
    /// The value as what it must be.
    pub(super) fn parse<T: FromStr>(&self, must_be: &str) -> Result<T, Usage> {
        self.text.parse().map_err(|_malformed| self.wrong(must_be))
    }

    /// A path.
    pub(super) fn path(&self) -> PathBuf {
        self.folder.join(&self.text)
    }

    /// The refusal of this value.
    pub(super) fn wrong(&self, must_be: &str) -> Usage {
        Usage(format!("{} must be {must_be}, not '{}'", self.place, self.text))
    }
}
