//! `plinth environment encode`: encodes a panorama as an image with a gain map.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::{Arg, ArgMatches, Command, value_parser};
use plinth_pipeline::{EncodedEnvironment, encode_environment};
use plinth_spec::limits;

use super::plain;

/// Smallest width that `--max-width` takes.
const MIN_WIDTH: i64 = 16;

pub(crate) fn command() -> Command {
    Command::new("environment")
        .about("Encodes panoramas as gain maps, which light models")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(encode_command())
}

fn encode_command() -> Command {
    Command::new("encode")
        .about("Encodes a panorama (.hdr, .exr) as the gain map that --env and the HTTP API take")
        .long_about(
            "Encodes an equirectangular panorama, Radiance HDR (.hdr) or OpenEXR (.exr), as a gain map: NAME.sdr.webp, \
             NAME.gainmap.webp and NAME.json. `plinth render --env` and the HTTP API (/v1/assets/envs) take these three files. \
             Prints the size of each file and the largest relative error of a radiance. Linear Rec. 709 is assumed.",
        )
        .after_help("Example: plinth environment encode garden.hdr -o environments")
        .arg(
            Arg::new("file")
                .value_name("FILE")
                .required(true)
                .value_parser(value_parser!(PathBuf))
                .help("A .hdr or .exr panorama, twice as wide as high, at most 8192×4096"),
        )
        .arg(
            Arg::new("out")
                .long("out")
                .short('o')
                .value_name("DIR")
                .required(true)
                .value_parser(value_parser!(PathBuf))
                .help("Folder for the three files; it is created if it does not exist"),
        )
        .arg(
            Arg::new("max-width")
                .long("max-width")
                .value_name("PIXELS")
                .default_value(limits::ENV_WIDTH.to_string())
                .value_parser(value_parser!(u32).range(MIN_WIDTH..=limits::ENV_WIDTH.into()))
                .help("Scale wider panoramas down to this width; the total light stays the same"),
        )
        .arg(super::json_arg("Print a JSON object"))
}

pub(crate) fn run(args: &ArgMatches, out: &mut dyn Write) -> Result<()> {
    let Some(("encode", args)) = args.subcommand() else { return Ok(()) };
    let path = |name: &str| args.get_one::<PathBuf>(name).with_context(|| format!("{name} is missing"));
    let max_width = *args.get_one("max-width").context("--max-width is missing")?;
    let encoded = encode_environment(path("file")?, path("out")?, max_width)?;
    if args.get_flag("json") {
        writeln!(out, "{}", serde_json::to_string_pretty(&encoded)?)?;
    } else {
        print(&encoded, out)?;
    }
    Ok(())
}

fn print(encoded: &EncodedEnvironment, out: &mut dyn Write) -> std::io::Result<()> {
    let EncodedEnvironment { width, height, source_width, source_height, .. } = encoded;
    for file in &encoded.files {
        writeln!(out, "{:>9.1} kB  {}", file.bytes as f64 / 1000.0, plain(&file.path.display().to_string()))?;
    }
    if width == source_width {
        writeln!(out, "size           {width}×{height}")?;
    } else {
        writeln!(out, "size           {width}×{height}, scaled down from {source_width}×{source_height}")?;
    }
    writeln!(out, "largest error  {:.2} % of radiance (below 0.01: of 0.01)", 100.0 * encoded.largest_error)?;
    for (count, what) in [
        (encoded.negative, "negative values became 0"),
        (encoded.not_a_number, "values that are not a number (NaN) became 0"),
        (encoded.infinite, "infinite values became 65504"),
        (encoded.clamped, "values above 65504 became 65504"),
    ] {
        if count > 0 {
            writeln!(out, "warning        {count} {what}")?;
        }
    }
    Ok(())
}
