//! Finds configuration values. A flag overrides an environment variable, and an environment variable overrides
//! `plinth.toml`.

use std::env::VarError;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use clap::ArgMatches;
use plinth_spec::wire::Product;

use super::file::ConfigFile;
use super::table::{Default, FILE_VARIABLE, Row};
use super::value::Found;
use crate::cmd::Usage;

/// The sources of configuration values.
#[derive(Debug)]
pub(super) struct Lookup<'a> {
    args: &'a ArgMatches,
    file: Option<ConfigFile>,
}

impl<'a> Lookup<'a> {
    /// Reads the configuration file.
    /// Errors: the file cannot be read or has unknown keys, or the variable that names it is not UTF-8.
    pub(crate) fn new(args: &'a ArgMatches) -> Result<Self> {
        let flag = args.try_get_one::<String>("config").ok().flatten().map(PathBuf::from);
        let named = match flag {
            Some(path) => Some(path),
            None => own_variable(FILE_VARIABLE)?.map(PathBuf::from),
        };
        let file = ConfigFile::read(named)?;
        Ok(Self { args, file })
    }

    /// Returns the value of a row of the configuration table. Returns `None` if the value is not set and has no
    /// default.
    /// Errors: a value in `plinth.toml` has the wrong type, an environment variable is not UTF-8, or the file that
    /// contains a secret cannot be read.
    pub(crate) fn find(&self, row: &Row) -> Result<Option<Found>> {
        if let Some(found) = self.find_set(row)? {
            return Ok(Some(found));
        }
        let place = format!("the default of --{}", row.flag());
        let here = |text: String| Some(Found { text, place, folder: PathBuf::new() });
        Ok(match row.default {
            Default::Text(text) => here(text.to_owned()),
            Default::Number(number) | Default::NumberUpTo(number, _) => here(number.to_string()),
            Default::Otherwise(_) => None,
        })
    }

    /// Like [`Self::find`], but does not return defaults.
    fn find_set(&self, row: &Row) -> Result<Option<Found>> {
        if let Some(found) = self.find_given(row)? {
            return Ok(Some(found));
        }
        if let Some(file) = &self.file
            && let Some(text) = file.text(row.key)?
        {
            let place = format!("{} in {}", row.key, file.name());
            return Ok(Some(Found { text, place, folder: file.folder().to_owned() }));
        }
        Ok(None)
    }

    /// Returns the value that a flag or an environment variable sets.
    pub(crate) fn find_given(&self, row: &Row) -> Result<Option<Found>> {
        let here = |text: String, place: String| Some(Found { text, place, folder: PathBuf::new() });
        // A command without the flag of this row does not know the argument, so `try_get_one` returns an error.
        if let Some(text) = self.args.try_get_one::<String>(row.key).ok().flatten() {
            return Ok(here(text.clone(), format!("--{}", row.flag())));
        }
        let name = row.variable();
        if let Some(text) = own_variable(&name)? {
            return Ok(here(text, name));
        }
        Ok(secret(row)?.and_then(|(text, place)| here(text, place)))
    }

    /// Returns the value of a row that has a default.
    pub(crate) fn get(&self, row: &Row) -> Result<Found> {
        self.find(row)?.with_context(|| format!("--{} is missing", row.flag()))
    }

    /// Returns the value of a row as an integer of at least 1, and at most the row's maximum if the row has a maximum.
    pub(super) fn count<T: TryFrom<u64>>(&self, row: &Row) -> Result<T> {
        self.whole_number(row, 1, "a whole number above 0")
    }

    /// Returns the value of a row for which 0 has a meaning.
    pub(super) fn count_or_zero<T: TryFrom<u64>>(&self, row: &Row) -> Result<T> {
        self.whole_number(row, 0, "a whole number")
    }

    fn whole_number<T: TryFrom<u64>>(&self, row: &Row, min: u64, expected: &str) -> Result<T> {
        let found = self.get(row)?;
        let number: u64 = found.parse("a whole number")?;
        let fits = Some(number).filter(|n| *n >= min).and_then(|n| T::try_from(n).ok());
        let fits = fits.ok_or_else(|| found.wrong(expected))?;
        match row.default {
            Default::NumberUpTo(_, max) if number > max => Err(found.wrong(&format!("at most {max}")).into()),
            _ => Ok(fits),
        }
    }

    /// Returns the credit packs in the configuration file; `None` if the file lists no packs.
    pub(super) fn products(&self) -> Result<Option<Vec<Product>>> {
        self.file.as_ref().map_or(Ok(None), ConfigFile::products)
    }
}

/// Returns the value of an environment variable that other programs share. A variable that is empty or not UTF-8 counts
/// as unset.
pub(crate) fn variable(name: &str) -> Option<String> {
    own_variable(name).ok().flatten()
}

/// Returns the value of an environment variable of this program. An empty variable counts as unset.
/// Errors: the value is not UTF-8.
#[expect(clippy::disallowed_methods, reason = "this is the binary's configuration")]
fn own_variable(name: &str) -> Result<Option<String>, Usage> {
    match std::env::var(name) {
        Ok(text) => Ok(Some(text).filter(|text| !text.is_empty())),
        Err(VarError::NotPresent) => Ok(None),
        // The message does not quote the value, which may be a secret.
        Err(VarError::NotUnicode(_)) => Err(Usage(format!("{name} must be UTF-8"))),
    }
}

/// Returns the content of the file that the row's variable `PLINTH_…_FILE` names, together with the name of this
/// variable.
fn secret(row: &Row) -> Result<Option<(String, String)>> {
    if !row.is_secret {
        return Ok(None);
    }
    let name = row.file_variable();
    let Some(path) = own_variable(&name)? else { return Ok(None) };
    let text = std::fs::read_to_string(&path).with_context(|| format!("{name}: {path} cannot be read"))?;
    let text = text.trim();
    if text.is_empty() {
        bail!("{name}: {path} is empty");
    }
    Ok(Some((text.to_owned(), name)))
}
