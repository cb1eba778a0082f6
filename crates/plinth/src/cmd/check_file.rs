//! `plinth check-file`: what the server asks a process of its own, so that a model costs the server no memory.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::{Arg, ArgMatches, Command, value_parser};

use super::confine::bound_memory;

pub(crate) fn command() -> Command {
    let path = |name: &'static str| Arg::new(name).value_name(name).value_parser(value_parser!(PathBuf));
    Command::new("check-file")
        .hide(true)
        .about("Says as JSON whether FILE is a model; with GLB, FILE is a ZIP and is converted")
        .arg(
            Arg::new("memory-bytes")
                .long("memory-bytes")
                .value_name("BYTES")
                .required(true)
                .value_parser(value_parser!(u64))
                .help("Memory that it may take"),
        )
        .arg(path("FILE").required(true))
        .arg(path("GLB"))
}

pub(crate) fn run(args: &ArgMatches, out: &mut dyn Write) -> Result<()> {
    let file: &PathBuf = args.get_one("FILE").context("FILE is missing")?;
    bound_memory(*args.get_one("memory-bytes").context("--memory-bytes is missing")?)?;
    let to = args.get_one::<PathBuf>("GLB").map(PathBuf::as_path);
    let report = plinth_service::models::check_file(file, to).with_context(|| file.display().to_string())?;
    writeln!(out, "{}", serde_json::to_string(&report)?)?;
    Ok(())
}
