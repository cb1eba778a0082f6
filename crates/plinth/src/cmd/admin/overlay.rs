//! `plinth admin overlay`.

use anyhow::Result;
use clap::{ArgMatches, Command};
use plinth_service::Service;
use serde_json::json;

use super::run::{Done, message_only, positional, text};

pub(super) fn command() -> Command {
    Command::new("overlay").about("System overlays").subcommand_required(true).subcommand(
        Command::new("publish")
            .about("Makes an overlay a system overlay, which all accounts can use")
            .arg(positional("ID", "Id of the overlay")),
    )
}

pub(super) async fn run(service: &Service, args: &ArgMatches) -> Result<Done> {
    let id = text(args, "ID")?;
    service.publish_overlay(id).await.map_err(message_only)?;
    Ok(Done { text: format!("the overlay {id} is published"), json: json!({"id": id, "isSystem": true}) })
}
