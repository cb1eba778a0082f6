//! `plinth settings`: prints the reference of the render settings.

use std::io::Write;

use anyhow::Result;
use clap::{Arg, ArgAction, ArgMatches, Command};

pub(crate) fn command() -> Command {
    Command::new("settings")
        .about("Prints the reference of all render settings")
        .arg(super::json_arg("Print the JSON Schema instead of a table"))
        .arg(
            Arg::new("configuration")
                .long("configuration")
                .action(ArgAction::SetTrue)
                .conflicts_with("json")
                .help("Print the table of configuration values instead"),
        )
        .arg(
            Arg::new("failure-codes")
                .long("failure-codes")
                .action(ArgAction::SetTrue)
                .conflicts_with_all(["json", "configuration"])
                .help("Print the table of the failure codes of renders instead"),
        )
}

pub(crate) fn run(args: &ArgMatches, out: &mut dyn Write) -> Result<()> {
    if args.get_flag("configuration") {
        write!(out, "{}", crate::config::markdown_table())?;
    } else if args.get_flag("failure-codes") {
        write!(out, "{}", plinth_spec::FailureCode::markdown_table())?;
    } else if args.get_flag("json") {
        writeln!(out, "{:#}", plinth_spec::settings::schema())?;
    } else {
        write!(out, "{}", plinth_spec::settings::markdown_table())?;
    }
    Ok(())
}
