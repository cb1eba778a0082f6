//! The flags with which other commands find the same installation, for messages.

use std::net::SocketAddr;
use std::path::Path;

use anyhow::{Context as _, Result};
use clap::ArgMatches;

use super::table::{DATA_DIR, Group, LISTEN, TABLE};

/// Returns `--config` and the flags of these groups that this command was given, quoted for a shell, each with a space
/// before it. Relative paths are made absolute. `--listen` gets the value `address`, at which the server really listens.
/// Secrets are replaced with placeholders.
pub(crate) fn flags_of(args: &ArgMatches, groups: &[Group], address: SocketAddr) -> Result<String> {
    let mut flags = Vec::new();
    let given = |id: &str| args.try_get_one::<String>(id).ok().flatten();
    if let Some(file) = given("config") {
        flags.push(flag("config", &absolute(file)?)?);
    }
    for row in TABLE.iter().filter(|row| groups.contains(&row.group)) {
        let Some(value) = given(row.key) else { continue };
        flags.push(match row.key {
            _ if row.is_secret => format!(" --{} {}", row.flag(), row.takes),
            key if key == LISTEN.key => flag(&row.flag(), &address.to_string())?,
            key if key == DATA_DIR.key => flag(&row.flag(), &absolute(value)?)?,
            _ => flag(&row.flag(), value)?,
        });
    }
    Ok(flags.concat())
}

fn absolute(path: &str) -> Result<String> {
    let path = std::path::absolute(Path::new(path)).context("the current folder is not accessible")?;
    Ok(path.display().to_string())
}

fn flag(name: &str, value: &str) -> Result<String> {
    Ok(format!(" --{name} {}", shlex::try_quote(value)?))
}
