//! `plinth package-files`: writes the files that packages contain in addition to the program.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::{Arg, ArgMatches, Command, value_parser};
use clap_complete::{Shell, generate_to};

/// Shells for which completions are written.
const SHELLS: [Shell; 3] = [Shell::Bash, Shell::Zsh, Shell::Fish];

pub(crate) fn command() -> Command {
    Command::new("package-files")
        .about("Writes manual pages and shell completions into a folder, for maintainers of packages")
        .hide(true)
        .arg(Arg::new("folder").value_name("DIR").required(true).value_parser(value_parser!(PathBuf)))
}

/// Writes manual pages to `man/*.1`, and shell completions to `completions/*`.
pub(crate) fn run(args: &ArgMatches) -> Result<()> {
    let folder = args.get_one::<PathBuf>("folder").context("a folder is missing")?;
    let written = write(folder);
    written.with_context(|| format!("files of packages cannot be written to {}", folder.display()))
}

fn write(folder: &Path) -> std::io::Result<()> {
    let (pages, completions) = (folder.join("man"), folder.join("completions"));
    std::fs::create_dir_all(&pages)?;
    std::fs::create_dir_all(&completions)?;
    clap_mangen::generate_to(super::command(), &pages)?;
    for shell in SHELLS {
        generate_to(shell, &mut super::command(), "plinth", &completions)?;
    }
    Ok(())
}
