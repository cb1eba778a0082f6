//! `plinth admin links`.

use anyhow::Result;
use clap::{Arg, ArgAction, ArgMatches, Command};
use plinth_service::Service;
use plinth_service::delivery::LinkSecretInfo;
use serde_json::{Value, json};

use super::run::{Done, listed};
use crate::cmd::message_only;

pub(super) fn command() -> Command {
    let revoke = "Make all older links invalid at once, instead of letting them expire";
    Command::new("links")
        .about("Manages the secrets that sign links to local files; links to S3 are signed with the S3 keys")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(
            Command::new("rotate")
                .about("Creates a new secret for links; links signed with an older secret stay valid until they expire")
                .arg(Arg::new("revoke").long("revoke").action(ArgAction::SetTrue).help(revoke)),
        )
        .subcommand(Command::new("list").about("Lists the secrets whose links are still valid, newest first"))
}

pub(super) async fn run(service: &Service, verb: &str, args: &ArgMatches) -> Result<Done> {
    if verb == "list" {
        let secrets = service.link_secrets().await.map_err(message_only)?;
        let lines: Vec<String> = secrets.iter().map(line).collect();
        let json = json!({"secrets": secrets.iter().map(json).collect::<Vec<_>>()});
        return Ok(Done { text: listed(&lines, "there is no secret yet; the first link creates one"), json });
    }
    let is_revoked = args.get_flag("revoke");
    let made = service.rotate_link_secret(is_revoked).await.map_err(message_only)?;
    let before = if is_revoked { "are no longer valid" } else { "stay valid until they expire" };
    let text = format!("secret {} signs all new links; older links {before}", made.id);
    Ok(Done { text, json: json(&made) })
}

fn line(secret: &LinkSecretInfo) -> String {
    let id = if secret.id.is_empty() { "(without id)" } else { &secret.id };
    match secret.ends_at {
        Some(end) => {
            let end = time(end);
            format!("{id} signs no new links; its links expire by {}", end.as_str().unwrap_or_default())
        }
        None => format!("{id} signs new links"),
    }
}

fn json(secret: &LinkSecretInfo) -> Value {
    json!({"id": secret.id, "createdAt": time(secret.created_at), "endsAt": secret.ends_at.map(time)})
}

fn time(at: i64) -> Value {
    json!(plinth_spec::wire::Timestamp(at))
}
