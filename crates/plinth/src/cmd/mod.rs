//! One file per command.

mod flags;

pub(crate) mod doctor;
pub(crate) mod inspect;
pub(crate) mod render;
pub(crate) mod settings;

use clap::Command;

/// The user asked to stop.
#[derive(Debug)]
pub(crate) struct Interrupted;

impl std::fmt::Display for Interrupted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("cancelled")
    }
}

impl std::error::Error for Interrupted {}

/// The whole command line.
pub(crate) fn command() -> Command {
    Command::new("plinth")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Renders 3D models into turntable videos and stills.")
        .arg_required_else_help(true)
        .subcommand_required(true)
        .subcommand(render::command())
        .subcommand(inspect::command())
        .subcommand(doctor::command())
        .subcommand(settings::command())
}

/// An error with its causes in one line.
pub(crate) fn one_line(error: &anyhow::Error) -> String {
    let mut parts: Vec<String> = Vec::new();
    for cause in error.chain().map(|c| c.to_string().replace('\n', " ")) {
        if !parts.iter().any(|known| known.contains(&cause)) {
            parts.push(cause);
        }
    }
    parts.join(": ")
}
