//! `plinth admin overlay` and `plinth admin environment`.

use anyhow::Result;
use clap::{ArgMatches, Command};
use plinth_service::Service;
use plinth_service::admin::{Actor, AssetKind, SystemAsset};
use serde_json::{Value, json};

use super::run::{Done, listed, positional, reason, reason_arg, text};
use crate::cmd::message_only;

pub(super) fn commands() -> [Command; 2] {
    [
        command(AssetKind::Overlay, "overlays", "an overlay", "Id of the overlay"),
        command(AssetKind::Environment, "environments", "an environment", "Id of the environment"),
    ]
}

fn command(kind: AssetKind, several: &str, one: &str, id: &'static str) -> Command {
    Command::new(kind.as_str())
        .about(format!("Publishes and withdraws system {several}, which all accounts can use"))
        .subcommand_required(true)
        .subcommand(Command::new("list").about(format!("Lists the system {several}")))
        .subcommand(
            Command::new("publish")
                .about(format!("Makes {one} of any workspace available to all accounts"))
                .arg(positional("ID", id))
                .arg(reason_arg()),
        )
        .subcommand(
            Command::new("withdraw")
                .about(format!("Makes {one} available only to its own workspace again"))
                .long_about(format!(
                    "Makes {one} available only to its own workspace again. Renders of other workspaces that wait and use it will \
                     fail, and are refunded."
                ))
                .arg(positional("ID", id))
                .arg(reason_arg()),
        )
}

pub(super) async fn run(service: &Service, kind: AssetKind, verb: &str, args: &ArgMatches) -> Result<Done> {
    if verb == "list" {
        let assets = service.list_system_assets().await.map_err(message_only)?;
        let assets: Vec<&SystemAsset> = assets.iter().filter(|asset| asset.kind == kind).collect();
        let lines: Vec<String> = assets.iter().map(|asset| format!("{} {}", asset.id, asset.name)).collect();
        let rows: Vec<Value> = assets.iter().map(|asset| row(asset)).collect();
        let text = listed(&lines, &format!("no {} is published", kind.as_str()));
        return Ok(Done { text, json: json!({"assets": rows}) });
    }
    let (id, is_system, why) = (text(args, "ID")?, verb == "publish", reason(args));
    let changed = service.set_system_asset(&Actor::Command, kind, id, is_system, &why);
    changed.await.map_err(message_only)?;
    let state = if is_system { "published" } else { "withdrawn" };
    let text = format!("the {} {id} is {state}", kind.as_str());
    Ok(Done { text, json: json!({"id": id, "isSystem": is_system}) })
}

fn row(asset: &SystemAsset) -> Value {
    json!({"id": asset.id, "name": asset.name, "layer": asset.layer, "fileSize": asset.file_size,
           "workspaceId": asset.workspace_id})
}
