//! `plinth migrate`: updates the schema of the database.

use std::io::Write;

use anyhow::{Context as _, Result, bail};
use clap::{Arg, ArgAction, ArgMatches, Command};

use super::block_on;
use crate::config::{self, Config, Group};

pub(crate) fn command() -> Command {
    Command::new("migrate")
        .about("Brings the tables of the database up to date, before servers and workers of a new version start")
        .long_about(
            "Brings the tables of the database up to date, before servers and workers of a new version start. Servers \
             and workers of the previous version may continue to run. Without this command, the first server or worker of \
             the new version updates the tables.",
        )
        .arg(
            Arg::new("check")
                .long("check")
                .action(ArgAction::SetTrue)
                .help("Change nothing; exit with 1 if the tables are older than this program needs"),
        )
        .args(config::args(&[Group::Data]))
}

pub(crate) fn run(args: &ArgMatches, out: &mut dyn Write) -> Result<()> {
    let config = Config::read(args)?;
    let is_check = args.get_flag("check");
    block_on(async {
        let before = config::table_version(&config).await?;
        let newest = plinth_db::newest_version();
        if is_check {
            if let Some(version) = before.filter(|version| *version >= newest) {
                writeln!(out, "The tables have version {version}; this program needs {newest}.")?;
                return Ok(());
            }
            let present =
                before.map_or_else(|| "there are no tables yet".to_owned(), |v| format!("they have version {v}"));
            bail!("the tables must have version {newest}: {present}; run plinth migrate");
        }
        config::check_not_restoring(&config)?;
        config::make_database_folder(&config)?;
        config::open_database(&config, true).await?.close().await;
        let now = config::table_version(&config).await?.context("the tables have no version after a migration")?;
        match before {
            Some(before) if before == now => writeln!(out, "The tables have version {now} already.")?,
            Some(before) => writeln!(out, "The tables had version {before} and now have version {now}.")?,
            None => writeln!(out, "The tables were created with version {now}.")?,
        }
        Ok(())
    })
}
