//! The commands, one file each, and the functions that several commands use.

mod assets;
mod confine;
mod env_flag;
mod fence;
mod flags;
pub(crate) mod migrate;
mod outputs;
pub(crate) mod package_files;
mod progress;
mod storage_state;

pub(crate) mod admin;
pub(crate) mod check_file;
pub(crate) mod doctor;
pub(crate) mod environment;
pub(crate) mod inspect;
pub(crate) mod openapi;
pub(crate) mod render;
pub(crate) mod render_child;
pub(crate) mod serve;
pub(crate) mod settings;
pub(crate) mod worker;

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::error::{ContextKind, ContextValue};
use clap::{Arg, ArgAction, Command, value_parser};
use plinth_service::ServiceError;
use plinth_spec::ErrorCode;

/// The error of an invalid command line.
#[derive(Debug)]
pub(crate) struct Usage(pub(crate) String);

impl std::fmt::Display for Usage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// Returns the definition of the whole command line.
pub(crate) fn command() -> Command {
    Command::new("plinth")
        .version(env!("CARGO_PKG_VERSION"))
        .about(
            "Renders 3D models to turntable videos, stills and multi-view datasets, on this machine or as a service.",
        )
        .after_help("Example: plinth render MODEL.glb -o OUT.mp4")
        .arg_required_else_help(true)
        .subcommand_required(true)
        .arg(crate::config::config_arg())
        .subcommand(render::command())
        .subcommand(inspect::command())
        .subcommand(environment::command())
        .subcommand(doctor::command())
        .subcommand(settings::command())
        .subcommand(render_child::command())
        .subcommand(serve::command())
        .subcommand(worker::command())
        .subcommand(migrate::command())
        .subcommand(admin::command())
        .subcommand(check_file::command())
        .subcommand(openapi::command())
        .subcommand(package_files::command())
}

/// Removes hidden commands from the suggestions of an error.
pub(crate) fn without_hidden(mut error: clap::Error) -> clap::Error {
    let suggestions = error.remove(ContextKind::SuggestedSubcommand);
    if let Some(ContextValue::Strings(mut names)) = suggestions {
        let commands = command();
        names.retain(|name| commands.find_subcommand(name).is_none_or(|found| !found.is_hide_set()));
        if !names.is_empty() {
            error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(names));
        }
    }
    error
}

fn model_arg() -> Arg {
    Arg::new("model")
        .value_name("MODEL")
        .required(true)
        .value_parser(value_parser!(PathBuf))
        .help("A .glb file, or a .zip with one OBJ, its MTL and textures")
}

fn json_arg(help: &'static str) -> Arg {
    Arg::new("json").long("json").action(ArgAction::SetTrue).help(help)
}

/// Reads a text file. A byte order mark at its beginning is left out.
fn read_text(path: &Path) -> anyhow::Result<String> {
    let text = std::fs::read_to_string(path).with_context(|| format!("{} cannot be read", path.display()))?;
    Ok(without_byte_order_mark(&text).to_owned())
}

/// Returns a text without the byte order mark that some editors and shells write at its beginning.
fn without_byte_order_mark(text: &str) -> &str {
    text.strip_prefix('\u{FEFF}').unwrap_or(text)
}

/// Runs an async command to completion.
fn block_on<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(work)
}

/// Converts an error into its message for operators. In contrast to clients of the API, operators see the cause of an
/// internal error, and need no error code.
pub(crate) fn message_only(error: ServiceError) -> anyhow::Error {
    match error.cause {
        Some(cause) if error.code == ErrorCode::Internal => anyhow::Error::from_boxed(cause),
        Some(cause) => anyhow::Error::from_boxed(cause).context(error.message),
        None => anyhow::Error::msg(error.message),
    }
}

/// Formats an error and its causes on one line.
pub(crate) fn one_line(error: &anyhow::Error) -> String {
    let mut parts: Vec<String> = Vec::new();
    for cause in error.chain().map(|c| plain(&c.to_string())) {
        if !parts.iter().any(|known| known.contains(&cause)) {
            parts.push(cause);
        }
    }
    parts.join(": ")
}

/// Removes control characters from text that comes from a file. In a terminal, such characters could move the cursor.
fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
