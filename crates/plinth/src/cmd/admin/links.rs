//! `plinth admin links`.

use anyhow::Result;
use clap::{Arg, ArgAction, ArgMatches, Command};
use plinth_service::Service;
use plinth_service::delivery::LinkSecretInfo;
use serde_json::{Value, json};

use super::run::{Done, refused};

pub(super) fn command() -> Command {
    let revoke = "End all links that were signed before, instead of letting them expire";
    Command::new("links")
        .about("Secrets that sign links to local files; S3 signs links with its own")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(
            Command::new("rotate")
                .about("Makes a new secret for links; those that were signed before work until they expire")
                .arg(Arg::new("revoke").long("revoke").action(ArgAction::SetTrue).help(revoke)),
        )
        .subcommand(Command::new("list").about("Lists the secrets whose links still work, the newest first"))
}

pub(super) async fn run(service: &Service, verb: &str, args: &ArgMatches) -> Result<Done> {
    if verb == "list" {
        let secrets = service.link_secrets().await.map_err(refused)?;
        let words: Vec<String> = secrets.iter().map(words).collect();
        let json = json!({"secrets": secrets.iter().map(json).collect::<Vec<_>>()});
        return Ok(Done { words: words.join("\n"), json });
    }
    let is_revoked = args.get_flag("revoke");
    let made = service.rotate_link_secret(is_revoked).await.map_err(refused)?;
    let before = if is_revoked { "no longer work" } else { "work until they expire" };
    let words = format!("secret {} signs links from now on; those that were signed before {before}", made.id);
    Ok(Done { words, json: json(&made) })
}

fn words(secret: &LinkSecretInfo) -> String {
    let id = if secret.id.is_empty() { "(without id)" } else { &secret.id };
    match secret.ends_at {
        Some(end) => {
            let end = time(end);
            format!("{id} signs no new links; its links end at {} at the latest", end.as_str().unwrap_or_default())
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
