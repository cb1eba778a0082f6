//! `plinth admin overlay`.

use anyhow::Result;
use clap::{ArgMatches, Command};
use plinth_service::Service;
use serde_json::json;

use super::run::{Done, positional, refused, text};

pub(super) fn command() -> Command {
    Command::new("overlay").about("System overlays").subcommand_required(true).subcommand(
        Command::new("publish")
            .about("Makes an overlay a system overlay, which every account sees")
            .arg(positional("ID", "The overlay's identifier")),
    )
}

pub(super) async fn run(service: &Service, args: &ArgMatches) -> Result<Done> {
    let id = text(args, "ID")?;
    service.publish_overlay(id).await.map_err(refused)?;
    Ok(Done { words: format!("the overlay {id} is published"), json: json!({"id": id, "isSystem": true}) })
}
