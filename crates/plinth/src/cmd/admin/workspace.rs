//! `plinth admin workspace`.

use anyhow::{Context as _, Result};
use clap::{Arg, ArgMatches, Command};
use plinth_service::Service;
use plinth_service::admin::WorkspaceSummary;
use plinth_spec::id::WorkspaceId;
use plinth_spec::role::Role;
use serde_json::{Value, json};

use super::run::{Done, id, listed, positional, text};
use crate::cmd::message_only;

pub(super) fn command() -> Command {
    let workspace = || positional("ID", "Id of the workspace");
    let email = || positional("EMAIL", "E-mail address of the member");
    let value = |name: &'static str, shown: &'static str| Arg::new(name).long(name).value_name(shown).required(true);
    let roles = [Role::Admin, Role::Editor, Role::Viewer].map(Role::as_str);
    Command::new("workspace")
        .about("Lists workspaces, and manages teams and their members")
        .subcommand_required(true)
        .subcommand(
            Command::new("list")
                .about("Lists the workspaces of an account: its own ones, and those of which it is a member")
                .arg(value("account", "EMAIL").help("Account of the workspaces")),
        )
        .subcommand(
            Command::new("create")
                .about("Creates a team workspace")
                .arg(positional("NAME", "Its name"))
                .arg(value("owner", "EMAIL").help("Owner of the workspace, who pays for its renders")),
        )
        .subcommand(
            Command::new("add")
                .about("Adds a member, or changes the role of a member")
                .arg(workspace())
                .arg(email())
                .arg(value("role", "ROLE").value_parser(roles).help("Role of the member")),
        )
        .subcommand(
            Command::new("remove")
                .about("Removes a member; the member's keys for the workspace stop working at once")
                .arg(workspace())
                .arg(email()),
        )
        .subcommand(
            Command::new("delete")
                .about("Deletes a workspace; its keys stop working at once, and its queued renders are refunded")
                .arg(workspace()),
        )
}

async fn list(service: &Service, args: &ArgMatches) -> Result<Done> {
    let account = service.find_account(text(args, "account")?).await.map_err(message_only)?;
    let view = service.account_view(account.id.as_str()).await.map_err(message_only)?;
    let line = |summary: &WorkspaceSummary| {
        let (workspace, role) = (&summary.workspace, summary.role.as_str());
        let kind = if workspace.is_personal { "personal" } else { "team" };
        format!("{} '{}': {kind}, {role}, {} renders", workspace.id, workspace.name, summary.renders)
    };
    let row = |summary: &WorkspaceSummary| {
        let workspace = &summary.workspace;
        json!({"id": workspace.id, "name": workspace.name, "isPersonal": workspace.is_personal,
               "role": summary.role.as_str(), "renders": summary.renders, "storedBytes": summary.stored_bytes})
    };
    let lines: Vec<String> = view.workspaces.iter().map(line).collect();
    let rows: Vec<Value> = view.workspaces.iter().map(row).collect();
    let text = listed(&lines, &format!("{} has no workspaces", account.email));
    Ok(Done { text, json: json!({"workspaces": rows}) })
}

pub(super) async fn run(service: &Service, verb: &str, args: &ArgMatches) -> Result<Done> {
    if verb == "create" {
        let made = service.create_workspace(text(args, "NAME")?, text(args, "owner")?).await.map_err(message_only)?;
        let text = format!("created the workspace '{}' with the id {}", made.name, made.id);
        return Ok(Done { text, json: json!({"id": made.id, "name": made.name}) });
    }
    if verb == "list" {
        return list(service, args).await;
    }
    let id = id(args, WorkspaceId::parse, "workspace")?;
    if verb == "delete" {
        service.delete_workspace(&id).await.map_err(message_only)?;
        return Ok(Done { text: format!("the workspace {id} is deleted"), json: json!({"id": id, "deleted": true}) });
    }
    let email = text(args, "EMAIL")?;
    if verb == "remove" {
        service.remove_member(&id, email).await.map_err(message_only)?;
        let text = format!("{email} is no longer a member of {id}");
        return Ok(Done { text, json: json!({"id": id, "email": email, "removed": true}) });
    }
    let role = Role::from_name(text(args, "role")?).context("the role is unknown")?;
    service.set_member(&id, email, role).await.map_err(message_only)?;
    let text = format!("{email} is a member of {id} with the role {}", role.as_str());
    Ok(Done { text, json: json!({"id": id, "email": email, "role": role.as_str()}) })
}
