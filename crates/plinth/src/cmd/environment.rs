//! The environment that `--env` names.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::{Arg, ArgAction, ArgMatches, value_parser};
use plinth_scene::{EnvironmentMap, gain_map, radiance_hdr};

use super::Usage;

/// `--env`.
pub(crate) fn arg() -> Arg {
    Arg::new("env")
        .long("env")
        .value_name("FILE[,FILE,FILE]")
        .action(ArgAction::Append)
        .value_parser(value_parser!(PathBuf))
        .help("Environment that lights the model: one Radiance file (FILE.hdr), or the three parts of a gain map")
        .long_help(
            "Environment that lights the model: one Radiance file, or the three parts of a gain map in their order, \
             separated by commas: SDR.webp,GAINMAP.webp,METADATA.json",
        )
}

/// The files that `--env` names: none, one or three.
/// Errors: [`Usage`].
pub(crate) fn files(args: &ArgMatches) -> Result<Vec<PathBuf>> {
    let given = args.get_many::<PathBuf>("env").into_iter().flatten();
    let files: Vec<PathBuf> = given.flat_map(|path| parts(path)).collect();
    match files.len() {
        0 | 1 | 3 => Ok(files),
        count => {
            let words = format!(
                "--env takes one .hdr file, or the three parts of a gain map as SDR,GAINMAP,METADATA; \
                 here are {count} files"
            );
            Err(Usage(words).into())
        }
    }
}

/// The parts of a list. A file that has a comma in its name is itself.
fn parts(given: &Path) -> Vec<PathBuf> {
    match given.to_str() {
        Some(text) if text.contains(',') && !given.exists() => text.split(',').map(PathBuf::from).collect(),
        _ => vec![given.to_owned()],
    }
}

/// Reads them.
pub(crate) fn read(files: &[PathBuf]) -> Result<Option<EnvironmentMap>> {
    let parts = files
        .iter()
        .map(|path| std::fs::read(path).with_context(|| format!("{} cannot be read", path.display())))
        .collect::<Result<Vec<_>>>()?;
    let names = || files.iter().map(|f| f.display().to_string()).collect::<Vec<_>>().join(", ");
    Ok(match parts.as_slice() {
        [hdr] => Some(radiance_hdr(hdr).with_context(names)?),
        [sdr, gain, metadata] => Some(gain_map(sdr, gain, metadata).with_context(names)?),
        _ => None,
    })
}
