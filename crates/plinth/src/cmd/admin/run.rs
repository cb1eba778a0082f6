//! Parses and runs `plinth admin` commands.

use std::io::Write;

use anyhow::{Context as _, Result};
use clap::{Arg, ArgMatches, Command};
use plinth_service::admin::AssetKind;
use serde_json::Value;

use super::{account, backup, credits, key, links, overlay, restore, status, storage, workspace};
use crate::cmd::{block_on, json_arg};
use crate::config::{self, Config, Group};

/// Groups of the configuration that all commands use.
pub(crate) const GROUPS: &[Group] = &[Group::Data, Group::Keys, Group::Address];

pub(crate) fn command() -> Command {
    Command::new("admin")
        .about("Manages accounts, keys, links, credits, workspaces, system assets, backups and storage; shows workers and failures")
        .long_about(
            "Manages accounts, keys, links, credits, workspaces, system assets, backups and storage; shows workers and failures. \
             Works directly on the database; the server may run meanwhile, except for `restore`.",
        )
        .subcommand_required(true)
        .arg_required_else_help(true)
        .arg(json_arg("Print a JSON object").global(true))
        .args(
            config::args(GROUPS).map(|arg| arg.global(true).hide_short_help(true)),
        )
        .subcommands([account::command(), key::command(), links::command(), credits::command(), workspace::command()])
        .subcommands(overlay::commands())
        .subcommands(status::commands())
        .subcommands([backup::command(), restore::verify_command(), restore::command(), storage::command()])
}

pub(crate) fn run(args: &ArgMatches, out: &mut dyn Write) -> Result<()> {
    let (noun, args) = args.subcommand().context("a command is missing")?;
    // The subcommand after the noun is the verb. A noun without a subcommand is also the verb.
    let (verb, args) = args.subcommand().unwrap_or((noun, args));
    let config = Config::read(args)?;
    let done = match noun {
        "verify" => restore::verify(args)?,
        "restore" => restore::run(&config, args)?,
        _ => on_service(&config, (noun, verb), args, out)?,
    };
    if args.get_flag("json") {
        writeln!(out, "{}", done.json)?;
    } else if !done.text.is_empty() {
        writeln!(out, "{}", done.text)?;
    }
    Ok(())
}

/// Opens the database and the store, and runs a command that needs both.
fn on_service(config: &Config, (noun, verb): (&str, &str), args: &ArgMatches, out: &mut dyn Write) -> Result<Done> {
    // `account create` may create the database, so that an account can exist before the server's first start. This needs a
    // flag or variable that names the data folder or the database. Without it, a missing database is more likely a mistake:
    // the server may use another database, which is named by a variable that this command lacks.
    if (noun, verb) != ("account", "create") || !config.is_installation_named {
        config::check_installation(config)?;
    }
    let public_url = config.public_url_at(config.listen)?;
    block_on(async {
        let service = config::open_service(config, &public_url, 0).await?;
        let done = match noun {
            "account" => account::run(&service, &public_url, verb, args).await,
            "links" => links::run(&service, verb, args).await,
            "key" => key::run(&service, verb, args).await,
            "credits" => credits::run(&service, args).await,
            "workspace" => workspace::run(&service, verb, args).await,
            "backup" => backup::run(&service, args).await,
            "storage" => storage::run(&service, verb, args, out).await,
            "workers" => status::workers(&service).await,
            "failures" => status::failures(&service).await,
            "log" => status::log(&service, args).await,
            "environment" => overlay::run(&service, AssetKind::Environment, verb, args).await,
            _ => overlay::run(&service, AssetKind::Overlay, verb, args).await,
        };
        service.db().close().await;
        done
    })
}

/// The result of a command, as text and as JSON.
pub(super) struct Done {
    /// Nothing is printed if it is empty.
    pub(super) text: String,
    pub(super) json: Value,
}

/// Returns the text of a list, with one line for each entry. `none` is the text of an empty list.
pub(super) fn listed(lines: &[String], none: &str) -> String {
    if lines.is_empty() { none.to_owned() } else { lines.join("\n") }
}

/// Returns a required positional argument.
pub(super) fn positional(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).value_name(name).required(true).help(help)
}

/// Returns the value of an argument that is required or has a default.
pub(super) fn text<'a>(args: &'a ArgMatches, name: &str) -> Result<&'a str> {
    args.get_one::<String>(name).map(String::as_str).with_context(|| format!("{name} is missing"))
}

/// Returns the optional flag that says why a command is run.
pub(super) fn reason_arg() -> Arg {
    Arg::new("reason").long("reason").value_name("TEXT").help("Why, for the log of administrators")
}

/// Returns the value of [`reason_arg`]; empty if it is missing.
pub(super) fn reason(args: &ArgMatches) -> String {
    args.get_one::<String>("reason").cloned().unwrap_or_default()
}

/// Parses an ID. A malformed ID gives the same error as an unknown ID.
pub(super) fn id<T>(args: &ArgMatches, parse: impl Fn(&str) -> Option<T>, what: &str) -> Result<T> {
    let given = text(args, "ID")?;
    parse(given).with_context(|| format!("there is no {what} '{given}'"))
}
