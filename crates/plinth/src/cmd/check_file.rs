//! `plinth check-file`: the child process in which the server checks or converts an uploaded file.

use std::fs::File;
use std::io::{Read as _, Write};
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use plinth_pipeline::encode_panorama;
use plinth_service::check::{PanoramaReport, check_file, check_image};
use plinth_spec::{EnvPart, limits};

use super::confine::{
    JOB_NICENESS, bound, bound_memory, bound_open_files, bound_processor_time, end_with_parent, enter_fence, fence_arg,
};
use crate::system::{Resource, lower_priority, name_process, start_session};

/// Maximum size of each file that the process writes, in bytes.
const FILE_BYTES: u64 = 4 << 30;

pub(crate) fn command() -> Command {
    let path = |name: &'static str| Arg::new(name).value_name(name).value_parser(value_parser!(PathBuf));
    let number = |name: &'static str, unit: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name(unit).required(true).value_parser(value_parser!(u64)).help(help)
    };
    Command::new("check-file")
        .hide(true)
        .about(
            "Prints as JSON whether FILE is a model; with TO, FILE is a ZIP, and its model is converted to the file TO",
        )
        .arg(number("memory-bytes", "BYTES", "Memory limit"))
        .arg(number("seconds", "SECONDS", "Time limit, and half of the limit of CPU time"))
        .arg(fence_arg())
        .arg(Arg::new("image").long("image").action(ArgAction::SetTrue).help("FILE is an image"))
        .arg(
            Arg::new("panorama").long("panorama").action(ArgAction::SetTrue).conflicts_with("image").help(
                "FILE is a panorama; its image, gain map, metadata and small picture are written to four files TO",
            ),
        )
        .arg(path("FILE").required(true))
        .arg(path("TO").num_args(0..=4))
}

pub(crate) fn run(args: &ArgMatches, out: &mut dyn Write) -> Result<()> {
    let number = |name: &str| args.get_one::<u64>(name).copied().with_context(|| format!("--{name} is missing"));
    let file: &PathBuf = args.get_one("FILE").context("FILE is missing")?;
    name_process();
    plinth_fence::close_inherited_files();
    // The files are opened before the process enters the sandbox, because their paths are not accessible inside the
    // sandbox.
    let opened = File::open(file).with_context(|| file.display().to_string())?;
    let paths = args.get_many::<PathBuf>("TO").into_iter().flatten();
    let to = paths.map(|path| File::create(path).with_context(|| path.display().to_string()));
    let to = to.collect::<Result<Vec<File>>>()?;
    start_session().context("the check cannot start a session")?;
    lower_priority(JOB_NICENESS);
    bound_memory(number("memory-bytes")?)?;
    bound_open_files()?;
    bound(Resource::FileSize, FILE_BYTES, "the size of files")?;
    // The limit of CPU time is twice the time limit, because two threads may work at the same time. The server enforces
    // the wall-clock limit.
    bound_processor_time(number("seconds")?.saturating_mul(2), false)?;
    enter_fence(args)?;
    end_with_parent("the check cannot be set to end with the server")?;
    let report = if args.get_flag("image") {
        check_image(opened).map(|report| serde_json::to_string(&report))
    } else if args.get_flag("panorama") {
        convert_panorama(opened, &to).map(|report| serde_json::to_string(&report))
    } else {
        check_file(opened, to.into_iter().next()).map(|report| serde_json::to_string(&report))
    };
    writeln!(out, "{}", report.with_context(|| file.display().to_string())??)?;
    Ok(())
}

/// Encodes a panorama as an environment: an image, a gain map, their metadata and a thumbnail. Writes each to one of
/// the files `to`.
fn convert_panorama(mut file: File, to: &[File]) -> std::io::Result<PanoramaReport> {
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    let made = match encode_panorama(&bytes, limits::ENV_WIDTH) {
        Ok(made) => made,
        Err(message) => return Ok(PanoramaReport::Rejected { message }),
    };
    for (mut to, part) in to.iter().zip(EnvPart::ALL) {
        to.write_all(match part {
            EnvPart::Sdr => &made.sdr,
            EnvPart::GainMap => &made.gain_map,
            EnvPart::Metadata => &made.metadata,
            EnvPart::Thumb => &made.thumb,
        })?;
    }
    Ok(PanoramaReport::Encoded { width: made.width, height: made.height })
}
