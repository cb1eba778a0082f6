//! `plinth settings`: the reference of render settings.

use anyhow::Result;
use clap::{Arg, ArgAction, ArgMatches, Command};

pub(crate) fn command() -> Command {
    Command::new("settings")
        .about("Prints the reference of all render settings")
        .arg(Arg::new("json").long("json").action(ArgAction::SetTrue).help("Print the JSON Schema instead of a table"))
}

#[expect(clippy::unnecessary_wraps, reason = "all commands have one shape")]
pub(crate) fn run(args: &ArgMatches) -> Result<()> {
    if args.get_flag("json") {
        println!("{:#}", plinth_spec::settings::schema());
    } else {
        print!("{}", plinth_spec::settings::markdown_table());
    }
    Ok(())
}
