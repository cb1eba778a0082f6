//! `plinth check-file`: what the server asks a process of its own, so that a file costs the server no memory.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use plinth_service::check::{check_file, check_image};
use rustix::process::{Resource, setsid};

use super::confine::{bound, bound_memory, end_with_parent, enter_fence, fence_arg};

/// Largest file that a check writes: the model that a ZIP becomes.
const FILE_BYTES: u64 = 4 << 30;

pub(crate) fn command() -> Command {
    let path = |name: &'static str| Arg::new(name).value_name(name).value_parser(value_parser!(PathBuf));
    let number = |name: &'static str, unit: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name(unit).required(true).value_parser(value_parser!(u64)).help(help)
    };
    Command::new("check-file")
        .hide(true)
        .about("Says as JSON whether FILE is a model; with GLB, FILE is a ZIP and is converted")
        .arg(number("memory-bytes", "BYTES", "Memory that it may take"))
        .arg(number("seconds", "SECONDS", "Time that it may take, and half of the processor time"))
        .arg(fence_arg())
        .arg(Arg::new("image").long("image").action(ArgAction::SetTrue).help("FILE is an image"))
        .arg(path("FILE").required(true))
        .arg(path("GLB"))
}

pub(crate) fn run(args: &ArgMatches, out: &mut dyn Write) -> Result<()> {
    let number = |name: &str| args.get_one::<u64>(name).copied().with_context(|| format!("--{name} is missing"));
    let file: &PathBuf = args.get_one("FILE").context("FILE is missing")?;
    plinth_fence::close_inherited_files();
    // Behind the fence no path leads to them.
    let opened = File::open(file).with_context(|| file.display().to_string())?;
    let to = args.get_one::<PathBuf>("GLB").map(|path| File::create(path).with_context(|| path.display().to_string()));
    let to = to.transpose()?;
    setsid().context("the check cannot be made a session of its own")?;
    bound_memory(number("memory-bytes")?)?;
    bound(Resource::Fsize, FILE_BYTES, "the size of files")?;
    // Several processors may work at a time; the server watches the time.
    bound(Resource::Cpu, number("seconds")?.saturating_mul(2), "processor time")?;
    enter_fence(args)?;
    end_with_parent("the server's end cannot be followed")?;
    let report = if args.get_flag("image") {
        check_image(opened).map(|report| serde_json::to_string(&report))
    } else {
        check_file(opened, to).map(|report| serde_json::to_string(&report))
    };
    writeln!(out, "{}", report.with_context(|| file.display().to_string())??)?;
    Ok(())
}
