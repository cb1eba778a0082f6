//! `plinth admin workspace`.

use anyhow::{Context as _, Result};
use clap::{Arg, ArgMatches, Command};
use plinth_service::Service;
use plinth_spec::id::WorkspaceId;
use plinth_spec::role::Role;
use serde_json::json;

use super::run::{Done, id, positional, refused, text};

pub(super) fn command() -> Command {
    let workspace = || positional("ID", "The workspace's identifier");
    let email = || positional("EMAIL", "Address of the member");
    let value = |name: &'static str, shown: &'static str| Arg::new(name).long(name).value_name(shown).required(true);
    let roles = [Role::Editor.as_str(), Role::Viewer.as_str()];
    Command::new("workspace")
        .about("Team workspaces and their members")
        .subcommand_required(true)
        .subcommand(
            Command::new("create")
                .about("Creates a team workspace")
                .arg(positional("NAME", "Its name"))
                .arg(value("owner", "EMAIL").help("Who owns it and pays for it")),
        )
        .subcommand(
            Command::new("add")
                .about("Adds a member, or changes what they may do")
                .arg(workspace())
                .arg(email())
                .arg(value("role", "ROLE").value_parser(roles).help("What they may do")),
        )
        .subcommand(
            Command::new("remove")
                .about("Removes a member; their keys for it are refused at once")
                .arg(workspace())
                .arg(email()),
        )
        .subcommand(Command::new("delete").about("Closes it; its keys are refused at once").arg(workspace()))
}

pub(super) async fn run(service: &Service, verb: &str, args: &ArgMatches) -> Result<Done> {
    if verb == "create" {
        let made = service.create_workspace(text(args, "NAME")?, text(args, "owner")?).await.map_err(refused)?;
        let words = format!("'{}' is the workspace {}", made.name, made.id);
        return Ok(Done { words, json: json!({"id": made.id, "name": made.name}) });
    }
    let id = id(args, WorkspaceId::parse, "workspace")?;
    if verb == "delete" {
        service.delete_workspace(&id).await.map_err(refused)?;
        return Ok(Done { words: format!("the workspace {id} is gone"), json: json!({"id": id, "deleted": true}) });
    }
    let email = text(args, "EMAIL")?;
    if verb == "remove" {
        service.remove_member(&id, email).await.map_err(refused)?;
        let words = format!("{email} is no longer a member of {id}");
        return Ok(Done { words, json: json!({"id": id, "email": email, "removed": true}) });
    }
    let role = Role::from_name(text(args, "role")?).context("the role is unknown")?;
    service.set_member(&id, email, role).await.map_err(refused)?;
    let words = format!("{email} is a member of {id}: {}", role.as_str());
    Ok(Done { words, json: json!({"id": id, "email": email, "role": role.as_str()}) })
}
