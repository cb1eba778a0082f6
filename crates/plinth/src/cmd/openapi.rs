//! `plinth openapi`: prints the description of the HTTP API.

use std::io::Write;

use anyhow::Result;
use clap::Command;

pub(crate) fn command() -> Command {
    Command::new("openapi").about("Prints the OpenAPI 3.1 document of the HTTP API")
}

pub(crate) fn run(out: &mut dyn Write) -> Result<()> {
    writeln!(out, "{:#}", plinth_api::document())?;
    Ok(())
}
