//! The flag `--env`, which gives the files of an environment map.

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::{Arg, ArgAction, ArgMatches, value_parser};
use plinth_pipeline::EnvironmentFiles;

use super::{Usage, outputs};

/// Returns the flag `--env`.
pub(crate) fn arg() -> Arg {
    Arg::new("env")
        .long("env")
        .value_name("FILE[,FILE,FILE]")
        .action(ArgAction::Append)
        .value_parser(value_parser!(PathBuf))
        .help("Environment light: a Radiance file (FILE.hdr), or the three parts of a gain map")
        .long_help(
            "Environment that lights the model: one Radiance file, or the three parts of a gain map in this order, \
             separated by commas: SDR.webp,GAINMAP.webp,METADATA.json",
        )
}

/// Returns the files of `--env`.
/// Errors: [`Usage`].
pub(crate) fn files(args: &ArgMatches) -> Result<Option<EnvironmentFiles>> {
    let given = args.get_many::<PathBuf>("env").into_iter().flatten();
    let files: Vec<PathBuf> = given.flat_map(|path| parts(path)).collect();
    match files.as_slice() {
        [] => Ok(None),
        [exr] if outputs::extension(exr) == "exr" => {
            let message = format!(
                "--env does not take OpenEXR: `plinth environment encode {} -o DIR` makes the three parts of a gain map, \
                 which it takes",
                exr.display()
            );
            Err(Usage(message).into())
        }
        [picture] if matches!(outputs::extension(picture).as_str(), "jpg" | "jpeg" | "png" | "webp") => {
            let message = format!(
                "--env takes one .hdr file, or the three parts of a gain map as SDR,GAINMAP,METADATA, not {}; to show a \
                 picture behind the model, use --bg-image",
                picture.display()
            );
            Err(Usage(message).into())
        }
        [hdr] => Ok(Some(EnvironmentFiles::Radiance(hdr.clone()))),
        [sdr, gain_map, metadata] => Ok(Some(EnvironmentFiles::GainMap {
            sdr: sdr.clone(),
            gain_map: gain_map.clone(),
            metadata: metadata.clone(),
        })),
        more => {
            let message = format!(
                "--env takes one .hdr file, or the three parts of a gain map as SDR,GAINMAP,METADATA; \
                 here are {} files",
                more.len()
            );
            Err(Usage(message).into())
        }
    }
}

/// Splits a comma-separated list of files. Does not split it if a file with exactly this name exists.
fn parts(given: &Path) -> Vec<PathBuf> {
    match given.to_str() {
        Some(text) if text.contains(',') && !given.exists() => text.split(',').map(PathBuf::from).collect(),
        _ => vec![given.to_owned()],
    }
}
