//! `plinth openapi`: the description of the HTTP interface.

use std::io::Write;

use anyhow::{Context as _, Result};
use clap::Command;

pub(crate) fn command() -> Command {
    Command::new("openapi").about("Prints the OpenAPI 3.1 document of the HTTP interface")
}

pub(crate) fn run(out: &mut dyn Write) -> Result<()> {
    let document = plinth_api::document().to_pretty_json().context("the document cannot be written")?;
    writeln!(out, "{document}")?;
    Ok(())
}
