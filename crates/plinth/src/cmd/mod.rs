//! One file per command, and what they share.

mod assets;
mod environment;
mod flags;
mod outputs;
mod progress;

pub(crate) mod doctor;
pub(crate) mod inspect;
pub(crate) mod render;
pub(crate) mod settings;

use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};

/// The command line asks for something that cannot be.
#[derive(Debug)]
pub(crate) struct Usage(pub(crate) String);

impl std::fmt::Display for Usage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// The whole command line.
pub(crate) fn command() -> Command {
    Command::new("plinth")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Renders 3D models into turntable videos and stills.")
        .after_help("Begin with: plinth render MODEL.glb -o OUT.mp4")
        .arg_required_else_help(true)
        .subcommand_required(true)
        .subcommand(render::command())
        .subcommand(inspect::command())
        .subcommand(doctor::command())
        .subcommand(settings::command())
}

/// MODEL.
fn model_arg() -> Arg {
    Arg::new("model")
        .value_name("MODEL")
        .required(true)
        .value_parser(value_parser!(PathBuf))
        .help("A .glb file, or a .zip with one OBJ, its MTL and textures")
}

/// `--json`.
fn json_arg(help: &'static str) -> Arg {
    Arg::new("json").long("json").action(ArgAction::SetTrue).help(help)
}

/// `--adapter`.
fn adapter_arg() -> Arg {
    Arg::new("adapter")
        .long("adapter")
        .env("PLINTH_ADAPTER")
        .value_name("NAME")
        .help("Part of an adapter's name, or cpu for a software driver; default: the best there is")
}

/// `--ffmpeg`.
fn ffmpeg_arg() -> Arg {
    Arg::new("ffmpeg")
        .long("ffmpeg")
        .env("PLINTH_FFMPEG")
        .value_name("PROGRAM")
        .default_value("ffmpeg")
        .value_parser(value_parser!(PathBuf))
        .help("The ffmpeg to call")
}

/// The adapter that is asked for.
fn adapter(args: &ArgMatches) -> Option<String> {
    args.get_one::<String>("adapter").cloned()
}

/// The ffmpeg that is asked for.
fn ffmpeg(args: &ArgMatches) -> PathBuf {
    args.get_one::<PathBuf>("ffmpeg").cloned().unwrap_or_else(|| PathBuf::from("ffmpeg"))
}

/// An error with its causes in one line.
pub(crate) fn one_line(error: &anyhow::Error) -> String {
    let mut parts: Vec<String> = Vec::new();
    for cause in error.chain().map(|c| plain(&c.to_string())) {
        if !parts.iter().any(|known| known.contains(&cause)) {
            parts.push(cause);
        }
    }
    parts.join(": ")
}

/// Text that comes from a file, without what could move a terminal's cursor.
fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
